// SPDX-License-Identifier: Apache-2.0
// The GPU operations that a call launched. Constant time.
#pragma once

#include <cstdint>
#include <span>

#include "timeline/timeline.hpp"

namespace prof {

// Ascending.
inline std::span<const op_id> ops_of(const timeline& data, const timeline_api_call& call) noexcept {
    if (call.op_count == 0) return {};
    return std::span(data.ops_by_launch).subspan(call.first_op, call.op_count);
}

// The copy that the call made; null: its first operation is none.
inline const transfer_record* copy_of(const timeline& data, const timeline_api_call& call) noexcept {
    if (call.op_count == 0) return nullptr;
    const gpu_op& op = data.ops[data.ops_by_launch[call.first_op]];
    return op.kind == op_kind::memcpy ? &data.transfers[op.detail] : nullptr;
}

}  // namespace prof
