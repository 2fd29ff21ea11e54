// SPDX-License-Identifier: Apache-2.0
// cu*: memory, copies, sets. A "device" allocation is host memory, and its bytes really are copied, at launch.
#include <cupti.h>

#include <atomic>
#include <cstring>

#include "fakes/gpu/api_call.hpp"
#include "fakes/gpu/driver.hpp"

using fake::api_call;
using fake::current_context;
using fake::gpu;
using fake::wait_for;

namespace {

constexpr std::uint64_t transfer_setup_ns = 1'000;
constexpr std::uint64_t host_bytes_per_us = 25'000;       // a PCIe bus
constexpr std::uint64_t device_bytes_per_us = 2'000'000;  // its own memory

void* address(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

bool is_on_device(CUdeviceptr pointer) {
    const auto kind = gpu().memory_kind(address(pointer));
    return kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE || kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
}

CUpti_ActivityMemcpyKind copy_kind(CUdeviceptr destination, CUdeviceptr source) {
    if (is_on_device(source)) {
        return is_on_device(destination) ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    }
    return is_on_device(destination) ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

struct copy {
    void* destination;
    const void* source;
    std::size_t bytes;
    CUpti_ActivityMemcpyKind kind;
    bool is_async;
};

CUresult launch_copy(const copy& what, CUstream stream) {
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (resolved == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (what.bytes == 0) {
        return CUDA_SUCCESS;  // nothing reaches the GPU
    }
    std::memmove(what.destination, what.source, what.bytes);
    if (what.kind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOH) {
        return CUDA_SUCCESS;
    }
    fake_gpu_operation operation{};
    operation.kind = FAKE_GPU_MEMCPY;
    operation.correlation_id = fake::api_call::current_correlation_id();
    operation.bytes = what.bytes;
    operation.copy_kind = static_cast<std::uint8_t>(what.kind);
    operation.source_kind = gpu().memory_kind(what.source);
    operation.destination_kind = gpu().memory_kind(what.destination);
    operation.is_async = what.is_async ? 1 : 0;
    const bool is_local = what.kind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
    gpu().launch(resolved, operation,
                 transfer_setup_ns + what.bytes / (is_local ? device_bytes_per_us : host_bytes_per_us) * 1'000);
    // A blocking copy between host and device returns when it has ended.
    return what.is_async || is_local ? CUDA_SUCCESS : wait_for(gpu().stream_end_ns(resolved));
}

CUresult launch_set(CUdeviceptr destination, unsigned char value, std::size_t bytes, bool is_async, CUstream stream) {
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (resolved == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    std::memset(address(destination), value, bytes);
    fake_gpu_operation operation{};
    operation.kind = FAKE_GPU_MEMSET;
    operation.correlation_id = fake::api_call::current_correlation_id();
    operation.bytes = bytes;
    operation.value = value;
    operation.destination_kind = gpu().memory_kind(address(destination));
    operation.is_async = is_async ? 1 : 0;
    gpu().launch(resolved, operation, transfer_setup_ns + bytes / device_bytes_per_us * 1'000);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* pointer, std::size_t bytes) {
    const cuMemAlloc_v2_params params{pointer, bytes};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemAlloc_v2), &params};
    const CUcontext context = current_context();
    if (bytes > gpu().device(static_cast<int>(context->device)).memory_bytes)
        return call.finish(CUDA_ERROR_OUT_OF_MEMORY);
    *pointer = reinterpret_cast<CUdeviceptr>(gpu().allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE));
    return call.finish(CUDA_SUCCESS);
}

CUresult cuMemFree(CUdeviceptr pointer) {
    const cuMemFree_v2_params params{pointer};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemFree_v2), &params};
    const bool is_ours = pointer == 0 || gpu().release(address(pointer), CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    return call.finish(is_ours ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes, unsigned int flags) {
    const cuMemAllocManaged_params params{pointer, bytes, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemAllocManaged), &params};
    current_context();
    *pointer = reinterpret_cast<CUdeviceptr>(gpu().allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED));
    return call.finish(CUDA_SUCCESS);
}

// The simulated GPU's memory needs no order: it is there at once.
CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream stream) {
    const cuMemAllocAsync_params params{pointer, bytes, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemAllocAsync), &params};
    current_context();
    *pointer = reinterpret_cast<CUdeviceptr>(gpu().allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE));
    return call.finish(CUDA_SUCCESS);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
    const cuMemFreeAsync_params params{pointer, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemFreeAsync), &params};
    const bool is_ours = gpu().release(address(pointer), CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    return call.finish(is_ours ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

// Physical memory has no address here: a handle, which is never mapped.
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
    static std::atomic<CUmemGenericAllocationHandle> latest{0};
    const cuMemCreate_params params{handle, size, prop, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemCreate), &params};
    *handle = ++latest;
    return call.finish(CUDA_SUCCESS);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    const cuMemRelease_params params{handle};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemRelease), &params};
    return call.finish(handle != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
    const cuMemHostAlloc_params params{pointer, bytes, flags};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemHostAlloc), &params};
    *pointer = gpu().allocate(bytes, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void* pointer) {
    const cuMemFreeHost_params params{pointer};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemFreeHost), &params};
    return call.finish(gpu().release(pointer, CUPTI_ACTIVITY_MEMORY_KIND_PINNED) ? CUDA_SUCCESS
                                                                                 : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemcpy(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
    const cuMemcpy_params params{destination, source, bytes};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpy), &params};
    return call.finish(
        launch_copy({address(destination), address(source), bytes, copy_kind(destination, source), false}, nullptr));
}

CUresult cuMemcpyAsync(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes, CUstream stream) {
    const cuMemcpyAsync_params params{destination, source, bytes, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpyAsync), &params};
    return call.finish(
        launch_copy({address(destination), address(source), bytes, copy_kind(destination, source), true}, stream));
}

CUresult cuMemcpyHtoD(CUdeviceptr destination, const void* source, std::size_t bytes) {
    const cuMemcpyHtoD_v2_params params{destination, source, bytes};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpyHtoD_v2), &params};
    return call.finish(
        launch_copy({address(destination), source, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, false}, nullptr));
}

CUresult cuMemcpyDtoH(void* destination, CUdeviceptr source, std::size_t bytes) {
    const cuMemcpyDtoH_v2_params params{destination, source, bytes};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpyDtoH_v2), &params};
    return call.finish(
        launch_copy({destination, address(source), bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, false}, nullptr));
}

CUresult cuMemcpyDtoD(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes) {
    const cuMemcpyDtoD_v2_params params{destination, source, bytes};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpyDtoD_v2), &params};
    return call.finish(
        launch_copy({address(destination), address(source), bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, false}, nullptr));
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr destination, const void* source, std::size_t bytes, CUstream stream) {
    const cuMemcpyHtoDAsync_v2_params params{destination, source, bytes, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpyHtoDAsync_v2), &params};
    return call.finish(
        launch_copy({address(destination), source, bytes, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, true}, stream));
}

CUresult cuMemcpyDtoHAsync(void* destination, CUdeviceptr source, std::size_t bytes, CUstream stream) {
    const cuMemcpyDtoHAsync_v2_params params{destination, source, bytes, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpyDtoHAsync_v2), &params};
    return call.finish(
        launch_copy({destination, address(source), bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, true}, stream));
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes, CUstream stream) {
    const cuMemcpyDtoDAsync_v2_params params{destination, source, bytes, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpyDtoDAsync_v2), &params};
    return call.finish(
        launch_copy({address(destination), address(source), bytes, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, true}, stream));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                           CUcontext source_context, std::size_t bytes, CUstream stream) {
    const cuMemcpyPeerAsync_params params{destination, destination_context, source, source_context, bytes, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemcpyPeerAsync), &params};
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (resolved == nullptr) {
        return call.finish(CUDA_ERROR_INVALID_HANDLE);
    }
    std::memmove(address(destination), address(source), bytes);
    fake_gpu_operation operation{};
    operation.kind = FAKE_GPU_MEMCPY_PEER;
    operation.correlation_id = call.correlation_id();
    operation.bytes = bytes;
    operation.copy_kind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
    operation.source_kind = operation.destination_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    operation.is_async = 1;
    operation.source_device = source_context->device;
    operation.destination_device = destination_context->device;
    gpu().launch(resolved, operation, transfer_setup_ns + bytes / host_bytes_per_us * 1'000);
    return call.finish(CUDA_SUCCESS);
}

CUresult cuMemsetD8(CUdeviceptr destination, unsigned char value, std::size_t count) {
    const cuMemsetD8_v2_params params{destination, value, count};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemsetD8_v2), &params};
    return call.finish(launch_set(destination, value, count, false, nullptr));
}

CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char value, std::size_t count, CUstream stream) {
    const cuMemsetD8Async_params params{destination, value, count, stream};
    api_call call{FAKE_DRIVER_FUNCTION(cuMemsetD8Async), &params};
    return call.finish(launch_set(destination, value, count, true, stream));
}

}  // extern "C"
