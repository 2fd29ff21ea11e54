// SPDX-License-Identifier: Apache-2.0
#include "symbols/short_name.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace prof::short_name_test {
namespace {

TEST(ShortName, IsTheFunctionsOwn) {
    EXPECT_EQ(short_name("void ns::gemm<float, 4>(float*)"), "gemm");
    EXPECT_EQ(short_name("gemm(int)"), "gemm");
    EXPECT_EQ(short_name("void a::(anonymous namespace)::Cat<b::c<4u>, (d)1>(b::c<4u>*, int)"), "Cat");
    EXPECT_EQ(short_name("void f<g::{lambda(int)#1}, (x > y)>(g::{lambda(int)#1})"), "f");
    EXPECT_EQ(short_name("_Z1kv"), "_Z1kv");
    EXPECT_EQ(short_name("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
    EXPECT_EQ(short_name("my kernel"), "my kernel");
    EXPECT_EQ(short_name(""), "");
    EXPECT_EQ(short_name("<<<((("), "<<<(((");
}

// No kernel is an operator, or returns a function.
TEST(ShortName, IsTheBaseNameOfTheSymbol) {
    std::ifstream file{PROF_SYMBOLS};
    std::string symbol;
    std::getline(file, symbol);  // what the file is
    int count = 0;
    for (std::string name, base; std::getline(file, symbol) && std::getline(file, name) && std::getline(file, base);) {
        if (name.find("operator") != std::string::npos || name.find("(*") != std::string::npos) continue;
        EXPECT_EQ(short_name(name), base) << symbol;
        ++count;
    }
    EXPECT_GT(count, 40);
}

}  // namespace
}  // namespace prof::short_name_test
