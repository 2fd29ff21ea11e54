// Frees the names of ranges that no thread and no ring has any more (record/passing_names.hpp). Belongs to the thread
// that drains.
//
// A thread that looks for a name first says so: it stores the number that its next record will have
// (ring_counters::naming), then reads passing_names::begin(), and uses no name from before that. It is at a name until
// that record is published. Names are freed in these steps:
//
//   1. `begin` moves on. Who looks for a name from now on is given none from before it.
//   2. After a pause each thread that is at a name is noted. The pause is for the processors: a thread's store may be
//      seen later than its load that follows, by the time that a store waits in a core, which is far below a
//      microsecond. A fence in the thread would cost every range more than all else that this costs.
//   3. The threads that were noted have published their records, or have ended.
//   4. All rings are drained after that. Now no record with such a name is in a ring, and none will come.
//
// prepare() makes the first three, finish() is for after the fourth. A thread that does not get on at a name (it is off
// its core) delays this, and nothing is done without it.
#pragma once

#include <cstdint>
#include <vector>

#include "ring/region.hpp"

namespace prof {

class name_recycling {
public:
    explicit name_recycling(region& where) noexcept : region_(where) {}

    // Before the rings are drained. True if names can be freed once they are; false where none need be yet, too.
    bool prepare();
    // What finish() will free, as positions.
    std::uint64_t from() const noexcept;
    std::uint64_t to() const noexcept;
    void finish() noexcept;

private:
    struct thread_at_name {
        const ring_header* ring = nullptr;
        std::uint64_t thread_uid = 0;
        std::uint64_t number = 0;  // of the record that it is for
    };
    void note_threads();
    static bool is_at_it(const thread_at_name& noted) noexcept;
    bool all_have_left();

    region& region_;
    bool has_noted_ = false;
    bool waits_for_others_ = false;  // threads that have no ring
    std::vector<thread_at_name> noted_;
};

}  // namespace prof
