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
    texts() : data(made().build()), att(attribute(data)), steps(find_whole_steps(data, att)), where(data, att, steps) {}

    static capture_builder made() {
        capture_builder capture;
        capture.thread("python").push(1, "aten::copy_").launch(2, 1).pop(5);
        capture.kernel(1, 10, 20);
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
    host_group group{.call = 0, .op_name = of.data.ranges.at(0).name};
    EXPECT_EQ(of.input.call(group), "cudaMemcpyAsync in aten::copy_");
    group.op_name = 0;
    EXPECT_EQ(of.input.call(group), "cudaMemcpyAsync");
}

TEST(RuleTexts, RangesAreAdvisedInTheProgramsOwnLanguage) {
    texts of;
    const auto says = [&](frameworks used, const char* what) {
        of.input.used = used;
        return testing::Value(advice_of(host_code_rule, of.input), Contains(HasSubstr(what)));
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

}  // namespace
}  // namespace prof::diagnose_test
