// SPDX-License-Identifier: Apache-2.0
// The functions that CUPTI calls back: at CUDA calls, on the threads that make them; and with buffers, on any thread.
// This is the hot path: one clock read and one ring write at the entry and at the exit of each launching call, and for
// each new node of a CUDA graph (graph_nodes.hpp).
#pragma once

#include <cupti.h>

#include <cstdint>

#include "hooks/cupti/callback_state.hpp"
#include "record/launch_calls.hpp"

namespace prof {

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
// cupti_stream_key() for stream_key_lookup: on a thread that is in no callback. False if CUPTI is being detached from.
bool look_up_stream_key(void* stream, std::uint64_t& key) noexcept;

}  // namespace prof
