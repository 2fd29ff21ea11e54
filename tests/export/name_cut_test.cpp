// SPDX-License-Identifier: Apache-2.0
#include "export/report/name_cut.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/display_text.hpp"

namespace prof::name_cut_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* fill =
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, "
    "at::native::FillFunctor<float>, std::array<char*, 1ul>)";
constexpr const char* add =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 1ul> "
    ">(int, at::native::CUDAFunctor_add<float>, std::array<char*, 1ul>)";

TEST(NameCut, TakesAwayWhatMattersLeast) {
    EXPECT_EQ(cut_name(fill, 500), fill);
    EXPECT_EQ(
        cut_name(fill, 163),
        "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>(int, "
        "at::native::FillFunctor<float>, std::array<char*, 1ul>)");
    EXPECT_EQ(
        cut_name(fill, 110),
        "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>(…)");
    EXPECT_EQ(cut_name(fill, 95),
              "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<…>, std::array<…>>(…)");
    EXPECT_EQ(cut_name(fill, 70), "vectorized_elementwise_kernel<4, FillFunctor<…>, array<…>>(…)");
    EXPECT_EQ(cut_name(fill, 40), "vectorized_elementw…FillFunctor<…>, arr…");
    EXPECT_EQ(
        cut_name("void multi_tensor_apply_kernel<TensorListMetadata<4>, BinaryOpScalarFunctor<float, 2>, float>(long)",
                 36),
        "multi_tensor_appl…BinaryOpScalarFun…");
}

TEST(NameCut, KnowsTheBracketsOfCpp) {
    EXPECT_EQ(cut_name("void (anonymous namespace)::scale<float>(float*, float)", 30), "scale<float>(float*, float)");
    EXPECT_EQ(cut_name("a::f(int)::{lambda(float)#1}::operator()(float) const", 45),
              "a::f(…)::{lambda(…)#1}::operator()(…) const");
    EXPECT_EQ(cut_name("std::operator<< <char>(std::ostream&, char)", 24), "operator<< <char>(…)");
    EXPECT_EQ(cut_name("broken::name<with(crossed>)brackets", 12), "broke…with(…");
}

TEST(NameCut, LeavesOtherNamesTheirEnds) {
    EXPECT_EQ(cut_name("Memcpy HtoD (Pageable -> Device)", 20), shortened("Memcpy HtoD (Pageable -> Device)", 20));
    EXPECT_EQ(cut_name("  iteration 1", 80), "  iteration 1");
}

// As a table of 80 columns has them: what differs survives.
TEST(NameCut, KeepsNamesThatDifferDifferent) {
    const std::vector<std::string> cut = cut_names({fill, add, "gemm", fill}, 40);
    EXPECT_THAT(cut[0], HasSubstr("FillFunctor"));
    EXPECT_THAT(cut[1], HasSubstr("CUDAFunctor_add"));
    EXPECT_EQ(cut[2], "gemm");
    EXPECT_EQ(cut[3], cut[0]);
    for (const std::string& name : cut) EXPECT_LE(display_width(name), 40U) << name;

    const std::string start(50, 'a');
    const std::string end(50, 'z');
    EXPECT_THAT(cut_names({start + "1" + end, start + "2" + end}, 20),
                ElementsAre("aaaaaaaaa…1zzzzzzzz…", "aaaaaaaaa…2zzzzzzzz…"));
}

// Of the product's names one part is alike in some, another in others.
TEST(NameCut, KeepsWhatDiffersInTheMiddle) {
    std::vector<std::string> names;
    for (const char* const tile : {"128x128_16x4", "128x256_16x3", "128x128_16x5", "64x256_16x4", "64x256_32x4"}) {
        for (const char* const layout : {"nt", "tn"}) {
            const std::string name = std::string("cutlass_80_tensorop_s1688gemm_") + tile + '_' + layout + "_align4";
            names.push_back("void cutlass::Kernel2<" + name + ">(" + name + "::Params)");
        }
    }
    for (const std::size_t width : {40U, 45U, 60U}) {
        const std::vector<std::string> cut = cut_names(names, width);
        EXPECT_EQ((std::set<std::string>(cut.begin(), cut.end())).size(), names.size());
        for (const std::string& name : cut) EXPECT_THAT(name, Not(HasSubstr("#"))) << width;
    }
}

// Names of a few letters and brackets, in any order and any width.
TEST(NameCut, IsRightForAnyNames) {
    std::minstd_rand random(1);
    const std::vector<std::string> pieces = {"<",
                                             ">",
                                             "(",
                                             ")",
                                             "::",
                                             "a",
                                             "bb",
                                             " ",
                                             "operator",
                                             "void ",
                                             "->",
                                             "前",
                                             "\u0301",
                                             "(anonymous namespace)::",
                                             "x1",
                                             ", ",
                                             "kernel_of_some_length"};
    for (int round = 0; round < 1000; ++round) {
        std::set<std::string> names;
        for (int i = 0; i < 6; ++i) {
            std::string name;
            for (auto left = random() % 30; left-- > 0;) name += pieces[random() % pieces.size()];
            names.insert(name);
        }
        const std::size_t width = 6 + random() % 40;
        const std::vector<std::string> cut = cut_names({names.begin(), names.end()}, width);
        EXPECT_EQ((std::set<std::string>(cut.begin(), cut.end())).size(), names.size());
        for (const std::string& name : cut) EXPECT_LE(display_width(name), width);
    }
}

}  // namespace
}  // namespace prof::name_cut_test
