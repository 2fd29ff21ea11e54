// SPDX-License-Identifier: Apache-2.0
// Records of PyTorch's NVTX observer, for captures worked by hand.
#pragma once

#include <cstdint>
#include <string>

#include "support/capture_builder.hpp"

namespace prof {

// As the hook writes them: the text's numbers stand in the record. `sequence` -1: none.
inline record torch_push(capture_builder& capture, std::uint64_t ns, const std::string& name,
                         std::int64_t sequence = -1, std::uint64_t op = 1) {
    record r{.ticks = ns, .value = op, .name = capture.name(name), .kind = record_kind::range_push};
    r.flags = static_cast<std::uint8_t>(sequence < 0 ? payload_type::torch : payload_type::torch_sequence);
    if (sequence >= 0) {
        r.category = static_cast<std::uint32_t>(sequence);
        r.color = static_cast<std::uint32_t>(static_cast<std::uint64_t>(sequence) >> 32);
    }
    return r;
}

}  // namespace prof
