// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/gpu_wait.hpp"

#include <cuda.h>

#include "hooks/cupti/library.hpp"

#define PROF_TEXT_OF(x) #x
#define PROF_NAME_OF(function) PROF_TEXT_OF(function)  // macros of cuda.h add versions: cuCtxPushCurrent_v2

namespace prof {
namespace {

struct driver_functions {
    decltype(&cuDeviceGetCount) device_count = nullptr;
    decltype(&cuDeviceGet) device = nullptr;
    decltype(&cuDevicePrimaryCtxGetState) primary_state = nullptr;
    decltype(&cuDevicePrimaryCtxRetain) primary_retain = nullptr;
    decltype(&cuDevicePrimaryCtxRelease) primary_release = nullptr;
    decltype(&cuCtxPushCurrent) push = nullptr;
    decltype(&cuCtxPopCurrent) pop = nullptr;
    decltype(&cuCtxGetCurrent) current = nullptr;
    decltype(&cuCtxSynchronize) synchronize = nullptr;
    decltype(&cuThreadExchangeStreamCaptureMode) exchange_mode = nullptr;
    bool complete = false;
};

driver_functions find_functions() noexcept {
    driver_functions f;
    void* const driver = loaded_driver();
    f.complete = find(driver, PROF_NAME_OF(cuDeviceGetCount), f.device_count) &&
                 find(driver, PROF_NAME_OF(cuDeviceGet), f.device) &&
                 find(driver, PROF_NAME_OF(cuDevicePrimaryCtxGetState), f.primary_state) &&
                 find(driver, PROF_NAME_OF(cuDevicePrimaryCtxRetain), f.primary_retain) &&
                 find(driver, PROF_NAME_OF(cuDevicePrimaryCtxRelease), f.primary_release) &&
                 find(driver, PROF_NAME_OF(cuCtxPushCurrent), f.push) &&
                 find(driver, PROF_NAME_OF(cuCtxPopCurrent), f.pop) &&
                 find(driver, PROF_NAME_OF(cuCtxGetCurrent), f.current) &&
                 find(driver, PROF_NAME_OF(cuCtxSynchronize), f.synchronize) &&
                 find(driver, PROF_NAME_OF(cuThreadExchangeStreamCaptureMode), f.exchange_mode);
    return f;
}

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

void wait_for_gpu() noexcept {
    const driver_functions f = find_functions();
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
