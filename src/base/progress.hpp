// SPDX-License-Identifier: Apache-2.0
// How much of a long piece of work is done, for whoever waits for it. One thread works; an observer outlives the work.
#pragma once

#include <cstdint>

namespace prof {

class progress_observer {
public:
    virtual ~progress_observer() = default;
    // `done` of `total`, in any unit. Called often, so it must be cheap.
    virtual void update(std::uint64_t done, std::uint64_t total) = 0;

protected:
    progress_observer() = default;
    progress_observer(const progress_observer&) = default;
    progress_observer& operator=(const progress_observer&) = default;
};

// Counts steps for an observer, which may be null, and passes on one in some thousands.
class progress_count {
public:
    progress_count(progress_observer* observer, std::uint64_t total) : observer_(observer), total_(total) {}

    void step() {
        if ((++done_ & 0xfffU) == 0 && observer_ != nullptr) observer_->update(done_, total_);
    }

private:
    progress_observer* observer_;
    std::uint64_t total_;
    std::uint64_t done_ = 0;
};

}  // namespace prof
