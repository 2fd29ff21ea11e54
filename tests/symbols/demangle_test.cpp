// SPDX-License-Identifier: Apache-2.0
#include "symbols/demangle.hpp"

#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "symbols/kernel_names.hpp"

namespace prof {
namespace {

std::string full(const std::string& symbol) { return kernel_name(symbol, kernel_name_style::full); }
std::string base(const std::string& symbol) { return kernel_name(symbol, kernel_name_style::short_form); }

TEST(Demangle, AgreesWithCxxfilt) {
    std::ifstream file{PROF_SYMBOLS};
    std::string symbol;
    std::getline(file, symbol);  // what the file is
    int count = 0;
    for (std::string name, last; std::getline(file, symbol) && std::getline(file, name) && std::getline(file, last);) {
        EXPECT_EQ(full(symbol), name) << symbol;
        EXPECT_EQ(base(symbol), last) << symbol;
        ++count;
    }
    EXPECT_GT(count, 45);
}

TEST(Demangle, LeavesOtherTextsAlone) {
    for (const std::string symbol : {"i", "triton_poi_fused_add_0", "_Znonsense", "_Z", "_Z3fo", "_Z1fS_", "_Z1fT_",
                                     "_ZNE", "_Z1fIE_", "_Z1fPF", "_Z4294967299f", "_ZN3fLLCI", "_Z1f\xFF"}) {
        EXPECT_EQ(full(symbol), symbol);
        EXPECT_EQ(base(symbol), symbol);
    }
    EXPECT_EQ(full(""), "(unnamed)");
    EXPECT_EQ(kernel_name("_Z4gemmPf", kernel_name_style::mangled), "_Z4gemmPf");
}

// The C library's demangler gives up beyond a kilobyte.
TEST(Demangle, ReadsSymbolsOfManyKilobytes) {
    std::string symbol = "_ZN3lib6kernelI";
    std::string name = "void lib::kernel<";
    for (int i = 0; i < 9'000; ++i) {
        symbol += i % 2 == 0 ? "NS_3TagE" : "f";
        if (i % 2 == 0 && i > 0) symbol.replace(symbol.size() - 8, 8, "S1_");
        name += i == 0 ? "lib::Tag" : i % 2 == 0 ? ", lib::Tag" : ", float";
    }
    symbol += "EEvi";
    name += ">(int)";
    ASSERT_GT(symbol.size(), 17'000U);
    EXPECT_EQ(full(symbol).substr(0, 60), name.substr(0, 60));
    EXPECT_TRUE(full(symbol) == name);
    EXPECT_EQ(base(symbol), "kernel");
}

TEST(Demangle, BoundsSymbolsThatExpandExponentially) {
    // Each argument is twice the one before: 36 of them would be 2^36 names.
    std::string doubling = "_Z1f1PIiiE";
    const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (int i = 0; i < 36; ++i) {
        const std::string last = "S" + digits.substr(static_cast<std::size_t>(i), 1) + "_";
        doubling += "S_I" + last + last + "E";
    }
    const std::string deep = "_Z1f" + std::string(200'000, 'P') + "i";
    const std::string megabytes = "_Z1fI" + std::string(2U << 20, 'i') + "EvT_";
    for (const std::string& symbol : {doubling, deep, megabytes}) {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_TRUE(full(symbol) == symbol) << symbol.substr(0, 40);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
    }
    // What is still bearable is written out.
    EXPECT_EQ(full("_Z1f1PIiiES_IS0_S0_E"), "f(P<int, int>, P<P<int, int>, P<int, int> >)");
}

TEST(Demangle, SurvivesMutatedSymbols) {
    std::ifstream file{PROF_SYMBOLS};
    std::vector<std::string> symbols;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("_Z")) symbols.push_back(line);
    }
    ASSERT_FALSE(symbols.empty());
    std::mt19937 random{1};
    const std::string letters = "STIJEKPRNZ_0123456789DpFvilXLCcUAsM";
    int understood = 0;
    for (int i = 0; i < 30'000; ++i) {
        std::string symbol = symbols[random() % symbols.size()];
        for (auto changes = 1 + random() % 4; changes > 0 && symbol.size() > 4; --changes) {
            const std::size_t at = 2 + random() % (symbol.size() - 2);
            switch (random() % 3) {
                case 0:
                    symbol[at] = letters[random() % letters.size()];
                    break;
                case 1:
                    symbol.erase(at, 1 + random() % 4);
                    break;
                default:
                    symbol.insert(at, symbol.substr(random() % symbol.size(), random() % 40));
            }
        }
        if (const auto name = demangle(symbol)) {
            ++understood;
            ASSERT_LE(name->full.size(), 1U << 20);
        }
    }
    EXPECT_GT(understood, 500);
}

}  // namespace
}  // namespace prof
