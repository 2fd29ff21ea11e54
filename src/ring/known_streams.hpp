// SPDX-License-Identifier: Apache-2.0
// One thread's cache of streams: from a handle to the stream's key (record/label.hpp), for which CUPTI needs about
// 0.4 us.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace prof {

class known_streams {
public:
    // The key of a stream, or null. `generation` changes when a stream is destroyed, whose handle may be that of
    // another stream later.
    const std::uint64_t* find(std::uint64_t handle, std::uint32_t generation) noexcept {
        if (generation != generation_) {
            entries_ = {};
            generation_ = generation;
        }
        const entry& slot = entries_[place_of(handle)];
        return slot.handle == handle ? &slot.key : nullptr;
    }
    // REQUIRES: `handle` is not 0.
    void add(std::uint64_t handle, std::uint64_t key) noexcept { entries_[place_of(handle)] = {handle, key}; }

private:
    struct entry {
        std::uint64_t handle = 0;  // 0: free
        std::uint64_t key = 0;
    };
    static std::size_t place_of(std::uint64_t handle) noexcept {
        return static_cast<std::size_t>((handle * 0x9E3779B97F4A7C15U) >> 58);
    }

    std::array<entry, 64> entries_{};
    std::uint32_t generation_ = 0;
};

}  // namespace prof
