// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <string>

#include "analysis/mfu/matrix_kernels.hpp"
#include "analysis/mfu/mfu.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::mfu_test {
namespace {

// Operations a clock of one multiprocessor, from the architectures' whitepapers: FP32 lanes × 2, and of the matrix
// units in FP16 with sums in FP32.
struct architecture {
    double fp32, fp16;
};
const std::map<std::string, architecture, std::less<>> architectures = {
    {"GH200", {256, 4096}},     {"GB200", {256, 8192}},    {"B200", {256, 8192}},      {"H200 NVL", {256, 4096}},
    {"H200", {256, 4096}},      {"H100 NVL", {256, 4096}}, {"H100 PCIe", {256, 4096}}, {"H100 80GB HBM3", {256, 4096}},
    {"A100", {128, 2048}},      {"A30", {128, 2048}},      {"A40", {256, 1024}},       {"A10", {256, 1024}},
    {"L40S", {256, 1024}},      {"L40", {256, 512}},       {"L4", {256, 1024}},        {"V100-SXM2", {128, 1024}},
    {"V100-PCIE", {128, 1024}}, {"T4", {128, 1024}},       {"RTX 3090", {256, 512}},   {"RTX 4090", {256, 512}},
    {"RTX 5090", {256, 512}}};

TEST(GpuPeaks, AreMultiprocessorsTimesOperationsTimesClock) {
    for (const gpu_peak& of : gpu_peaks()) {
        const auto found = architectures.find(of.name);
        ASSERT_NE(found, architectures.end()) << of.name;
        EXPECT_NEAR(of.fp32, of.multiprocessors * found->second.fp32 * of.fp32_mhz * 1e-6, 0.015 * of.fp32) << of.name;
        EXPECT_NEAR(of.fp16, of.multiprocessors * found->second.fp16 * of.matrix_mhz * 1e-6, 0.015 * of.fp16)
            << of.name;
        EXPECT_NEAR(of.tf32, of.tf32 == 0 ? 0 : of.fp16 / 2, 0.015 * of.fp16) << of.name;
    }
}

TEST(GpuPeaks, AreFoundByWholeWords) {
    const auto peak = [](const char* name) { return find_gpu_peak(name) == nullptr ? 0 : find_gpu_peak(name)->fp16; };
    EXPECT_EQ(peak("NVIDIA H100 80GB HBM3"), 989.4);
    EXPECT_EQ(peak("NVIDIA H100 PCIe"), 756);
    EXPECT_EQ(peak("NVIDIA H200"), 989.4);
    EXPECT_EQ(peak("NVIDIA A100-SXM4-80GB"), 312);
    EXPECT_EQ(peak("NVIDIA A100 80GB PCIe"), 312);
    EXPECT_EQ(peak("NVIDIA L4"), 121);
    EXPECT_EQ(peak("NVIDIA L40S"), 362.05);
    EXPECT_EQ(peak("Tesla V100-SXM2-32GB"), 125);
    EXPECT_EQ(peak("NVIDIA GeForce RTX 4090"), 165.2);
    for (const char* const unknown :
         {"NVIDIA A100-SXM4-40GB MIG 1g.5gb", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 D",
          "NVIDIA H800", "NVIDIA H100", "Tesla V100-SXM3-32GB", "NVIDIA A1000", ""}) {
        EXPECT_EQ(find_gpu_peak(unknown), nullptr) << unknown;
    }
}

TEST(MatrixKernels, HaveTheTypeOfTheirName) {
    const auto type = [](const char* name) {
        const auto found = matrix_kernel_of(name);
        return std::string(found ? to_string(found->type) : "none");
    };
    EXPECT_EQ(type("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_warpsize4x2x1_ffma_aligna4"),
              "FP32");
    EXPECT_EQ(type("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16"), "TF32");
    EXPECT_EQ(type("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>"), "FP32");
    EXPECT_EQ(type("nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_NNT"), "FP16");
    EXPECT_EQ(type("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNT"), "BF16");
    EXPECT_EQ(type("nvjet_sm90_qqtst_128x256_128x4"), "FP8");
    EXPECT_EQ(type("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn"), "BF16");
    EXPECT_EQ(type("turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn"), "FP16");
    EXPECT_EQ(type("cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4"), "TF32");
    EXPECT_EQ(type("fmha_cutlassB_f32_aligned_128x64_k128_sm80"), "TF32");
    EXPECT_EQ(type("fmha_cutlassF_f32_aligned_64x128_rf_sm75"), "FP32");
    EXPECT_EQ(type("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, cutlass::bfloat16_t>>"), "BF16");
    EXPECT_EQ(type("sm80_xmma_gemm_i8i8_i8i32_f32_tn_n"), "INT8");
    EXPECT_EQ(type("some_gemm"), "unknown");
    EXPECT_EQ(type("void at::native::vectorized_elementwise_kernel<4, float>"), "none");
    EXPECT_EQ(type("void cublasLt::splitKreduce_kernel<32, 16, int, float>"), "none");
    EXPECT_EQ(type("nvjet_"), "unknown");
    EXPECT_TRUE(matrix_kernel_of("ampere_fp16_s16816gemm_fp16_128x64_sliced1x2")->accumulates_in_fp32);
    EXPECT_FALSE(matrix_kernel_of("ampere_h16816gemm_128x64_sliced1x2")->accumulates_in_fp32);
    EXPECT_TRUE(matrix_kernel_of("sm80_xmma_sparse_gemm_f16f16_f16f32_f32_tn")->is_sparse);
}

// A GPU of this name ran one kernel of 100 ns; steps take 1 ms.
struct mfu_capture {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    std::string gpu = "NVIDIA H200";

    void run(const char* name, std::uint64_t ns = 100) {
        ++now_;
        main.launch(now_, now_, name);
        capture.kernel(now_, 10'000 + 1000 * now_, 10'000 + 1000 * now_ + ns, {}, name);
    }
    void declare(const std::string& counter, double value) { main.counter(++now_, counter, value); }
    mfu_figures measure(std::optional<double> declared = std::nullopt) {
        capture.h200();
        capture.parts().devices.back().name = capture.name(gpu);
        step_figures steps;
        steps.steps = 3;
        steps.total_ns = 3'000'000;
        return measure_mfu(capture.build(), steps, declared);
    }

private:
    std::uint64_t now_ = 0;
};

struct Mfu : testing::Test, mfu_capture {};

// 98.94 GFLOP in 1 ms are 98.94 TFLOP/s, a tenth of an H200's 989.4.
TEST_F(Mfu, IsTheDeclaredRateByThePeak) {
    run("nvjet_sm90_hsh_256x128_64x4");
    const mfu_figures of = measure(98.94e9);
    ASSERT_TRUE(of.mfu) << of.reason;
    EXPECT_NEAR(*of.mfu, 0.1, 1e-12);
    EXPECT_EQ(of.type, matrix_type::fp16);
    EXPECT_EQ(of.matrix_share, 1);
}

TEST_F(Mfu, TakesTheProgramsCounters) {
    run("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma");
    declare("flops_per_step", 6e9);
    declare("flops_per_step", 7.38e9);
    declare("samples_per_step", 32);
    declare("tokens_per_step", 4096);
    const mfu_figures of = measure();
    ASSERT_TRUE(of.mfu) << of.reason;
    EXPECT_NEAR(*of.mfu, 6.69 / 66.9, 1e-12);  // the mean in 1 ms, of 66.9 TFLOP/s
    EXPECT_NEAR(of.samples_per_s.value_or(0), 32'000, 1e-6);
    EXPECT_NEAR(of.tokens_per_s.value_or(0), 4'096'000, 1e-6);
}

TEST_F(Mfu, GivesNoNumberRatherThanAWrongOne) {
    const auto reason = [](const char* kernel, const char* of_gpu, std::optional<double> declared) {
        mfu_capture made;
        made.run(kernel);
        made.gpu = of_gpu;
        const mfu_figures of = made.measure(declared);
        EXPECT_FALSE(of.mfu) << kernel << of_gpu;
        return of.reason;
    };
    const char* const half = "nvjet_sm90_hsh_256x128_64x4";
    EXPECT_EQ(reason(half, "NVIDIA H200", std::nullopt),
              "the FLOPs of a step are not declared (--flops-per-step N, or the program's counter flops_per_step); "
              "shapes were not recorded: a trace of torch.profiler with record_shapes=True has them");
    EXPECT_EQ(reason(half, "NVIDIA X1", 1e9), "no peak is known for NVIDIA X1");
    EXPECT_EQ(reason(half, "NVIDIA H100 PCIe", 1e9),
              "NVIDIA H100 PCIe has 132 of 114 multiprocessors here (MIG, or another variant)");
    EXPECT_EQ(reason("nvjet_sm90_qqtst_1x1", "NVIDIA H200", 1e9),
              "some kernels multiply quantized matrices (FP8, INT8 or FP4), which have another peak");
    EXPECT_EQ(reason("sm80_xmma_sparse_gemm_f16f16_f16f32_f32", "NVIDIA H200", 1e9),
              "some kernels multiply sparse matrices, which have another peak");
    EXPECT_EQ(reason("some_gemm", "NVIDIA H200", 1e9),
              "the type of 100 % of the time of kernels that multiply matrices is not known");
    EXPECT_EQ(reason("relu", "NVIDIA H200", 1e9), "no kernel that multiplies matrices was recognised");
    EXPECT_EQ(reason("dgemm", "NVIDIA H200", 1e9), "no FP64 peak is known for NVIDIA H200");
    EXPECT_EQ(reason(half, "NVIDIA H200", 1e13),
              "1e+13 FLOPs a step would be 1011 % of the peak: they are not those of one step of this process");
}

TEST_F(Mfu, MixedTypesHaveNoPeak) {
    run("nvjet_sm90_hsh_256x128_64x4", 80);
    run("sm80_xmma_gemm_f32f32_tf32f32_f32_nn", 20);
    EXPECT_EQ(measure(1e9).reason, "matrices are multiplied in several types: FP16 for 80 % of the time");
}

TEST_F(Mfu, NeedsAWholeStep) {
    run("nvjet_sm90_hsh_256x128_64x4");
    EXPECT_EQ(measure_mfu(capture.build(), std::nullopt, 1e9).reason, "the capture has no whole step");
}

}  // namespace
}  // namespace prof::mfu_test
