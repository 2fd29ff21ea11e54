// SPDX-License-Identifier: Apache-2.0
// What rules say: calls within operators, and advice for what the program is written with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "diagnose/graph_of.hpp"
#include "diagnose/rules/rule.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct texts {
    explicit texts(const char* range = "aten::copy_", const char* kernel = "gemm")
        : data(made(range, kernel).build()),
          att(attribute(data)),
          steps(find_whole_steps(data, att)),
          where(data, att, steps) {}

    static capture_builder made(const char* range, const char* kernel) {
        capture_builder capture;
        capture.thread("python").push(1, range).launch(2, 1).pop(5);
        capture.kernel(1, 10, 20, {}, kernel);
        return capture;
    }

    timeline data;
    attribution att;
    whole_steps steps;
    code_places where;
    launching_places launching{data, att, host_activity(data, att), where, steps.steps};
    std::vector<host_group> host;
    std::vector<gpu_group> gpu;
    rule_input input{.data = data, .where = where, .launching = launching, .host = host, .gpu = gpu};
};

TEST(RuleTexts, ACallIsInItsOperator) {
    texts of;
    of.input.call_name = [](const timeline_api_call&) { return std::string("cudaMemcpyAsync"); };
    host_group group{.call = call_id(0), .op_name = of.data.ranges.at(0).name};
    EXPECT_EQ(of.input.call(group), "cudaMemcpyAsync in aten::copy_");
    group.op_name = {};
    EXPECT_EQ(of.input.call(group), "cudaMemcpyAsync");
}

TEST(RuleTexts, RangesAreAdvisedInTheProgramsOwnLanguage) {
    texts of;
    const auto says = [&](frameworks used, const char* what) {
        of.input.used = used;
        return testing::Value(advice_of(host_code_rule, of.input, "").all, Contains(HasSubstr(what)));
    };
    const frameworks torch{.has_torch = true};
    const frameworks jax{.has_jax = true};
    for (const frameworks& used : {torch, jax, frameworks{}}) {
        EXPECT_EQ(says(used, "torch.cuda.nvtx.range"), used.has_torch);
        EXPECT_EQ(says(used, "TraceAnnotation"), used.has_jax);
        EXPECT_EQ(says(used, "PROF_RANGE"), !used.has_torch && !used.has_jax);
        EXPECT_EQ(says(used, "py-spy"), used.has_torch || used.has_jax);
    }
}

TEST(RuleTexts, LinesThatAreKnownNeedNoOtherProfiler) {
    texts of;
    of.input.used = {.has_torch = true};
    of.data.call_stacks.emplace_back();
    EXPECT_THAT(advice_of(host_code_rule, of.input, "").all, Not(Contains(HasSubstr("py-spy"))));
}

TEST(RuleTexts, OptimizersAreAdvisedWhatTheyHaveAndDoNotUse) {
    constexpr const char* foreach_kernel = "void at::native::multi_tensor_apply_kernel<SgdFunctor>";
    constexpr const char* fused_kernel = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>";
    const auto brief = [](const char* place, const char* kernel) {
        texts of("step", kernel);
        of.input.used = {.has_torch = true};
        const chosen_advice advice = advice_of(host_code_rule, of.input, place);
        EXPECT_THAT(advice.all, Not(Contains(HasSubstr("ove it out of the step")))) << place;
        return advice.brief;
    };
    EXPECT_EQ(brief("optimizer/SGD.step", "gemm"), "SGD(…, fused=True), or foreach=True");
    EXPECT_EQ(brief("optimizer/Optimizer.step#SGD.step", foreach_kernel), "SGD(…, fused=True)");
    EXPECT_EQ(brief("Optimizer.step#AdamW.step", foreach_kernel), "AdamW(…, fused=True)");
    EXPECT_EQ(brief("optimizer/Optimizer.step#AdamW.step", fused_kernel), "torch.compile of the optimizer's step");
    EXPECT_EQ(brief("optimizer/RMSprop.step", "gemm"), "foreach=True of the optimizer");
    EXPECT_EQ(brief("optimizer/RMSprop.step", foreach_kernel), "torch.compile of the optimizer's step");
    EXPECT_EQ(brief("optimizer_step", "gemm"), "foreach=True of the optimizer");
    EXPECT_EQ(brief("zero_grad", "gemm"), "a CUDA graph of the step, which leaves it out");
    EXPECT_EQ(brief("clip_grad", "gemm"), "clip_grad_norm_(…, foreach=True)");
    EXPECT_EQ(brief("clip_grad", foreach_kernel), "a CUDA graph or torch.compile around it");
    EXPECT_EQ(brief("forward/loss", "gemm"), "ranges inside of it, which show the part");
}

TEST(RuleTexts, GradientsThatAreSetToZeroOnTheGpuCanBeNone) {
    texts of("zero_grad");
    of.input.used = {.has_torch = true};
    of.host.push_back({.cause = idle_cause::launching, .place = of.where.of(range_id(0))});
    EXPECT_EQ(advice_of(host_code_rule, of.input, "zero_grad").brief, "zero_grad(set_to_none=True)");
}

}  // namespace
}  // namespace prof::diagnose_test
