// SPDX-License-Identifier: Apache-2.0
// What a program is written with. The names are those of kernels in recordings of PyTorch 2.11 and JAX 0.11.2.
#include "analysis/projection/used_frameworks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "support/capture_builder.hpp"

namespace prof::used_frameworks_test {
namespace {

const std::string demangled =
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int)";
const std::string mangled =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_";
const std::string in_arguments = "_ZN3cub11EmptyKernelIZN2at6native4sortEvE1SEEvv";

TEST(UsedFrameworks, KernelsHaveMakers) {
    for (const std::string& name : {demangled, mangled, in_arguments, std::string("triton_poi_fused_add_0"),
                                    std::string("(anonymous)::f<at::native::Op>")}) {
        EXPECT_EQ(maker_of_kernel(name), kernel_maker::torch) << name;
    }
    for (const char* name :
         {"loop_add_fusion", "input_reduce_fusion_1", "loop_select_fusion_2", "loop_dynamic_update_slice_fusion"}) {
        EXPECT_EQ(maker_of_kernel(name), kernel_maker::xla) << name;
    }
    for (const char* name : {"_ZN5Eigen8internal15EigenMetaKernelIfEEvv", "void tensorflow::functor::Fill<int>(int)",
                             "void Eigen::internal::EigenMetaKernel<int>(int)"}) {
        EXPECT_EQ(maker_of_kernel(name), kernel_maker::tensorflow) << name;
    }
    for (const char* name :
         {"", "at::", "flat::native::add", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "loop_fusions", "loop_add",
          "loop_add_fusion_kernel(int)", "my_loop_add_fusion", "_ZN2at4cudaE", "triton_add", "loop_", "7",
          "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "_Z10loop_fusionPf"}) {
        EXPECT_EQ(maker_of_kernel(name), kernel_maker::unknown) << name;
    }
}

// "torch", "jax", "both" or "none" of a program with these kernels and nothing else.
std::string with_kernels(std::initializer_list<std::string> names, bool is_jax = false,
                         const std::string& domain = "mine", const std::string& thread = "trainer") {
    capture_builder capture;
    thread_script& main = capture.thread(thread);
    std::uint64_t at = 10;
    main.push(1, "step", capture.domain(domain));
    for (const std::string& name : names) {
        main.launch(at, at);
        capture.kernel(at, at + 1, at + 2, {}, name);
        at += 10;
    }
    const frameworks found = frameworks_of(capture.build(), is_jax);
    if (found.has_torch && found.has_jax) return "both";
    return found.has_torch ? "torch" : found.has_jax ? "jax" : "none";
}

TEST(UsedFrameworks, KernelsShowWhatOtherEvidenceLacks) {
    EXPECT_EQ(with_kernels({"gemm", "loop"}), "none");
    EXPECT_EQ(with_kernels({"gemm", mangled, mangled}), "torch");
    EXPECT_EQ(with_kernels({"gemm", "loop_add_fusion"}), "jax");
    // XLA is used by others, too.
    EXPECT_EQ(with_kernels({"loop_add_fusion", mangled}), "torch");
    EXPECT_EQ(with_kernels({"loop_add_fusion", "_ZN10tensorflow7functor1fEv"}), "none");
    EXPECT_EQ(with_kernels({"loop_add_fusion"}, false, "mine", "pt_autograd_0"), "torch");
}

TEST(UsedFrameworks, DomainsAndThreadsShowIt) {
    EXPECT_EQ(with_kernels({}, true), "jax");
    EXPECT_EQ(with_kernels({}, false, "TSL"), "jax");
    EXPECT_EQ(with_kernels({}, false, "prof.phases"), "torch");
    EXPECT_EQ(with_kernels({}, true, "prof.phases"), "jax");
    EXPECT_EQ(with_kernels({}, false, "mine", "pt_autograd_0"), "torch");
    EXPECT_EQ(with_kernels({mangled}, true), "both");
}

}  // namespace
}  // namespace prof::used_frameworks_test
