// SPDX-License-Identifier: Apache-2.0
// Frees the names of ranges that no thread and no ring uses any more (record/passing_names.hpp). Belongs to the drain
// thread.
//
// A thread that needs a name announces that first. It stores the number that its next record will have
// (ring_counters::naming), then reads passing_names::begin(), and uses no name from before that position. It is *at a
// name* until that record is published. Names are freed in these steps:
//
//   1. `begin` moves on. A thread that needs a name from now on gets none from before it.
//   2. After a pause, each thread that is at a name is noted. The pause covers the processor's store buffer: other
//      cores may see a thread's store later than the load that follows it. That delay is far below a microsecond. A
//      fence in the thread would cost every range more than all the rest of this does.
//   3. The threads that were noted have published their records, or have ended.
//   4. All rings are drained after that. Now no record with such a name is in a ring, and none can follow.
//
// prepare() does steps 1 to 3, and finish() is called after step 4. A thread that makes no progress at a name (it is
// off its core) delays all this, and no name is freed before it moves on.
#pragma once

#include <cstdint>
#include <vector>

#include "ring/region.hpp"

namespace prof {

class name_recycling {
public:
    explicit name_recycling(region& where) noexcept : region_(where) {}

    // Call it before the rings are drained. Returns true if names can be freed once they are drained; false if not yet,
    // or if there is no need to free any.
    bool prepare();
    // The names that finish() will free, as positions.
    std::uint64_t from() const noexcept;
    std::uint64_t to() const noexcept;
    void finish() noexcept;

private:
    struct thread_at_name {
        const ring_header* ring = nullptr;
        std::uint64_t thread_uid = 0;
        std::uint64_t number = 0;  // of the record that the name is for
    };
    void note_threads();
    static bool is_at_it(const thread_at_name& noted) noexcept;
    bool all_have_left();

    region& region_;
    bool has_noted_ = false;
    bool waits_for_others_ = false;  // for threads that have no ring
    std::vector<thread_at_name> noted_;
};

}  // namespace prof
