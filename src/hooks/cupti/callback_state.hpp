// SPDX-License-Identifier: Apache-2.0
// What the functions that CUPTI calls back (callbacks.hpp) know: CUPTI's buffer callbacks get no pointer of libprof's,
// so the state of all of them is global, one per process.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "hooks/cupti/buffers.hpp"
#include "hooks/cupti/threads_inside.hpp"
#include "ring/region.hpp"

namespace prof {

// Set while attached, and kept afterwards, because a buffer may be completed late.
struct callback_state {
    std::atomic<activity_buffers*> buffers{nullptr};
    std::atomic<region*> where{nullptr};
    std::atomic<std::uint32_t> version{0};
    std::atomic<decltype(&cuptiGetTimestamp)> timestamp{nullptr};
    std::atomic<decltype(&cuptiGetStreamIdEx)> stream_id{nullptr};
    std::atomic<decltype(&cuptiGetContextId)> context_id{nullptr};
    std::atomic<decltype(&cuptiGetDeviceId)> device_id{nullptr};
    std::atomic<decltype(&cuStreamGetCtx)> stream_context{nullptr};
    std::atomic<decltype(&cuptiGetGraphNodeId)> graph_node_id{nullptr};
    std::atomic<decltype(&cuptiGetGraphId)> graph_id{nullptr};
    std::atomic<CUptiResult (*)(CUgraphExec, std::uint32_t*)> graph_exec_id{nullptr};
    // The latest call before the window, by its number (numbers ascend, and wrap after 2^32); 0: there was none.
    std::atomic<std::uint32_t> last_unrecorded_call{0};
    std::atomic<void (*)(bool) noexcept> profiler_observer{nullptr};
    // Threads inside `profiler_observer`. They may be waiting for the thread that detaches from CUPTI.
    threads_inside in_profiler_observer;
    // Threads inside any other part of a callback that calls a function, which may sleep: CUPTI and the driver have
    // locks of their own, the first record creates the capture, storage comes from a file system. Also threads that
    // call CUPTI from elsewhere.
    threads_inside in_calls;
    std::atomic<bool> is_left{false};             // abandon()
    std::atomic<bool> is_shared{false};           // met_another_client()
    std::atomic<bool> is_parents{false};          // leave_to_parent()
    std::atomic<bool> kernels_may_launch{false};  // of a loaded module: device_launches.hpp
};
extern callback_state callbacks;
// CUPTI's ids of a stream (stream_key()). REQUIRES: this thread is in a callback.
bool cupti_stream_key(CUstream stream, std::uint64_t& key) noexcept;
// Of a stream of this context; nullptr: of the current one, which then counts as 0.
bool cupti_stream_key_in(CUcontext context, CUstream stream, std::uint64_t& key) noexcept;

}  // namespace prof
