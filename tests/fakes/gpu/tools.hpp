// SPDX-License-Identifier: Apache-2.0
// The interface by which the simulated driver reports events to the one attached tool, libcupti_fake.so. The driver
// calls it on the thread of the event, and holds none of its locks unless a comment states otherwise.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>

#include <cstdint>

#include "fakes/fake_gpu.h"

namespace fake {

// One API call in flight, from its entry to its exit.
struct api_call_state {
    CUpti_CallbackDomain domain = CUPTI_CB_DOMAIN_INVALID;
    CUpti_CallbackId cbid = 0;
    const char* function = nullptr;
    const void* params = nullptr;
    const char* symbol = nullptr;  // mangled kernel name, of launches
    CUcontext context = nullptr;
    std::uint32_t context_id = 0;
    std::uint32_t correlation_id = 0;
    std::uint64_t correlation_data = 0;  // the tool's, kept from entry to exit
    std::uint64_t hook_lifetime = 0;     // the tool's, too
    std::uint64_t enter_ns = 0;
    std::uint64_t exit_ns = 0;
    int* result = nullptr;  // from the exit on
};

class tool {
public:
    virtual void api_entered(api_call_state& call) noexcept = 0;
    virtual void api_exited(api_call_state& call) noexcept = 0;

    // On the launching thread, before the operation is scheduled (its times are 0). The answer comes back with
    // operation_ended(), on any thread, in order of end, unless the operation hangs.
    virtual std::uint64_t operation_issued(const fake_gpu_operation& operation) noexcept = 0;
    virtual void operation_ended(std::uint64_t ticket, const fake_gpu_operation& operation) noexcept = 0;

    virtual void resource_changed(CUpti_CallbackIdResource what, CUcontext context, CUstream stream,
                                  void* descriptor) noexcept = 0;
    virtual void synchronized(CUpti_CallbackIdSync what, CUcontext context, CUstream stream) noexcept = 0;

    // CUPTI_ACTIVITY_KIND_KERNEL is on: kernels of different streams must not overlap.
    virtual bool serializes_kernels() const noexcept = 0;

    virtual void wait_until_delivered() noexcept = 0;

protected:
    ~tool() = default;
};

}  // namespace fake
