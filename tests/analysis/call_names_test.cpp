// SPDX-License-Identifier: Apache-2.0
// How a recorded call is called: by the runtime's name where the runtime was called, by the driver's where the program
// calls the driver.
#include "analysis/projection/call_names.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/api_names.hpp"
#include "support/capture_builder.hpp"

namespace prof::call_names_test {
namespace {

const std::string of_torch = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_";
const std::string of_cpp = "_Z5scalePfi";
const std::string of_triton = "triton_poi_fused_add_0";
const std::string of_xla = "loop_add_fusion";

struct program {
    std::string kernel;     // that its process has launched beside the named calls
    std::string runtime{};  // property cuda_runtime; "": not recorded
    std::string whose = "driver";
};

cuda_function function(std::string_view name) {
    for (const api_domain domain : {api_domain::driver, api_domain::runtime}) {
        for (std::uint32_t cbid = 1; cbid < 1024; ++cbid) {
            if (api_name(domain, cbid) == name) return {domain, cbid};
        }
    }
    return {};
}

// What a call of this name, of this kernel or of none, is called in the program.
std::string shown(const program& in, std::string_view call, const std::string& kernel = {}) {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    main.call(10, 12, 1, function("cuLaunchKernel"), in.kernel);
    capture.kernel(1, 13, 14, {}, in.kernel);
    main.call(20, 22, 2, function(call), kernel);
    timeline data = capture.build();
    data.properties["api_calls"] = in.whose;
    if (!in.runtime.empty()) data.properties["cuda_runtime"] = in.runtime;
    return call_names(data)(data.api_calls.at(1));
}

TEST(CallNames, PyTorchCallsTheRuntime) {
    const std::vector<std::pair<std::string_view, std::string_view>> expected = {
        {"cuMemcpyDtoHAsync", "cudaMemcpyAsync"},
        {"cuCtxSynchronize", "cudaDeviceSynchronize"},
        {"cuMemFree", "cudaFree"},
        {"cuMemAlloc", "cudaMalloc"},
        {"cuGraphLaunch", "cudaGraphLaunch"},
        {"cuStreamSynchronize", "cudaStreamSynchronize"}};
    for (const std::string runtime : {"", "none", "/usr/lib/libcudart.so.12"}) {
        for (const auto& [driver, name] : expected) {
            EXPECT_EQ(shown({of_torch, runtime}, driver), name) << runtime;
        }
    }
    EXPECT_EQ(shown({of_torch}, "cuLaunchKernel", of_cpp), "cudaLaunchKernel");
}

TEST(CallNames, WhatTheRuntimeNeverCallsIsTheDrivers) {
    for (const char* own : {"cuMemMap", "cuMemsetD32Async"}) EXPECT_EQ(shown({of_torch}, own), own);
}

TEST(CallNames, PyTorchLaunchesTritonsKernelsThroughTheDriver) {
    EXPECT_EQ(shown({of_torch}, "cuLaunchKernel", of_triton), "cuLaunchKernel");
    EXPECT_EQ(shown({of_torch}, "cuLaunchKernelEx", "my_kernel"), "cuLaunchKernelEx");
}

TEST(CallNames, LibrariesLaunchKernelsOfCNamesThroughTheRuntime) {
    for (const char* kernel :
         {"ampere_sgemm_64x64_nn", "sm80_xmma_gemm_f32f32", "ncclKernel_AllReduce_RING_LL_Sum_f"}) {
        EXPECT_EQ(shown({of_torch}, "cuLaunchKernel", kernel), "cudaLaunchKernel");
        EXPECT_EQ(shown({of_torch}, "cuLaunchKernelEx", kernel), "cuLaunchKernelEx");
    }
    for (const char* kernel : {"sm", "sm8", "small_kernel", "smooth_12"}) {
        EXPECT_EQ(shown({of_torch}, "cuLaunchKernel", kernel), "cuLaunchKernel");
    }
}

TEST(CallNames, XlaCallsTheDriver) {
    for (const std::string runtime : {"", "none", "/usr/lib/libcudart.so.12"}) {  // which cuDNN's wheel brings along
        for (const char* own : {"cuMemcpyDtoHAsync", "cuStreamSynchronize", "cuMemAlloc"}) {
            EXPECT_EQ(shown({of_xla, runtime}, own), own) << runtime;
        }
        EXPECT_EQ(shown({of_xla, runtime}, "cuLaunchKernelEx", of_xla), "cuLaunchKernelEx");
    }
}

TEST(CallNames, AnotherProgramCallsTheRuntimeThatItHasLoaded) {
    for (const std::string runtime : {"program", "/usr/local/cuda/lib64/libcudart.so.13"}) {
        EXPECT_EQ(shown({"scale", runtime}, "cuMemFree"), "cudaFree");
        EXPECT_EQ(shown({"scale", runtime}, "cuLaunchKernel", "scale"), "cudaLaunchKernel");
    }
    EXPECT_EQ(shown({"scale", "none"}, "cuMemFree"), "cuMemFree");
    EXPECT_EQ(shown({of_cpp, "none"}, "cuLaunchKernel", of_cpp), "cuLaunchKernel");
}

TEST(CallNames, OfAnOlderCaptureTheKernelsTell) {
    EXPECT_EQ(shown({of_cpp}, "cuMemFree"), "cudaFree");
    EXPECT_EQ(shown({"scale"}, "cuMemFree"), "cuMemFree");
}

TEST(CallNames, RecordedRuntimeCallsLeaveTheDriversAlone) {
    EXPECT_EQ(shown({of_torch, "program", "runtime"}, "cuMemFree"), "cuMemFree");
    EXPECT_EQ(shown({of_torch, "program", "runtime"}, "cudaFree"), "cudaFree");
}

}  // namespace
}  // namespace prof::call_names_test
