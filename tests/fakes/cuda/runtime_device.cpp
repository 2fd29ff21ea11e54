// SPDX-License-Identifier: Apache-2.0
// cuda*: devices, errors, streams, events.
#include <cstring>
#include <utility>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/cuda/runtime.hpp"

using fake::remember;
using fake::runtime_call;
using fake::simulated_gpu;

namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

namespace fake {

cudaError_t remember(cudaError_t result) {
    if (result != cudaSuccess && result != cudaErrorNotReady) {
        last_error = result;
    }
    return result;
}

}  // namespace fake

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "cudaSuccess";
        case cudaErrorInvalidValue:
            return "cudaErrorInvalidValue";
        case cudaErrorInitializationError:
            return "cudaErrorInitializationError";
        case cudaErrorNoDevice:
            return "cudaErrorNoDevice";
        case cudaErrorLaunchTimeout:
            return "cudaErrorLaunchTimeout";
        default:
            return "unrecognized error code";
    }
}

const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDA_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 0;
    const cudaGetDeviceCount_v3020_params params{count};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaGetDeviceCount, v3020), &params,
                        [&] { return cuDeviceGetCount(count); });
}

cudaError_t cudaGetDevice(int* device) {
    *device = fake::current_device();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    const cudaSetDevice_v3020_params params{device};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaSetDevice, v3020), &params,
                        [&] { return fake::set_current_device(device); });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    if (device < 0 || device >= simulated_gpu::instance().device_count()) {
        return remember(cudaErrorInvalidDevice);
    }
    const fake_gpu_device simulated = simulated_gpu::instance().device(device);
    *properties = {};
    std::memcpy(properties->name, simulated.name, sizeof(simulated.name));
    properties->totalGlobalMem = simulated.memory_bytes;
    properties->major = simulated.compute_major;
    properties->minor = simulated.compute_minor;
    properties->multiProcessorCount = simulated.multiprocessors;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaDeviceSynchronize, v3020), nullptr,
                        [] { return cuCtxSynchronize(); });
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    const cudaStreamCreate_v3020_params params{stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamCreate, v3020), &params,
                        [&] { return cuStreamCreate(stream, CU_STREAM_DEFAULT); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
    const cudaStreamCreateWithFlags_v5000_params params{stream, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamCreateWithFlags, v5000), &params,
                        [&] { return cuStreamCreate(stream, flags); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const cudaStreamDestroy_v5050_params params{stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamDestroy, v5050), &params,
                        [&] { return cuStreamDestroy(stream); });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const cudaStreamSynchronize_v3020_params params{stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamSynchronize, v3020), &params,
                        [&] { return cuStreamSynchronize(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    const cudaStreamQuery_v3020_params params{stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamQuery, v3020), &params, [&] { return cuStreamQuery(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    const cudaStreamWaitEvent_v3020_params params{stream, event, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaStreamWaitEvent, v3020), &params,
                        [&] { return cuStreamWaitEvent(stream, event, flags); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    const cudaEventCreate_v3020_params params{event};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaEventCreate, v3020), &params,
                        [&] { return cuEventCreate(event, CU_EVENT_DEFAULT); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    const cudaEventCreateWithFlags_v3020_params params{event, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaEventCreateWithFlags, v3020), &params,
                        [&] { return cuEventCreate(event, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const cudaEventDestroy_v3020_params params{event};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaEventDestroy, v3020), &params, [&] { return cuEventDestroy(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const cudaEventRecord_v3020_params params{event, stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaEventRecord, v3020), &params,
                        [&] { return cuEventRecord(event, stream); });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const cudaEventQuery_v3020_params params{event};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaEventQuery, v3020), &params, [&] { return cuEventQuery(event); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const cudaEventSynchronize_v3020_params params{event};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaEventSynchronize, v3020), &params,
                        [&] { return cuEventSynchronize(event); });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    const cudaEventElapsedTime_v12080_params params{milliseconds, start, end};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaEventElapsedTime, v12080), &params,
                        [&] { return cuEventElapsedTime(milliseconds, start, end); });
}

cudaError_t cudaProfilerStart() {
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaProfilerStart, v4000), nullptr, cuProfilerStart);
}

cudaError_t cudaProfilerStop() {
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaProfilerStop, v4000), nullptr, cuProfilerStop);
}

}  // extern "C"
