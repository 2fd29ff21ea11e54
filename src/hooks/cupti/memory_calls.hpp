// SPDX-License-Identifier: Apache-2.0
// CUDA's own memory, as records (record/memory.hpp): what a call that has just returned got of CUDA or gave back, with
// the library that called and, where lines are recorded, the line of the program. CUPTI's memory records do not have
// what cuMemCreate makes, and come without the stack; a call's parameters have all, at no cost to other calls. Part of
// the hot path, but only calls that allocate come here: a record, and the walk of a stack to its caller.
//
// Not seen: arrays and textures, memory of other processes that is mapped, and what the driver takes without a call.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "record/launch_calls.hpp"
#include "ring/producer.hpp"

namespace prof {

inline std::atomic<bool> are_memory_calls_recorded{false};
// Decides whether such calls are recorded from now on. Reads the loader's tables: not for hooks.
void record_memory_calls(bool is_wanted) noexcept;

// Whether a call of this kind is looked at when it returns.
inline bool is_memory_call(launch_kind kind) noexcept {
    // relaxed: a plain value; set before the callbacks are enabled.
    return (kind == launch_kind::allocation || kind == launch_kind::blocking_allocation) &&
           are_memory_calls_recorded.load(std::memory_order_relaxed);
}

// Writes the records of a call that returns. Nothing if it failed otherwise than for lack of memory, or is not known.
void note_memory_call(producer& out, api_domain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& data,
                      std::uint64_t ticks) noexcept;

}  // namespace prof
