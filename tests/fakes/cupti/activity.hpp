// SPDX-License-Identifier: Apache-2.0
// The tool that libcupti_fake.so attaches to the simulated driver: it turns the driver's events into callbacks and
// records for the client. Any thread.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include "fakes/cupti/buffers.hpp"
#include "fakes/cupti/freed_memory.hpp"
#include "fakes/cupti/subscription.hpp"
#include "fakes/gpu/tools.hpp"

namespace fake {

class cupti_tool final : public tool {
public:
    lifetimes memory;
    runtime_hooks hooks{memory};
    subscription subscriber{memory, hooks};
    activity_buffers buffers;

    // Subscribes to the driver's events. Every client function that needs them calls it.
    void attach();

    // `dump`: with records of what was there before.
    CUptiResult enable_kind(CUpti_ActivityKind kind, bool dump = false);
    CUptiResult disable_kind(CUpti_ActivityKind kind);
    bool is_enabled(CUpti_ActivityKind kind) const;
    CUptiResult select_api(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on);
    void set_thread_id_type(CUpti_ActivityThreadIdType type) { thread_id_type_ = type; }
    CUpti_ActivityThreadIdType thread_id_type() const { return thread_id_type_; }

    CUptiResult set_attribute(CUpti_ActivityAttribute attribute, const std::size_t* size, const void* value);
    CUptiResult get_attribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) const;

    // The driver still reports events, and operations in progress continue.
    void finalize();
    void reset();

    void api_entered(api_call_state& call) noexcept override;
    void api_exited(api_call_state& call) noexcept override;
    std::uint64_t operation_issued(const fake_gpu_operation& operation) noexcept override;
    void operation_ended(std::uint64_t ticket, const fake_gpu_operation& operation) noexcept override;
    void resource_changed(CUpti_CallbackIdResource what, CUcontext context, CUstream stream,
                          void* descriptor) noexcept override;
    void synchronized(CUpti_CallbackIdSync what, CUcontext context, CUstream stream) noexcept override;
    bool serializes_kernels() const noexcept override;
    void wait_until_delivered() noexcept override { buffers.wait_until_delivered(); }

private:
    CUpti_ActivityKind kernel_kind() const;
    bool records_api(const api_call_state& call) const;

    std::array<std::atomic<bool>, CUPTI_ACTIVITY_KIND_COUNT> kinds_{};
    // API functions switched off one by one, by domain (driver, runtime). Switching one on while its kind is off
    // records nothing, contrary to CUPTI's header.
    std::array<std::array<std::atomic<bool>, 1024>, 2> excluded_{};
    // Graphs that were there when GRAPH_TRACE was switched on: launching one of them crashes the real library.
    std::atomic<std::uint32_t> untraceable_graph_id_{0};
    // One that was made later is recorded as a whole for good, and launching it crashes CUPTI once it is finalized.
    std::atomic<bool> has_traced_graphs_{false};
    std::atomic<CUpti_ActivityThreadIdType> thread_id_type_{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};
    mutable std::mutex attributes_mutex_;
    std::map<CUpti_ActivityAttribute, std::uint64_t> attributes_;
};

// The process's one tool, never destroyed.
cupti_tool& cupti();

// The calling thread's stacks of external correlation ids.
std::map<CUpti_ExternalCorrelationKind, std::vector<std::uint64_t>>& external_ids();

}  // namespace fake
