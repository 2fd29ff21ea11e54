// SPDX-License-Identifier: Apache-2.0
// The functions that CUPTI calls back: at CUDA calls, on the threads that make them; and with buffers, on any thread.
// CUPTI's buffer callbacks get no pointer of libprof's, so the state of all of them is global, one per process. This is
// the hot path: one clock read and one ring write at the entry and at the exit of each launching call, and for each new
// node of a CUDA graph (graph_nodes.hpp).
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "hooks/cupti/buffers.hpp"
#include "hooks/cupti/threads_inside.hpp"
#include "record/launch_calls.hpp"
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

// Whether this thread is flushing, and whether CUPTI hands buffers over on it at other times, as it does on its own
// thread.
extern __thread bool this_thread_flushes __attribute__((tls_model("initial-exec")));
extern __thread bool this_thread_gets_buffers __attribute__((tls_model("initial-exec")));

struct profiler_call {
    CUpti_CallbackId cbid;
    bool starts;
};
// The driver's functions, which the runtime's call. Not the runtime's own, because CUPTI may be finalized while a
// thread is in one of those.
inline constexpr profiler_call profiler_calls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, true},
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, false},
};

// When a module is unloaded, or a context with all its modules is destroyed, the symbols of its kernels are freed.
inline constexpr CUpti_CallbackIdResource unloading[] = {CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                                                         CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
inline constexpr CUpti_CallbackIdResource module_loaded = CUPTI_CBID_RESOURCE_MODULE_LOADED;
inline constexpr CUpti_CallbackIdResource stream_destroyed = CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING;

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept;
void CUPTIAPI on_buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                  std::size_t valid_bytes) noexcept;
// The one callback of the subscription.
void CUPTIAPI on_event(void* none, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* event) noexcept;

// CUPTI's clock in ns, while CUPTI is attached.
std::uint64_t cupti_now() noexcept;
// CUPTI's ids of a stream (stream_key()). REQUIRES: this thread is in a callback.
bool cupti_stream_key(CUstream stream, std::uint64_t& key) noexcept;
// Of a stream of this context; nullptr: of the current one, which then counts as 0.
bool cupti_stream_key_in(CUcontext context, CUstream stream, std::uint64_t& key) noexcept;
// The same, for stream_key_lookup: on a thread that is in no callback. False if CUPTI is being detached from.
bool look_up_stream_key(void* stream, std::uint64_t& key) noexcept;

}  // namespace prof
