// SPDX-License-Identifier: Apache-2.0
// cu*: modules, kernel launches.
#include <cupti.h>
#include <elf.h>

#include <cstring>

#include "fakes/gpu/api_call.hpp"
#include "fakes/gpu/driver.hpp"

using fake::api_call;
using fake::current_context;
using fake::gpu;

namespace {

struct launch_shape {
    std::uint32_t grid[3];
    std::uint32_t block[3];
    std::uint32_t dynamic_shared_bytes;
};

CUresult launch_kernel(CUfunction function, const launch_shape& shape, CUstream stream) {
    const CUstream resolved = gpu().resolve_stream(stream, current_context());
    if (function == nullptr || resolved == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    fake_gpu_operation operation{};
    operation.kind = FAKE_GPU_KERNEL;
    operation.correlation_id = api_call::current_correlation_id();
    operation.name = function->name.c_str();
    for (int axis = 0; axis < 3; ++axis) {
        operation.grid[axis] = shape.grid[axis];
        operation.block[axis] = shape.block[axis];
    }
    operation.dynamic_shared_bytes = shape.dynamic_shared_bytes;
    gpu().launch(resolved, operation, function->duration_ns);
    gpu().at(FAKE_GPU_IN_LAUNCH);
    return CUDA_SUCCESS;
}

// Of an ELF file with its section headers at the end; 0 for anything else.
std::size_t elf_bytes(const char* image) {
    if (std::strncmp(image, ELFMAG, SELFMAG) != 0) return 0;
    Elf64_Ehdr file{};
    std::memcpy(&file, image, sizeof file);
    return file.e_shoff + std::size_t{file.e_shnum} * file.e_shentsize;
}

const char* symbol_of(CUfunction function) { return function == nullptr ? nullptr : function->name.c_str(); }

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    *module = nullptr;  // one module for everything
    CUpti_ModuleResourceData data{};
    data.pCubin = static_cast<const char*>(image);
    data.cubinSize = elf_bytes(data.pCubin);
    if (fake::tool* attached = gpu().attached_tool()) {
        attached->resource_changed(CUPTI_CBID_RESOURCE_MODULE_LOADED, current_context(), nullptr, &data);
    }
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule) {
    if (fake::tool* attached = gpu().attached_tool()) {
        attached->resource_changed(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, current_context(), nullptr, nullptr);
    }
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
    *function = gpu().function(name);
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                        CUstream stream, void** kernel_params, void** extra) {
    const cuLaunchKernel_params params{function, grid_x,       grid_y, grid_z,        block_x, block_y,
                                       block_z,  shared_bytes, stream, kernel_params, extra};
    api_call call{FAKE_DRIVER_FUNCTION(cuLaunchKernel), &params, symbol_of(function)};
    return call.finish(
        launch_kernel(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** kernel_params, void** extra) {
    const cuLaunchKernelEx_params params{config, function, kernel_params, extra};
    api_call call{FAKE_DRIVER_FUNCTION(cuLaunchKernelEx), &params, symbol_of(function)};
    return call.finish(launch_kernel(function,
                                     {{config->gridDimX, config->gridDimY, config->gridDimZ},
                                      {config->blockDimX, config->blockDimY, config->blockDimZ},
                                      config->sharedMemBytes},
                                     config->hStream));
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                                   unsigned int shared_bytes, CUstream stream, void** kernel_params) {
    const cuLaunchCooperativeKernel_params params{function, grid_x,  grid_y,       grid_z, block_x,
                                                  block_y,  block_z, shared_bytes, stream, kernel_params};
    api_call call{FAKE_DRIVER_FUNCTION(cuLaunchCooperativeKernel), &params, symbol_of(function)};
    return call.finish(
        launch_kernel(function, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, stream));
}

}  // extern "C"
