// SPDX-License-Identifier: Apache-2.0
// cuda*: memory, copies, sets.
#include <cstring>

#include "fakes/cuda/runtime.hpp"

using fake::device_pointer;
using fake::runtime_call;
using fake::simulated_gpu;

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
    const cudaMalloc_v3020_params params{pointer, bytes};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMalloc, v3020), &params,
                        [&] { return cuMemAlloc(reinterpret_cast<CUdeviceptr*>(pointer), bytes); });
}

cudaError_t cudaFree(void* pointer) {
    const cudaFree_v3020_params params{pointer};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaFree, v3020), &params, [&] {
        if (pointer == nullptr) {  // the idiom that creates the context
            fake::current_context();
            return CUDA_SUCCESS;
        }
        return cuMemFree(device_pointer(pointer));
    });
}

cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned int flags) {
    const cudaMallocManaged_v6000_params params{pointer, bytes, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMallocManaged, v6000), &params,
                        [&] { return cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(pointer), bytes, flags); });
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
    const cudaMallocAsync_v11020_params params{pointer, bytes, stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMallocAsync, v11020), &params,
                        [&] { return cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream); });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    const cudaFreeAsync_v11020_params params{pointer, stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaFreeAsync, v11020), &params,
                        [&] { return cuMemFreeAsync(device_pointer(pointer), stream); });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
    const cudaMallocHost_v3020_params params{pointer, bytes};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMallocHost, v3020), &params,
                        [&] { return cuMemHostAlloc(pointer, bytes, 0); });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
    const cudaHostAlloc_v3020_params params{pointer, bytes, flags};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaHostAlloc, v3020), &params,
                        [&] { return cuMemHostAlloc(pointer, bytes, flags); });
}

cudaError_t cudaFreeHost(void* pointer) {
    const cudaFreeHost_v3020_params params{pointer};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaFreeHost, v3020), &params, [&] { return cuMemFreeHost(pointer); });
}

cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
    const cudaMemcpy_v3020_params params{destination, source, bytes, kind};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMemcpy, v3020), &params, [&] {
        if (bytes == 0) {
            return CUDA_SUCCESS;  // the driver is not asked
        }
        switch (kind) {
            case cudaMemcpyHostToDevice:
                return cuMemcpyHtoD(device_pointer(destination), source, bytes);
            case cudaMemcpyDeviceToHost:
                return cuMemcpyDtoH(destination, device_pointer(source), bytes);
            case cudaMemcpyDeviceToDevice:
                return cuMemcpyDtoD(device_pointer(destination), device_pointer(source), bytes);
            case cudaMemcpyDefault:
                return cuMemcpy(device_pointer(destination), device_pointer(source), bytes);
            default:
                std::memmove(destination, source, bytes);
                return CUDA_SUCCESS;
        }
    });
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    const cudaMemcpyAsync_v3020_params params{destination, source, bytes, kind, stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMemcpyAsync, v3020), &params, [&] {
        if (bytes == 0) {
            return CUDA_SUCCESS;
        }
        switch (kind) {
            case cudaMemcpyHostToDevice:
                return cuMemcpyHtoDAsync(device_pointer(destination), source, bytes, stream);
            case cudaMemcpyDeviceToHost:
                return cuMemcpyDtoHAsync(destination, device_pointer(source), bytes, stream);
            case cudaMemcpyDeviceToDevice:
                return cuMemcpyDtoDAsync(device_pointer(destination), device_pointer(source), bytes, stream);
            case cudaMemcpyDefault:
                return cuMemcpyAsync(device_pointer(destination), device_pointer(source), bytes, stream);
            default:
                std::memmove(destination, source, bytes);
                return CUDA_SUCCESS;
        }
    });
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int destination_device, const void* source, int source_device,
                                std::size_t bytes, cudaStream_t stream) {
    const cudaMemcpyPeerAsync_v4000_params params{destination, destination_device, source, source_device, bytes,
                                                  stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMemcpyPeerAsync, v4000), &params, [&] {
        simulated_gpu& gpu = simulated_gpu::instance();
        return cuMemcpyPeerAsync(device_pointer(destination), gpu.primary_context(destination_device),
                                 device_pointer(source), gpu.primary_context(source_device), bytes, stream);
    });
}

cudaError_t cudaMemset(void* destination, int value, std::size_t bytes) {
    const cudaMemset_v3020_params params{destination, value, bytes};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMemset, v3020), &params, [&] {
        return cuMemsetD8(device_pointer(destination), static_cast<unsigned char>(value), bytes);
    });
}

cudaError_t cudaMemsetAsync(void* destination, int value, std::size_t bytes, cudaStream_t stream) {
    const cudaMemsetAsync_v3020_params params{destination, value, bytes, stream};
    return runtime_call(FAKE_RUNTIME_FUNCTION(cudaMemsetAsync, v3020), &params, [&] {
        return cuMemsetD8Async(device_pointer(destination), static_cast<unsigned char>(value), bytes, stream);
    });
}

}  // extern "C"
