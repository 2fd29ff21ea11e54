// SPDX-License-Identifier: Apache-2.0
// Which calls count, for which step and in which type; and the utilisation that follows.
#include "analysis/mfu/shape_flops.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/mfu/mfu.hpp"
#include "support/capture_builder.hpp"

namespace prof::shape_flops_test {
namespace {

constexpr const char* fp32_kernel = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma";
constexpr const char* tf32_kernel = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n";
constexpr const char* fp16_kernel = "nvjet_sm90_hsh_256x128_64x4";

// Two steps of 1 ms, at 0 and at 1 ms; a kernel of 100 ns for each launch.
class ShapeFlops : public testing::Test {
protected:
    // n × n matrices: 2·n³ operations.
    void multiply(std::uint32_t thread, std::int64_t start_ns, std::int64_t end_ns, std::int64_t n,
                  const std::string& type = "float") {
        const operator_argument square{.type = type, .dims = {n, n}};
        add(thread, start_ns, end_ns, {matrix_operator::mm, {square, square}});
    }
    void multiply_unknown(std::uint32_t thread, std::int64_t start_ns, std::int64_t end_ns) {
        add(thread, start_ns, end_ns, {matrix_operator::mm, {}});
    }
    void launch(thread_script& thread, std::uint64_t ns, const char* kernel) {
        thread.launch(ns, ++launches_, kernel);
        capture_.kernel(launches_, 5'000'000 + 1000 * launches_, 5'000'100 + 1000 * launches_, {}, kernel);
    }
    shape_flops measure() {
        const std::vector<whole_step> steps = {{.start_ns = 0, .end_ns = 1'000'000},
                                               {.start_ns = 1'000'000, .end_ns = 2'000'000}};
        return measure_shape_flops(build(), steps);
    }
    timeline build() {
        timeline out = capture_.build();
        out.multiplications = calls_;
        return out;
    }
    mfu_figures utilisation(const char* gpu, std::optional<double> declared = std::nullopt) {
        capture_.h200();
        capture_.parts().devices.back().name = capture_.name(gpu);
        step_figures steps;
        steps.steps = 2;
        steps.total_ns = 2'000'000;
        const shape_flops shapes = measure();
        return measure_mfu(build(), steps, declared, shapes);
    }
    static double in(const shape_flops& of, matrix_type type) { return of.by_type[static_cast<std::size_t>(type)]; }

    capture_builder capture_;
    thread_script& main_ = capture_.thread("python");
    thread_script& other_ = capture_.thread("pt_autograd_0");

private:
    void add(std::uint32_t thread, std::int64_t start_ns, std::int64_t end_ns, operator_arguments of) {
        calls_.list.push_back(
            {start_ns, end_ns, thread_id(thread), static_cast<std::uint32_t>(calls_.arguments.size())});
        calls_.arguments.push_back(std::move(of));
    }

    matrix_calls calls_;
    std::uint64_t launches_ = 0;
};

TEST_F(ShapeFlops, CountForTheStepInWhichTheCallBegan) {
    multiply(0, 100, 200, 10);
    launch(main_, 150, fp32_kernel);
    multiply(1, 999'990, 1'000'100, 20);
    launch(other_, 1'000'050, fp32_kernel);
    multiply(0, 2'000'000, 2'000'100, 30);  // after the steps
    launch(main_, 2'000'050, fp32_kernel);
    const shape_flops of = measure();
    EXPECT_EQ(of.calls, 2U);
    EXPECT_EQ(of.flops, 2'000 + 16'000);
    EXPECT_EQ(of.matrix_ns, 200);
    EXPECT_EQ(of.covered_ns, 200);
    EXPECT_TRUE(of.differs);
    EXPECT_FALSE(of.is_lower_bound());
}

TEST_F(ShapeFlops, OfCallsInsideOneAnotherTheOutermostKnownCounts) {
    multiply(0, 100, 500, 10);
    multiply(0, 150, 300, 10);
    multiply(0, 300, 400, 10);
    launch(main_, 200, fp32_kernel);
    multiply_unknown(0, 600, 900);
    multiply(0, 650, 700, 20);
    launch(main_, 660, fp32_kernel);
    multiply(0, 700, 800, 20);
    launch(main_, 760, fp32_kernel);
    const shape_flops of = measure();
    EXPECT_EQ(of.calls, 3U);
    EXPECT_EQ(of.flops, 2'000 + 2 * 16'000);
    EXPECT_EQ(of.unknown, 0U);
    EXPECT_FALSE(of.is_lower_bound());
}

TEST_F(ShapeFlops, CallsWithoutWorkOnAGpuDoNotCount) {
    multiply(0, 100, 200, 10);  // on the CPU, into a graph, or not at all
    multiply(0, 300, 400, 20);
    launch(main_, 350, fp32_kernel);
    multiply_unknown(0, 500, 600);
    EXPECT_EQ(measure().flops, 16'000);
    EXPECT_EQ(measure().unknown, 0U);
}

TEST_F(ShapeFlops, OtherWorkMakesALowerBound) {
    multiply(0, 100, 200, 10);
    launch(main_, 150, fp32_kernel);
    launch(main_, 300, fp32_kernel);  // in no operator
    multiply_unknown(0, 400, 500);
    launch(main_, 450, fp32_kernel);
    const shape_flops of = measure();
    EXPECT_EQ(of.covered_ns, 100);
    EXPECT_EQ(of.matrix_ns, 300);
    EXPECT_EQ(of.unknown, 1U);
    EXPECT_TRUE(of.is_lower_bound());
}

TEST_F(ShapeFlops, KernelsTellWhatFp32RanAs) {
    multiply(0, 100, 200, 10);
    launch(main_, 150, tf32_kernel);
    multiply(0, 300, 400, 20);
    launch(main_, 350, fp32_kernel);
    multiply(0, 500, 600, 30);
    launch(main_, 550, "some_gemm");
    multiply(0, 700, 800, 40, "c10::BFloat16");
    launch(main_, 750, "some_gemm");
    const shape_flops of = measure();
    EXPECT_EQ(in(of, matrix_type::tf32), 2'000);
    EXPECT_EQ(in(of, matrix_type::fp32), 16'000);
    EXPECT_EQ(in(of, matrix_type::unknown), 54'000);
    EXPECT_EQ(in(of, matrix_type::bf16), 128'000);
}

// An H200: 989.4 TFLOP/s in FP16, 66.9 in FP32. 2·100³ = 2 MFLOP in FP16 and as many in FP32, in each of two steps
// of 1 ms.
TEST_F(ShapeFlops, EachTypeCountsByItsPeak) {
    for (const std::int64_t step_ns : {0, 1'000'000}) {
        multiply(0, step_ns + 100, step_ns + 200, 100);
        launch(main_, static_cast<std::uint64_t>(step_ns + 150), fp32_kernel);
        multiply(0, step_ns + 300, step_ns + 400, 100, "c10::Half");
        launch(main_, static_cast<std::uint64_t>(step_ns + 350), fp16_kernel);
    }
    const mfu_figures of = utilisation("NVIDIA H200");
    ASSERT_TRUE(of.mfu) << of.reason;
    EXPECT_NEAR(*of.mfu, (2e6 / 989.4e12 + 2e6 / 66.9e12) / 1e-3, 1e-15);
    EXPECT_EQ(of.flops_per_step, 4e6);
    EXPECT_NEAR(of.flops_per_s.value_or(0), 4e9, 1e-3);
    EXPECT_FALSE(of.is_declared);
    EXPECT_FALSE(of.shapes.differs);
}

TEST_F(ShapeFlops, StandBesideDeclaredOnes) {
    multiply(0, 100, 200, 100, "c10::Half");
    launch(main_, 150, fp16_kernel);
    const mfu_figures of = utilisation("NVIDIA H200", 98.94e9);
    EXPECT_NEAR(of.mfu.value_or(0), 0.1, 1e-12);
    EXPECT_TRUE(of.is_declared);
    // The steps differ: 2 MFLOP in 2 ms.
    EXPECT_NEAR(of.shape_mfu.value_or(0), 2e6 / 989.4e12 / 2e-3, 1e-15);
}

TEST_F(ShapeFlops, NoNumberRatherThanAWrongOne) {
    multiply(0, 100, 200, 10);
    launch(main_, 150, "some_gemm");
    EXPECT_EQ(utilisation("NVIDIA H200").reason, "the type in which 100 % of the FLOPs were multiplied is not known");
    multiply(0, 300, 400, 100, "double");
    launch(main_, 350, "dgemm");
    EXPECT_EQ(utilisation("NVIDIA H200").reason, "no FP64 peak is known for NVIDIA H200");
    multiply(0, 500, 600, 10, "c10::Float8_e4m3fn");
    launch(main_, 550, "nvjet_sm90_qqtst_128x256_128x4");
    EXPECT_EQ(utilisation("NVIDIA H200").reason,
              "some kernels multiply quantized matrices (FP8, INT8 or FP4), which have another peak");
    EXPECT_EQ(utilisation("NVIDIA X1").reason, "no peak is known for NVIDIA X1");
    multiply(0, 700, 800, 1'000'000, "c10::BFloat16");
    launch(main_, 750, "nvjet_tst_192x192_64x4");
    EXPECT_FALSE(utilisation("NVIDIA H200").mfu);
}

// The two steps last 2 ms, and the GPU works 3 ms for them: in a stream for which nobody waits.
TEST_F(ShapeFlops, NoUtilisationWhereTheWorkLastsLongerThanTheSteps) {
    multiply(0, 100, 200, 100, "c10::Half");
    launch(main_, 150, fp16_kernel);
    step_figures steps;
    steps.steps = 2;
    steps.total_ns = 2'000'000;
    steps.devices = 1;
    steps.gpu_busy_ns = 3'000'000;
    const mfu_figures of = measure_mfu(build(), steps, 1e9, measure());
    EXPECT_EQ(of.reason, "the GPU's work of these steps takes 1.5 ms a step, more than they last");
    EXPECT_FALSE(of.mfu || of.flops_per_s || of.shape_mfu || of.samples_per_s);
}

TEST_F(ShapeFlops, Fp16ThatMayAccumulateInFp16HasNoPeakWhereThatMatters) {
    multiply(0, 100, 200, 100, "c10::BFloat16");
    launch(main_, 150, "some_gemm");
    multiply(0, 300, 400, 100, "c10::Half");
    launch(main_, 350, fp16_kernel);
    EXPECT_FALSE(measure().has_unknown_sums);
    multiply(0, 500, 600, 100, "c10::Half");
    launch(main_, 550, "ampere_h16816gemm_128x64_sliced1x2");
    EXPECT_TRUE(measure().has_unknown_sums);
}

TEST_F(ShapeFlops, NothingWithoutShapes) {
    EXPECT_FALSE(measure().has_shapes);
    multiply_unknown(0, 100, 200);
    launch(main_, 150, fp32_kernel);
    EXPECT_FALSE(measure().has_shapes);
    EXPECT_NE(utilisation("NVIDIA H200").shape_reason.find("record_shapes=True"), std::string::npos);
}

}  // namespace
}  // namespace prof::shape_flops_test
