// SPDX-License-Identifier: Apache-2.0
// The blocks of GPU memory that an allocator gave to the program: when each was born and when it came back, and what
// was alive before the recording. A pure function of a timeline; linear in its memory events. Memory: 32 bytes a block
// that was recorded, and about as much for each that is alive at once.
#pragma once

#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

struct memory_block_life {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t birth = npos;  // index into timeline::memory
    // The event by which it came back, or by which it is known that it had; npos: alive at the last event.
    std::uint32_t death = npos;
    std::uint16_t device = 0;
    bool end_was_seen = false;  // else its window ended, or the record of its end was lost

    bool is_alive_after(std::uint32_t event) const noexcept { return birth <= event && event < death; }
};

// What the allocator's total has at a moment beside the blocks that were seen to be born. The sum of these and of the
// blocks that are alive is the total, to the byte.
struct memory_remainder {
    std::uint64_t before = 0;  // of blocks that were alive when the window began
    std::int64_t lost = 0;     // of blocks whose records were lost; negative where those of frees were
};

class block_account {
public:
    explicit block_account(const timeline& data);

    const std::vector<memory_block_life>& blocks() const noexcept { return blocks_; }  // by birth
    const std::vector<std::uint16_t>& devices() const noexcept { return devices_; }    // packed; in ascending order
    // Of the device, after the event. REQUIRES: one of devices(). Logarithmic.
    memory_remainder remainder(std::uint16_t device, std::uint32_t event) const;
    // Frees of blocks that were born in the window and given out twice, or that no total explains.
    std::uint64_t doubtful() const noexcept { return doubtful_; }

private:
    struct change {
        std::uint16_t device = 0;
        std::uint32_t event = 0;
        memory_remainder value{};
    };

    std::vector<memory_block_life> blocks_;
    std::vector<std::uint16_t> devices_;
    std::vector<change> changes_;  // by device, then by event
    std::uint64_t doubtful_ = 0;
};

}  // namespace prof
