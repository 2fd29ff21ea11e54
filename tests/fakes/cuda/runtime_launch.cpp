// SPDX-License-Identifier: Apache-2.0
// cuda*: kernel launches.
#include "fakes/cuda/fake_cuda.h"
#include "fakes/cuda/runtime.hpp"

using fake::runtime_call;
using fake::simulated_gpu;

namespace {

CUresult launch(CUfunction function, dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                void** args) {
    return cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                          static_cast<unsigned int>(shared_bytes), stream, args, nullptr);
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** args, std::size_t shared_bytes,
                             cudaStream_t stream) {
    const cudaLaunchKernel_v7000_params params{function, grid, block, args, shared_bytes, stream};
    const CUfunction kernel = simulated_gpu::instance().function_at(function);
    return runtime_call(
        FAKE_RUNTIME_FUNCTION(cudaLaunchKernel, v7000), &params,
        [&] { return launch(kernel, grid, block, shared_bytes, stream, args); }, kernel->name.c_str());
}

// What <<<>>> has become in CUDA 13; tools see it as cudaLaunchKernel. A kernel handle is a function's address here.
cudaError_t __cudaLaunchKernel(cudaKernel_t function, dim3 grid, dim3 block, void** args, std::size_t shared_bytes,
                               cudaStream_t stream) {
    return cudaLaunchKernel(function, grid, block, args, shared_bytes, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** args) {
    const cudaLaunchKernelExC_v11060_params params{config, function, args};
    const CUfunction kernel = simulated_gpu::instance().function_at(function);
    return runtime_call(
        FAKE_RUNTIME_FUNCTION(cudaLaunchKernelExC, v11060), &params,
        [&] {
            CUlaunchConfig driver_config{};
            driver_config.gridDimX = config->gridDim.x;
            driver_config.gridDimY = config->gridDim.y;
            driver_config.gridDimZ = config->gridDim.z;
            driver_config.blockDimX = config->blockDim.x;
            driver_config.blockDimY = config->blockDim.y;
            driver_config.blockDimZ = config->blockDim.z;
            driver_config.sharedMemBytes = static_cast<unsigned int>(config->dynamicSmemBytes);
            driver_config.hStream = config->stream;
            return cuLaunchKernelEx(&driver_config, kernel, args, nullptr);
        },
        kernel->name.c_str());
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** args,
                                        std::size_t shared_bytes, cudaStream_t stream) {
    const cudaLaunchCooperativeKernel_v9000_params params{function, grid, block, args, shared_bytes, stream};
    const CUfunction kernel = simulated_gpu::instance().function_at(function);
    return runtime_call(
        FAKE_RUNTIME_FUNCTION(cudaLaunchCooperativeKernel, v9000), &params,
        [&] {
            return cuLaunchCooperativeKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                             static_cast<unsigned int>(shared_bytes), stream, args);
        },
        kernel->name.c_str());
}

int fake_cuda_launch(const char* kernel, uint64_t duration_ns, void* stream) {
    simulated_gpu& gpu = simulated_gpu::instance();
    const CUfunction function = gpu.function(kernel);
    // The function's own record is a stable address to register it under.
    gpu.register_kernel(function, kernel, duration_ns);
    return cudaLaunchKernel(function, dim3(1), dim3(32), nullptr, 0, static_cast<cudaStream_t>(stream));
}

}  // extern "C"
