// SPDX-License-Identifier: Apache-2.0
// The texts of XLA's ranges: real ones (xla_names.txt), and those that nobody should write.
#include "analysis/projection/xla_names.hpp"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace prof::xla_names_test {
namespace {

std::string shown(const xla_operation& of) {
    const std::string phase{to_string(of.phase)};
    return of.function + " | " + phase + " | " + of.path + " | " + of.operation;
}

// Lines of "text => function | phase | path | operation".
TEST(XlaNames, MatchRealOperationNames) {
    std::ifstream file{PROF_XLA_NAMES};
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) {
        const std::size_t arrow = line.find(" => ");
        if (line.starts_with('#') || arrow == std::string::npos) continue;
        const std::string text = line.substr(0, arrow);
        const std::string name = text.starts_with("Thunk:") ? std::string{read_xla_range(text).name} : text;
        EXPECT_EQ(shown(read_xla_operation(name)), line.substr(arrow + 4)) << text;
        ++count;
    }
    EXPECT_GT(count, 50U);
}

TEST(XlaNames, ClassifyRanges) {
    const auto kind = [](std::string_view text) { return read_xla_range(text).kind; };
    EXPECT_EQ(kind("XlaModule:#hlo_module=jit_train_step,program_id=47003#"), xla_range_kind::module);
    EXPECT_EQ(kind("XlaModule:#prefix=args[0],hlo_module=jit_stage,program_id=1#"), xla_range_kind::module);
    EXPECT_EQ(kind("XlaModule:#hlo_module=gemm_fusion_dot.12#"), xla_range_kind::compilation);
    EXPECT_EQ(kind("XlaPass:#name=dce,module=jit_add,program_id=7#"), xla_range_kind::compilation);
    EXPECT_EQ(kind("XlaCompile:#module=jit_add#"), xla_range_kind::compilation);
    EXPECT_EQ(kind("Thunk:#hlo_op=copy.1,unique_hlo_op_id=7#"), xla_range_kind::thunk);
    EXPECT_EQ(kind("Thunk:#"), xla_range_kind::thunk);
    EXPECT_EQ(kind("Thunk"), xla_range_kind::other);
    EXPECT_EQ(kind("MemcpyD2H"), xla_range_kind::other);
    EXPECT_EQ(kind(""), xla_range_kind::other);

    EXPECT_EQ(read_xla_range("XlaModule:#prefix=args[0],hlo_module=jit_stage,program_id=1#").module, "jit_stage");
    EXPECT_EQ(read_xla_range("Thunk:#hlo_op=copy.1,unique_hlo_op_id=7#").hlo_op, "copy.1");
    EXPECT_EQ(read_xla_range("Thunk:#hlo_op=command_buffer_3#").hlo_op, "command_buffer_3");
}

TEST(XlaNames, AllowCommasInAThunksName) {
    const xla_range range = read_xla_range(
        "Thunk:#name=jit(f)/attn/...hqk,...khd->...qhd/dot_general,hlo_op=gemm_fusion_dot.134,unique_hlo_op_id=7#");
    EXPECT_EQ(range.name, "jit(f)/attn/...hqk,...khd->...qhd/dot_general");
    EXPECT_EQ(range.hlo_op, "gemm_fusion_dot.134");
    const xla_range twice = read_xla_range("Thunk:#name=jit(f)/x,hlo_op=y/add,hlo_op=z,unique_hlo_op_id=7#");
    EXPECT_EQ(twice.name, "jit(f)/x,hlo_op=y/add");
    EXPECT_EQ(twice.hlo_op, "z");
}

TEST(XlaNames, AddTheProgramsPrefix) {
    const xla_range module = read_xla_range("XlaModule:#prefix=jit(f)/jvp(M),hlo_module=jit_f,program_id=7#");
    EXPECT_EQ(module.prefix, "jit(f)/jvp(M)");
    EXPECT_EQ(module.module, "jit_f");
    EXPECT_EQ(read_xla_range("XlaModule:#hlo_module=jit_f,program_id=7#").prefix, "");
    EXPECT_EQ(read_xla_range("XlaModule:#prefix=").prefix, "");
    EXPECT_EQ(with_prefix(module.prefix, "up/add"), "jit(f)/jvp(M)/up/add");
    EXPECT_EQ(with_prefix(module.prefix, ""), "jit(f)/jvp(M)");
    EXPECT_EQ(with_prefix("args[0]", "jit(f)/add"), "jit(f)/add");
    EXPECT_EQ(with_prefix("", "jit(f)/add"), "jit(f)/add");
    EXPECT_TRUE(read_xla_range("Thunk:#name=,hlo_op=a#").has_name);
    EXPECT_FALSE(read_xla_range("Thunk:#hlo_op=a#").has_name);
}

TEST(XlaNames, SurviveCutAndEmptyTexts) {
    const std::string whole = "Thunk:#name=jit(f)/transpose(jvp(M))/up/dot_general,hlo_op=gemm.1,unique_hlo_op_id=7#";
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const xla_range range = read_xla_range(std::string_view{whole}.substr(0, length));
        (void)read_xla_operation(range.name);
        EXPECT_TRUE(range.name.empty() || range.name == "jit(f)/transpose(jvp(M))/up/dot_general") << length;
    }
    EXPECT_EQ(read_xla_range("Thunk:#name=,hlo_op=a#").name, "");
    EXPECT_EQ(read_xla_range("Thunk:#name=a#").name, "");
    EXPECT_EQ(read_xla_range("XlaModule:#hlo_module=").module, "");
    EXPECT_EQ(jitted_function("jit_train_step"), "jit(train_step)");
    EXPECT_EQ(jitted_function("jit__mean"), "jit(_mean)");
    EXPECT_EQ(jitted_function("jit_"), "jit_");
    EXPECT_EQ(jitted_function("pmap_step"), "pmap_step");
}

TEST(XlaNames, AllowUnbalancedParentheses) {
    EXPECT_EQ(shown(read_xla_operation("jit(f)/a(/transpose(jvp(M))/up/dot_general")),
              "f | backward | a(/M/up | dot_general");
    EXPECT_EQ(shown(read_xla_operation("jit(f)/a)/jvp(M)/up/dot_general")), "f | forward | a)/M/up | dot_general");
    EXPECT_EQ(shown(read_xla_operation("jit(f")), " |  |  | ");
    EXPECT_EQ(shown(read_xla_operation("jit()/add")), " |  |  | ");
    EXPECT_EQ(shown(read_xla_operation("jit(f)/(x)/add")), "f |  | (x) | add");
    EXPECT_EQ(shown(read_xla_operation("jit(f)//add")), "f |  |  | add");
    EXPECT_EQ(shown(read_xla_operation("jit(f)/a[0]/add")), "f |  | a[0] | add");
}

TEST(XlaNames, ReadDeepAndLongNamesInLinearTime) {
    std::string deep = "jit(f)/";
    for (int i = 0; i < 100'000; ++i) deep += "jvp(";
    EXPECT_EQ(read_xla_operation(deep).phase, xla_phase::none);
    deep += "M" + std::string(100'000, ')') + "/add";
    EXPECT_EQ(read_xla_operation(deep).phase, xla_phase::forward);
    std::string wide = "jit(f)";
    for (int i = 0; i < 100'000; ++i) wide += "/layer";
    EXPECT_EQ(read_xla_operation(wide).path.size(), 600'000U - 1);
    EXPECT_EQ(read_xla_operation(wide).scope(), "layer");
}

}  // namespace
}  // namespace prof::xla_names_test
