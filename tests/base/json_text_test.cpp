// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace prof::json_text_test {
namespace {

TEST(JsonText, KeepsValidUtf8AsItIs) {
    for (const std::string name : {"forward", "größer", "層 3", "🚀", "C:\\new\\x", "a\\x4", "\x7F", ""}) {
        EXPECT_EQ(printable(name), name);
        EXPECT_EQ(nlohmann::json::parse(json_string(name)), name);
    }
}

TEST(JsonText, WritesInvalidBytesAsEscapes) {
    // Lone continuation, overlong '/', a surrogate, beyond U+10FFFF, a sequence cut short.
    EXPECT_EQ(printable("a\x80z"), "a\\x80z");
    EXPECT_EQ(printable("\xC0\xAF"), "\\xC0\\xAF");
    EXPECT_EQ(printable("\xE0\x9F\xBF"), "\\xE0\\x9F\\xBF");
    EXPECT_EQ(printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");
    EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
    EXPECT_EQ(printable("\xE5\xB1"), "\\xE5\\xB1");
    EXPECT_EQ(json_string("\xFF\"\n\x01"), R"("\\xFF\"\n\u0001")");
}

TEST(JsonText, EscapesABackslashThatLooksLikeAnEscape) {
    EXPECT_EQ(printable("\\x41"), "\\x5Cx41");
    EXPECT_EQ(original_bytes("\\x5Cx41"), "\\x41");
}

TEST(JsonText, RoundTripsEveryName) {
    std::mt19937 random(17);
    const std::vector<std::string> pieces = {
        "\\", "x", "5", "C", "c", "\xC3", "\xBC", "\xFF", "\"", std::string(1, '\0'), "\n", "é", "\xF0\x9F", "/"};
    for (int round = 0; round < 20'000; ++round) {
        std::string name;
        for (auto i = random() % 12; i > 0; --i) name += pieces[random() % pieces.size()];
        ASSERT_EQ(original_bytes(printable(name)), name);
        ASSERT_EQ(original_bytes(nlohmann::json::parse(json_string(name)).get<std::string>()), name);
    }
}

TEST(JsonText, EscapesControlCharactersForTerminals) {
    EXPECT_EQ(terminal_safe("\x1B[2J\r\n\x7F"), "\\x1B[2J\\x0D\\x0A\\x7F");
    EXPECT_EQ(message_safe(message_safe("\x1B[2J\xFF\\x41")), "\\x1B[2J\\xFF\\x41");
    EXPECT_EQ(terminal_safe("\xC2\x9B"
                            "2J\xC2\xA0"),
              "\\xC2\\x9B2J\xC2\xA0");  // U+009B is another way to say ESC [
}

TEST(JsonText, EscapesWhatTurnsTheTextAroundIt) {
    for (const std::string code : {"\xE2\x80\x8E", "\xE2\x80\xA8", "\xE2\x80\xAE", "\xE2\x81\xA6", "\xE2\x81\xA9"}) {
        const std::string shown = terminal_safe("a" + code + "b");
        EXPECT_EQ(shown.size(), 14U) << shown;
        EXPECT_EQ(original_bytes(shown), "a" + code + "b");
    }
    for (const std::string text : {"a\xE2\x80\xA6z", "\xE2\x80\x90", "\xE2\x81\xA5", "\xE3\x80\xAE"})
        EXPECT_EQ(terminal_safe(text), text);
}

}  // namespace
}  // namespace prof::json_text_test
