// SPDX-License-Identifier: Apache-2.0
// Counts the names that folding merges into one row, and distinguishes numbers that count from numbers that name.
//
// A counter has many names with few instances each ("iteration 17"). A name recurs, and there are few of them
// ("layer 3"). The threads of a program may each have the same counter, so a name recurs only if one thread repeats it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "timeline/row_ids.hpp"

namespace prof {

class merged_names {
public:
    // Constant time, but for a search among at most `most` names. REQUIRES: the calls for one thread are consecutive.
    void add(name_id name, thread_id thread) {
        if (is_counter_) return;
        const auto known =
            std::find_if(entries_.begin(), entries_.end(), [&](const entry& of) { return of.name == name; });
        if (known != entries_.end()) {
            known->on_thread = known->thread == thread ? known->on_thread + 1 : 1;
            known->thread = thread;
            known->instances = std::max(known->instances, known->on_thread);
        } else if (entries_.size() < most) {
            entries_.push_back({.name = name, .thread = thread, .on_thread = 1, .instances = 1});
        } else {
            is_counter_ = true;
            entries_ = {};
        }
    }

    // Whether the names are those of different things: each recurs, and they are few, or at least as rare as their
    // instances are many.
    bool are_different_things() const {
        if (entries_.size() < 2) return false;
        const std::uint64_t least = least_instances();
        return least >= recurring && (entries_.size() <= few || entries_.size() <= least);
    }

    // The number of names if they may be different things, of which a note warns where they are one row; else 0.
    std::uint32_t doubtful() const {
        if (entries_.size() < 2) return 0;
        const bool may_differ = least_instances() >= (entries_.size() <= few ? 2 : recurring);
        return may_differ ? static_cast<std::uint32_t>(entries_.size()) : 0;
    }

private:
    // A name recurs from the third instance on: two may be the first step of each of two windows, or an epoch's first
    // and last iteration.
    static constexpr std::uint64_t recurring = 3;
    // So many names are few in any case. More of them must have as many instances each: 12 layers in 12 steps, but not
    // 100 iterations in 3 epochs.
    static constexpr std::size_t few = 8;
    // More names than that are a counter's, however often each recurs. It also bounds the search in add().
    static constexpr std::size_t most = 64;

    struct entry {
        name_id name{};
        thread_id thread;             // of the latest instance
        std::uint64_t on_thread = 0;  // instances on that thread
        std::uint64_t instances = 0;  // on the thread that has most
    };

    std::uint64_t least_instances() const {
        return std::min_element(entries_.begin(), entries_.end(),
                                [](const entry& a, const entry& b) { return a.instances < b.instances; })
            ->instances;
    }

    std::vector<entry> entries_;
    bool is_counter_ = false;  // more than `most` names were added
};

}  // namespace prof
