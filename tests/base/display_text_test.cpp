// SPDX-License-Identifier: Apache-2.0
#include "base/display_text.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cwchar>
#include <string>

namespace prof::display_text_test {
namespace {

std::string utf8(char32_t code) {
    if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    return {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
            static_cast<char>(0x80 | (code & 0x3F))};
}

TEST(DisplayWidth, CountsTheCellsOfATerminal) {
    EXPECT_EQ(display_width("forward"), 7U);
    EXPECT_EQ(display_width("Größe"), 5U);
    EXPECT_EQ(display_width("前向传播"), 8U);
    EXPECT_EQ(display_width("ｆｕｌｌ"), 8U);
    EXPECT_EQ(display_width("한글"), 4U);
    EXPECT_EQ(display_width("\u1112\u1161\u11ab"), 2U);  // the same syllable in three parts
    EXPECT_EQ(display_width("e\u0301te\u0301"), 3U);
    EXPECT_EQ(display_width("🚀x"), 3U);
    EXPECT_EQ(display_width("a\u200db"), 2U);
    EXPECT_EQ(display_width("\xff\xe5x"), 3U);  // no UTF-8
    EXPECT_EQ(display_width("\xe5\x89"), 2U);   // ends too early
}

// The C library's own table is another source. Versions of Unicode may differ outside these long-settled blocks.
TEST(DisplayWidth, AgreesWithTheCLibrary) {
    if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) GTEST_SKIP() << "no locale C.UTF-8";
    struct block {
        char32_t first, last;
    };
    for (const block& of : {block{0xC0, 0x24F}, block{0x300, 0x36F}, block{0x370, 0x3FF}, block{0x400, 0x52F},
                            block{0x20D0, 0x20DC}, block{0x3041, 0x3096}, block{0x30A1, 0x30FF}, block{0x4E00, 0x9FA5},
                            block{0xAC00, 0xD7A3}, block{0xFF01, 0xFF60}}) {
        for (char32_t code = of.first; code <= of.last; ++code) {
            const int cells = wcwidth(static_cast<wchar_t>(code));
            if (cells < 0) continue;  // not assigned
            ASSERT_EQ(static_cast<int>(display_width(utf8(code))), cells) << std::hex << static_cast<unsigned>(code);
        }
    }
    std::setlocale(LC_CTYPE, "C");
}

TEST(Shortened, NeverSplitsACharacter) {
    EXPECT_EQ(shortened("前向传播梯度更新", 16), "前向传播梯度更新");
    EXPECT_EQ(shortened("前向传播梯度更新", 9), "前向传…新");
    EXPECT_EQ(shortened("e\u0301e\u0301e\u0301e\u0301e\u0301", 3), "e\u0301e\u0301…");
    EXPECT_EQ(shortened("abcde\u0301fge\u0301", 4), "ab…e\u0301");
    for (std::size_t width = 0; width <= 16; ++width) {
        EXPECT_LE(display_width(shortened("a前b🚀c\u0301向d传e播f", width)), width);
    }
}

}  // namespace
}  // namespace prof::display_text_test
