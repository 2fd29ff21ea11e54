/* SPDX-License-Identifier: Apache-2.0 */
// A CUDA runtime whose GPU is address space of this process: enough for PyTorch's caching allocator, on a machine
// without a GPU. measure.py adds the functions that the allocator imports and that are not here; they return 0.
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_of_header
#include <cuda_runtime_api.h>
#undef cudaStreamGetCaptureInfo
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#undef cudaGetDeviceProperties

enum { most_blocks = 65536 };
static const size_t total = (size_t)4 << 30;
static size_t used;
static struct {
    void* address;
    size_t bytes;
} blocks[most_blocks];
static int block_count;

cudaError_t cudaMalloc(void** address, size_t bytes) {
    if (used + bytes > total || block_count == most_blocks) return cudaErrorMemoryAllocation;
    *address = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    used += bytes;
    blocks[block_count].address = *address;
    blocks[block_count++].bytes = bytes;
    return cudaSuccess;
}

cudaError_t cudaFree(void* address) {
    for (int i = 0; address != NULL && i < block_count; ++i) {
        if (blocks[i].address != address) continue;
        munmap(address, blocks[i].bytes);
        used -= blocks[i].bytes;
        blocks[i] = blocks[--block_count];
        break;
    }
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    *free_bytes = total - used;
    *total_bytes = total;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* properties, int device) {
    (void)device;
    memset(properties, 0, sizeof *properties);
    properties->totalGlobalMem = total;
    properties->major = 9;
    properties->multiProcessorCount = 132;
    return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "out of memory"; }
const char* cudaGetErrorName(cudaError_t error) {
    return error == cudaSuccess ? "cudaSuccess" : "cudaErrorMemoryAllocation";
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus* status) {
    (void)stream;
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* status) {
    (void)stream;
    *status = cudaStreamCaptureStatusNone;  // the others are read only of a capture
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
