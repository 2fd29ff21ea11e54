// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <cuda.h>

#include "spin.cuh"

#define TRUTH_KERNEL(name)                                                                              \
    extern "C" __global__ void name(unsigned long long ns, truth::stamp* stamps, std::uint32_t* turn) { \
        truth::spin_and_stamp(ns, stamps, turn, [] {});                                                 \
    }

TRUTH_KERNEL(truth_forward)
TRUTH_KERNEL(truth_layer)
TRUTH_KERNEL(truth_backward)
TRUTH_KERNEL(truth_optimizer)
TRUTH_KERNEL(truth_tiny)
TRUTH_KERNEL(truth_side)
TRUTH_KERNEL(truth_gate)

extern "C" __global__ void truth_decide(unsigned long long ns, truth::stamp* stamps, std::uint32_t* turn,
                                        cudaGraphConditionalHandle handle, unsigned int* value) {
    truth::spin_and_stamp(ns, stamps, turn, [&] { cudaGraphSetConditional(handle, *value); });
}

extern "C" __global__ void truth_again(unsigned long long ns, truth::stamp* stamps, std::uint32_t* turn,
                                       cudaGraphConditionalHandle handle, unsigned int* value) {
    truth::spin_and_stamp(ns, stamps, turn, [&] {
        *value -= 1;
        cudaGraphSetConditional(handle, *value);
    });
}

namespace truth {
namespace {

using function = void (*)(unsigned long long, stamp*, std::uint32_t*);

struct known_kernel {
    const char* name;
    function code;
};

const known_kernel& known(kernel which) {
    static const known_kernel kernels[kernel_count] = {
        {"truth_forward", truth_forward},   {"truth_layer", truth_layer},
        {"truth_backward", truth_backward}, {"truth_optimizer", truth_optimizer},
        {"truth_tiny", truth_tiny},         {"truth_side", truth_side},
        {"truth_gate", truth_gate}};
    return kernels[static_cast<int>(which)];
}

}  // namespace

const char* name_of(kernel which) {
    if (which == kernel::decide) return "truth_decide";
    return which == kernel::again ? "truth_again" : known(which).name;
}

cudaError_t launch(const spin& what, const stamp_memory& memory, cudaStream_t stream) {
    known(what.which).code<<<1, 1, 0, stream>>>(what.ns, memory.stamps + what.first, memory.turns + what.id);
    return cudaGetLastError();
}

cudaError_t launch(cudaGraphExec_t graph, const std::vector<spin>&, cudaStream_t stream) {
    return cudaGraphLaunch(graph, stream);
}

cudaError_t launch_cooperatively(const spin& what, const stamp_memory& memory, cudaStream_t stream) {
    unsigned long long ns = what.ns;
    stamp* stamps = memory.stamps + what.first;
    std::uint32_t* turn = memory.turns + what.id;
    void* arguments[] = {&ns, &stamps, &turn};
    return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(known(what.which).code), dim3(1), dim3(1),
                                       arguments, 0, stream);
}

cudaError_t launch_dependently(const spin& what, const stamp_memory& memory, cudaStream_t stream) {
    cudaLaunchAttribute early{};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(1);
    config.blockDim = dim3(1);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, known(what.which).code, static_cast<unsigned long long>(what.ns),
                              memory.stamps + what.first, memory.turns + what.id);
}

cudaError_t upload(cudaGraphExec_t graph, cudaStream_t stream) { return cudaGraphUpload(graph, stream); }

cudaError_t make_condition(condition& made, cudaGraph_t graph) {
    void* pinned = nullptr;
    // A thread that captures may not allocate in the default capture mode.
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t result = cudaThreadExchangeStreamCaptureMode(&mode);
    if (result == cudaSuccess) result = cudaMallocHost(&pinned, sizeof(unsigned int));
    if (result == cudaSuccess) result = cudaThreadExchangeStreamCaptureMode(&mode);
    if (result != cudaSuccess) return result;
    made.value = static_cast<unsigned int*>(pinned);
    *made.value = 1;
    return cudaGraphConditionalHandleCreate(&made.handle, graph, 1, cudaGraphCondAssignDefault);
}

void set_condition(const condition& which, unsigned int value) { *which.value = value; }

cudaError_t launch_decision(const spin& what, const condition& about, const stamp_memory& memory, cudaStream_t stream) {
    stamp* const stamps = memory.stamps + what.first;
    std::uint32_t* const turn = memory.turns + what.id;
    if (what.which == kernel::decide) {
        truth_decide<<<1, 1, 0, stream>>>(what.ns, stamps, turn, about.handle, about.value);
    } else {
        truth_again<<<1, 1, 0, stream>>>(what.ns, stamps, turn, about.handle, about.value);
    }
    return cudaGetLastError();
}

cudaError_t read_back(std::vector<stamp>& stamps, const stamp_memory& memory, std::uint32_t count) {
    // Through pinned memory: a copy to pageable memory may be cut into several.
    void* pinned = nullptr;
    cudaError_t result = cudaMallocHost(&pinned, count * sizeof(stamp));
    if (result != cudaSuccess) return result;
    result = cudaMemcpy(pinned, memory.stamps, count * sizeof(stamp), cudaMemcpyDeviceToHost);
    const auto* read = static_cast<const stamp*>(pinned);
    if (result == cudaSuccess) stamps.assign(read, read + count);
    (void)cudaFreeHost(pinned);
    return result;
}

namespace {

// The driver's errors have the runtime's numbers.
cudaError_t as_runtime_error(CUresult result) { return static_cast<cudaError_t>(result); }

}  // namespace

cudaError_t make_context(side_context& made) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUresult result = cuDeviceGet(&device, 0);
    if (result == CUDA_SUCCESS) result = cuCtxCreate(&context, nullptr, 0, device);
    made.handle = context;
    return as_runtime_error(result);
}

cudaError_t enter(const side_context& which) {
    return as_runtime_error(cuCtxSetCurrent(static_cast<CUcontext>(which.handle)));
}

cudaError_t make_green_streams(cudaStream_t (&made)[2]) {
    constexpr unsigned int multiprocessors = 16;
    CUdevice device = 0;
    CUdevResource all{};
    CUdevResource parts[2]{};
    unsigned int count = 2;
    CUresult result = cuDeviceGet(&device, 0);
    if (result == CUDA_SUCCESS) result = cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM);
    if (result == CUDA_SUCCESS) {
        result = cuDevSmResourceSplitByCount(parts, &count, &all, nullptr, 0, multiprocessors);
    }
    if (result == CUDA_SUCCESS && count != 2) result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    for (int i = 0; i < 2 && result == CUDA_SUCCESS; ++i) {
        CUdevResourceDesc what = nullptr;
        CUgreenCtx green = nullptr;
        result = cuDevResourceGenerateDesc(&what, &parts[i], 1);
        if (result == CUDA_SUCCESS) result = cuGreenCtxCreate(&green, what, device, CU_GREEN_CTX_DEFAULT_STREAM);
        if (result == CUDA_SUCCESS) result = cuGreenCtxStreamCreate(&made[i], green, CU_STREAM_NON_BLOCKING, 0);
    }
    return as_runtime_error(result);
}

bool clocks_agree() { return true; }

bool waits_take_time() { return true; }

bool enable_peer_access() {
    for (int device = 0; device < 2; ++device) {
        int can = 0;
        if (cudaSetDevice(device) != cudaSuccess || cudaDeviceCanAccessPeer(&can, device, 1 - device) != cudaSuccess ||
            can == 0 || cudaDeviceEnablePeerAccess(1 - device, 0) != cudaSuccess) {
            return false;
        }
    }
    return true;
}

}  // namespace truth
