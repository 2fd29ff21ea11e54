// What CUPTI calls back: at calls to CUDA, on the threads that make them, and with buffers, on any. It comes without a
// word of ours with it, so what it works on stands here, once a process. The hot path: one clock read and one ring
// write at the entry and at the exit of each launching call, and for each node that a CUDA graph gets
// (graph_nodes.hpp).
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "hooks/cupti/buffers.hpp"
#include "hooks/cupti/launch_calls.hpp"
#include "ring/region.hpp"

namespace prof {

// Set while attached, kept afterwards: a buffer may come late.
struct callback_state {
    std::atomic<activity_buffers*> buffers{nullptr};
    std::atomic<region*> where{nullptr};
    std::atomic<std::uint32_t> version{0};
    std::atomic<decltype(&cuptiGetTimestamp)> timestamp{nullptr};
    std::atomic<decltype(&cuptiGetStreamIdEx)> stream_id{nullptr};
    std::atomic<decltype(&cuptiGetContextId)> context_id{nullptr};
    std::atomic<decltype(&cuptiGetGraphNodeId)> graph_node_id{nullptr};
    std::atomic<decltype(&cuptiGetGraphId)> graph_id{nullptr};
    std::atomic<CUptiResult (*)(CUgraphExec, std::uint32_t*)> graph_exec_id{nullptr};
    std::atomic<std::uint32_t> last_unrecorded_call{0};
    std::atomic<void (*)(bool) noexcept> heard{nullptr};
    // Threads in `heard`, where they may wait for the thread that detaches from CUPTI.
    std::atomic<std::uint32_t> hearing{0};
    std::atomic<std::uint32_t> joining{0};        // in what may take long: a capture is made, a module read
    std::atomic<bool> is_left{false};             // abandon()
    std::atomic<bool> is_shared{false};           // met_another_client()
    std::atomic<bool> is_parents{false};          // leave_to_parent()
    std::atomic<bool> kernels_may_launch{false};  // some module's: device_launches.hpp
};
extern callback_state callbacks;

// Of this thread: it flushes; CUPTI has handed it buffers at another time, as it does on a thread of its own.
extern __thread bool this_thread_flushes __attribute__((tls_model("initial-exec")));
extern __thread bool this_thread_gets_buffers __attribute__((tls_model("initial-exec")));

struct profiler_call {
    CUpti_CallbackId cbid;
    bool starts;
};
// The driver's, which the runtime's call: CUPTI may be finalized while a thread is in one of the runtime's.
inline constexpr profiler_call profiler_calls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, true},
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, false},
};

// With a module, or a context and all its modules, the symbols of their kernels go.
inline constexpr CUpti_CallbackIdResource unloading[] = {CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                                                         CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
inline constexpr CUpti_CallbackIdResource module_loaded = CUPTI_CBID_RESOURCE_MODULE_LOADED;

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept;
void CUPTIAPI on_buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                  std::size_t valid_bytes) noexcept;
// The subscription's one callback.
void CUPTIAPI on_event(void* none, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* event) noexcept;

// CUPTI's clock, and its numbers of a stream (stream_key()), as long as it is attached.
std::uint64_t cupti_now() noexcept;
bool cupti_stream_key(void* stream, std::uint64_t& key) noexcept;

}  // namespace prof
