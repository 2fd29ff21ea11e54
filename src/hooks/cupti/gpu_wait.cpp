// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/gpu_wait.hpp"

namespace prof {
namespace {

void wait_for_primary_context(const driver_functions& f, int index) noexcept {
    CUdevice device = 0;
    unsigned flags = 0;
    int is_active = 0;
    CUcontext context = nullptr;
    if (f.device(&device, index) != CUDA_SUCCESS) return;
    if (f.primary_state(device, &flags, &is_active) != CUDA_SUCCESS || is_active == 0) return;
    if (f.primary_retain(&context, device) != CUDA_SUCCESS) return;
    if (f.push(context) == CUDA_SUCCESS) {
        (void)f.synchronize();
        (void)f.pop(&context);
    }
    (void)f.primary_release(device);
}

}  // namespace

void wait_for_gpu(const driver_functions& f) noexcept {
    int devices = 0;
    if (!f.complete || f.device_count(&devices) != CUDA_SUCCESS) return;
    // Relaxed mode: this thread may then wait even while it captures a graph.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (f.exchange_mode(&mode) != CUDA_SUCCESS) return;
    for (int i = 0; i < devices; ++i) wait_for_primary_context(f, i);
    CUcontext own = nullptr;
    if (f.current(&own) == CUDA_SUCCESS && own != nullptr) (void)f.synchronize();
    (void)f.exchange_mode(&mode);
}

}  // namespace prof
