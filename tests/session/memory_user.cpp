// SPDX-License-Identifier: Apache-2.0
// A library that has memory of CUDA, as NCCL and cuBLAS do.
#include <cuda.h>

#include <cstddef>

#include "fakes/cuda/fake_cuda.h"

namespace {

CUmemGenericAllocationHandle handle = 0;

}  // namespace

extern "C" {

// Each of another size, so that they cannot be taken for one another. Not inlined, and no tail calls: it is on the
// stack.
[[gnu::visibility("default"), gnu::noinline]] int memory_user_begin(void** kept, cudaStream_t stream) {
    constexpr std::size_t mib = std::size_t{1} << 20;
    int failures = cudaMalloc(&kept[0], 4 * mib) == cudaSuccess ? 0 : 1;
    failures += cudaMallocAsync(&kept[1], 2 * mib, stream) == cudaSuccess ? 0 : 1;
    failures += cudaMallocHost(&kept[2], 16 * mib) == cudaSuccess ? 0 : 1;
    failures += cudaMallocManaged(&kept[3], mib, cudaMemAttachGlobal) == cudaSuccess ? 0 : 1;
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    failures += cuMemCreate(&handle, 6 * mib, &prop, 0) == CUDA_SUCCESS ? 0 : 1;
    return failures;
}

[[gnu::visibility("default"), gnu::noinline]] int memory_user_end(void** kept, cudaStream_t stream) {
    int failures = cudaFreeAsync(kept[1], stream) == cudaSuccess ? 0 : 1;
    failures += cudaFreeHost(kept[2]) == cudaSuccess ? 0 : 1;
    failures += cuMemRelease(handle) == CUDA_SUCCESS ? 0 : 1;
    return failures;
}
}
