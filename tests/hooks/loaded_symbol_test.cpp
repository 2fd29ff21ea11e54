// SPDX-License-Identifier: Apache-2.0
// Functions of loaded libraries: the same as dlsym finds, with each of the two kinds of hash table.
#include "hooks/loaded_symbol.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace prof::loaded_symbol_test {
namespace {

struct LoadedSymbol : testing::TestWithParam<const char*> {};

TEST_P(LoadedSymbol, IsWhatTheLoaderFinds) {
    const std::string file = std::string("libhash_style_") + GetParam() + ".so";
    void* const library = dlopen((PROF_TEST_HASH_STYLES + file).c_str(), RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    for (const char* name :
         {"hash_style_first", "hash_style_second", "hash_style_third", "hash_style_fourth", "hash_style_fifth"}) {
        void* const found = loaded_symbol(file.c_str(), name);
        EXPECT_EQ(found, dlsym(library, name)) << name;
        EXPECT_NE(found, nullptr) << name;
    }
    EXPECT_EQ(loaded_symbol(file.c_str(), "hash_style_variable"), nullptr) << "no function";
    EXPECT_EQ(loaded_symbol(file.c_str(), "hash_style"), nullptr);
    EXPECT_EQ(loaded_symbol(file.c_str(), ""), nullptr);
    EXPECT_EQ(loaded_symbol(file.c_str(), "malloc"), nullptr) << "used there, and not defined";
}

INSTANTIATE_TEST_SUITE_P(With, LoadedSymbol, testing::Values("gnu", "sysv"),
                         [](const auto& test) { return std::string(test.param); });

TEST(LoadedSymbol, IsNoneOfALibraryThatIsNotLoaded) {
    EXPECT_EQ(loaded_symbol("libcuda.so.1", "cuDeviceGetCount"), nullptr);
    EXPECT_EQ(loaded_symbol("", "main"), nullptr);
}

}  // namespace
}  // namespace prof::loaded_symbol_test
