// SPDX-License-Identifier: Apache-2.0
// cu*: initialisation, devices, contexts, streams, events.
#include <cupti.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <utility>

#include "fakes/fake_gpu.h"
#include "fakes/gpu/api_call.hpp"
#include "fakes/gpu/driver.hpp"

using fake::api_call;
using fake::current_context;
using fake::ensure_initialized;
using fake::gpu;
using fake::wait_for;

namespace {

// Without a destructor, which the C library would register with the loader's lock held.
struct device_stack {
    std::array<int, 32> devices;
    std::size_t depth;
};
thread_local device_stack devices_pushed_over;
std::atomic<std::size_t> memory_in_use{std::size_t{600} << 20};
thread_local CUstreamCaptureMode capture_mode_of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUstream resolve(CUstream stream) { return gpu().resolve_stream(stream, current_context()); }

void announce(CUpti_CallbackIdResource what, CUstream stream) {
    if (fake::tool* attached = gpu().attached_tool()) {
        attached->resource_changed(what, stream->context, stream, nullptr);
    }
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) { return ensure_initialized(); }

CUresult cuDriverGetVersion(int* version) {
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
    *count = gpu().device_count();
    return ensure_initialized();
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < gpu().device_count() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    std::strncpy(name, gpu().device(device).name, static_cast<std::size_t>(length));
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
    *bytes = gpu().device(device).memory_bytes;
    return CUDA_SUCCESS;
}

// What is in use is what fake_gpu_use_memory() says, on each device.
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
    if (fake::is_forked_child()) return CUDA_ERROR_NOT_INITIALIZED;
    const CUcontext context = fake::thread_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *total = gpu().device(static_cast<int>(context->device)).memory_bytes;
    *free = *total - memory_in_use;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
    const CUcontext context = fake::thread_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *device = static_cast<CUdevice>(context->device);
    return CUDA_SUCCESS;
}

void fake_gpu_use_memory(std::size_t bytes) { memory_in_use = bytes; }

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    const fake_gpu_device properties = gpu().device(device);
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = properties.multiprocessors;
            return CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = properties.compute_major;
            return CUDA_SUCCESS;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            *value = properties.compute_minor;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (const CUresult failure = ensure_initialized(); failure != CUDA_SUCCESS) {
        return failure;
    }
    *context = gpu().primary_context(device);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    *flags = 0;
    *active = gpu().existing_context(device) != nullptr ? 1 : 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
    device_stack& over = devices_pushed_over;
    if (over.depth == over.devices.size()) return CUDA_ERROR_INVALID_CONTEXT;
    over.devices[over.depth++] = fake::current_device();
    return fake::set_current_device(static_cast<int>(context->device));
}

CUresult cuCtxPopCurrent(CUcontext* context) {
    device_stack& over = devices_pushed_over;
    if (over.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
    *context = fake::thread_context();
    return fake::set_current_device(over.devices[--over.depth]);
}

// Nothing here is unsafe while a stream is captured, so the mode is only kept.
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    std::swap(*mode, capture_mode_of_thread);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = fake::thread_context();
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) { return fake::set_current_device(static_cast<int>(context->device)); }

CUresult cuCtxSynchronize() {
    api_call call{FAKE_DRIVER_FUNCTION(cuCtxSynchronize), nullptr};
    const CUcontext context = current_context();
    const CUresult result = wait_for(gpu().context_end_ns(context));
    if (fake::tool* attached = gpu().attached_tool()) {
        attached->synchronized(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, context, nullptr);
    }
    return call.finish(result);
}

CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
    const cuStreamCreate_params params{stream, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamCreate), &params};
    *stream = gpu().create_stream(current_context(), (flags & CU_STREAM_NON_BLOCKING) == 0);
    announce(CUPTI_CBID_RESOURCE_STREAM_CREATED, *stream);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
    const CUstream known = resolve(stream);
    if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    gpu().at(FAKE_GPU_ASKED_FOR_CONTEXT);
    *context = known->context;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream stream) {
    const cuStreamDestroy_v2_params params{stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamDestroy_v2), &params};
    if (resolve(stream) == nullptr) {
        return call.finish(CUDA_ERROR_INVALID_HANDLE);
    }
    announce(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream);
    gpu().destroy_stream(stream);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuStreamSynchronize(CUstream stream) {
    const cuStreamSynchronize_params params{stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamSynchronize), &params};
    const CUstream resolved = resolve(stream);
    if (resolved == nullptr) {
        return call.finish(CUDA_ERROR_INVALID_HANDLE);
    }
    const CUresult result = wait_for(gpu().stream_end_ns(resolved));
    if (fake::tool* attached = gpu().attached_tool()) {
        attached->synchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, resolved->context, resolved);
    }
    return call.finish(result);
}

CUresult cuStreamQuery(CUstream stream) {
    const cuStreamQuery_params params{stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamQuery), &params};
    const CUstream resolved = resolve(stream);
    if (resolved == nullptr) {
        return call.finish(CUDA_ERROR_INVALID_HANDLE);
    }
    const bool is_done = gpu().stream_end_ns(resolved) <= gpu().clock.now_ns();
    return call.finish(is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    const cuStreamWaitEvent_params params{stream, event, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuStreamWaitEvent), &params};
    const CUstream resolved = resolve(stream);
    if (resolved == nullptr) {
        return call.finish(CUDA_ERROR_INVALID_HANDLE);
    }
    gpu().wait_event(resolved, event);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuEventCreate(CUevent* event, unsigned int flags) {
    const cuEventCreate_params params{event, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuEventCreate), &params};
    *event = gpu().create_event();
    return call.finish(CUDA_SUCCESS);
}

CUresult cuEventDestroy(CUevent event) {
    const cuEventDestroy_v2_params params{event};
    api_call call{FAKE_DRIVER_FUNCTION(cuEventDestroy_v2), &params};
    gpu().destroy_event(event);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    const cuEventRecord_params params{event, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuEventRecord), &params};
    const CUstream resolved = resolve(stream);
    if (resolved == nullptr) {
        return call.finish(CUDA_ERROR_INVALID_HANDLE);
    }
    gpu().record_event(event, resolved);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuEventQuery(CUevent event) {
    const cuEventQuery_params params{event};
    api_call call{FAKE_DRIVER_FUNCTION(cuEventQuery), &params};
    const bool is_done = gpu().event_end_ns(event) <= gpu().clock.now_ns();
    return call.finish(is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuEventSynchronize(CUevent event) {
    const cuEventSynchronize_params params{event};
    api_call call{FAKE_DRIVER_FUNCTION(cuEventSynchronize), &params};
    return call.finish(wait_for(gpu().event_end_ns(event)));
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    const cuEventElapsedTime_v2_params params{milliseconds, start, end};
    api_call call{FAKE_DRIVER_FUNCTION(cuEventElapsedTime_v2), &params};
    const auto elapsed_ns = static_cast<std::int64_t>(gpu().event_end_ns(end) - gpu().event_end_ns(start));
    *milliseconds = static_cast<float>(elapsed_ns) / 1e6F;
    return call.finish(CUDA_SUCCESS);
}

CUresult cuProfilerStart() {
    api_call call{FAKE_DRIVER_FUNCTION(cuProfilerStart), nullptr};
    return call.finish(CUDA_SUCCESS);
}

CUresult cuProfilerStop() {
    api_call call{FAKE_DRIVER_FUNCTION(cuProfilerStop), nullptr};
    return call.finish(CUDA_SUCCESS);
}

}  // extern "C"
