// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/runtime_names.hpp"

#include <algorithm>
#include <iterator>

namespace prof {
namespace {

struct counterpart {
    std::string_view driver;
    std::string_view runtime;
};

// Sorted by driver name. tests/export/runtime_names_test.cpp compares them with the references in the runtime's
// library.
constexpr counterpart counterparts[] = {
    {"cuCtxSynchronize", "cudaDeviceSynchronize"},
    {"cuEventSynchronize", "cudaEventSynchronize"},
    {"cuGraphLaunch", "cudaGraphLaunch"},
    {"cuLaunchCooperativeKernel", "cudaLaunchCooperativeKernel"},
    {"cuLaunchKernel", "cudaLaunchKernel"},
    {"cuLaunchKernelEx", "cudaLaunchKernelExC"},
    {"cuMemAlloc", "cudaMalloc"},
    {"cuMemAllocAsync", "cudaMallocAsync"},
    {"cuMemAllocFromPoolAsync", "cudaMallocFromPoolAsync"},
    {"cuMemAllocManaged", "cudaMallocManaged"},
    {"cuMemFree", "cudaFree"},
    {"cuMemFreeAsync", "cudaFreeAsync"},
    {"cuMemFreeHost", "cudaFreeHost"},
    {"cuMemHostRegister", "cudaHostRegister"},
    {"cuMemHostUnregister", "cudaHostUnregister"},
    {"cuMemcpy", "cudaMemcpy"},
    {"cuMemcpy2DAsync", "cudaMemcpy2DAsync"},
    {"cuMemcpy2DUnaligned", "cudaMemcpy2D"},
    {"cuMemcpy3D", "cudaMemcpy3D"},
    {"cuMemcpy3DAsync", "cudaMemcpy3DAsync"},
    {"cuMemcpy3DBatchAsync", "cudaMemcpy3DBatchAsync"},
    {"cuMemcpy3DPeer", "cudaMemcpy3DPeer"},
    {"cuMemcpy3DPeerAsync", "cudaMemcpy3DPeerAsync"},
    {"cuMemcpyAsync", "cudaMemcpyAsync"},
    {"cuMemcpyBatchAsync", "cudaMemcpyBatchAsync"},
    {"cuMemcpyDtoD", "cudaMemcpy"},
    {"cuMemcpyDtoDAsync", "cudaMemcpyAsync"},
    {"cuMemcpyDtoH", "cudaMemcpy"},
    {"cuMemcpyDtoHAsync", "cudaMemcpyAsync"},
    {"cuMemcpyHtoD", "cudaMemcpy"},
    {"cuMemcpyHtoDAsync", "cudaMemcpyAsync"},
    {"cuMemcpyPeer", "cudaMemcpyPeer"},
    {"cuMemcpyPeerAsync", "cudaMemcpyPeerAsync"},
    {"cuMemsetD2D8", "cudaMemset2D"},
    {"cuMemsetD2D8Async", "cudaMemset2DAsync"},
    {"cuMemsetD8", "cudaMemset"},
    {"cuMemsetD8Async", "cudaMemsetAsync"},
    {"cuStreamBeginCapture", "cudaStreamBeginCapture"},
    {"cuStreamBeginCaptureToGraph", "cudaStreamBeginCaptureToGraph"},
    {"cuStreamSynchronize", "cudaStreamSynchronize"},
};

constexpr bool comes_before(const counterpart& a, const counterpart& b) noexcept { return a.driver < b.driver; }
static_assert(std::is_sorted(std::begin(counterparts), std::end(counterparts), comes_before));

}  // namespace

std::string_view runtime_counterpart(std::string_view driver_name) noexcept {
    const auto* const found =
        std::lower_bound(std::begin(counterparts), std::end(counterparts), counterpart{driver_name, {}}, comes_before);
    return found != std::end(counterparts) && found->driver == driver_name ? found->runtime : std::string_view{};
}

}  // namespace prof
