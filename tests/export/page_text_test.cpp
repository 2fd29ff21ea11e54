// SPDX-License-Identifier: Apache-2.0
// Texts in a page: none can be read as markup, or end the element that holds it.
#include "export/page/page_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/markup_text.hpp"
#include "export/page/page_files.hpp"

namespace prof::page_text_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// The vectors of FIPS 180-4 and of RFC 6234, as base64.
TEST(PageText, HashesAsTheStandardSays) {
    EXPECT_EQ(sha256_base64(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    EXPECT_EQ(sha256_base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    EXPECT_EQ(sha256_base64("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "JI1qYdIGOLjlwCaTDD5gOaM85Flk/yFn9uzt1BnbBsE=");
    EXPECT_EQ(sha256_base64(std::string(1'000'000, 'a')), "zcduXJkU+5KBocfihNc+Z/GAmkiklyAOBG05zMcRLNA=");
}

// RFC 4648, section 10.
TEST(PageText, WritesBase64) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foo"), "Zm9v");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
    EXPECT_EQ(base64("\xFF\xEF\xBE"), "/+++");
}

TEST(PageText, EscapesMarkup) {
    EXPECT_EQ(markup_text("<a href=\"x\" title='y'>&amp;"), "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;");
}

TEST(PageText, NoJsonEndsItsElement) {
    const std::string hostile = "</script><!--<script>]]>&\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xA6";
    const std::string text = script_json(nlohmann::json(hostile).dump());
    for (const char* bad : {"<", ">", "&", "\xE2\x80\xA8", "\xE2\x80\xA9"}) EXPECT_THAT(text, Not(HasSubstr(bad)));
    EXPECT_EQ(nlohmann::json::parse(text).get<std::string>(), hostile);
}

TEST(PageText, NamesAreTextWhateverTheyAre) {
    EXPECT_EQ(page_name("größer"), "größer");
    EXPECT_EQ(page_name("a\x1b[31m\xFF"), "a\\x1B[31m\\xFF");
    EXPECT_EQ(page_name("right\xE2\x80\xAEleft"), "right\\xE2\\x80\\xAEleft");
    EXPECT_EQ(page_sentence("say \\x41\n"), "say \\x41\\x0A");
}

TEST(PageText, LongNamesAreCutBetweenCharacters) {
    std::string wide;
    for (int i = 0; i < 70'000; ++i) wide += "ß€😀";
    const std::string shown = page_name(wide);
    EXPECT_THAT(shown, EndsWith("…"));
    EXPECT_NO_THROW((void)nlohmann::json(shown).dump());
    EXPECT_LE(shown.size(), 4 * longest_page_name + 3);
    EXPECT_EQ(page_name(std::string(longest_page_name, 'n')), std::string(longest_page_name, 'n'));
}

TEST(PageText, AnyBytesBecomeValidText) {
    std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same cases each time
    for (int i = 0; i < 2'000; ++i) {
        std::string bytes(random() % 60, '\0');
        for (char& each : bytes) each = static_cast<char>(random());
        const std::string name = page_name(bytes);
        EXPECT_NO_THROW((void)nlohmann::json(name).dump());
        EXPECT_EQ(name.find('\0'), std::string::npos);
        EXPECT_EQ(markup_text(name).find('<'), std::string::npos);
    }
}

TEST(PageText, ScriptAndStyleStayInTheirElements) {
    for (const std::string_view part : {page_script(), page_style()}) {
        EXPECT_FALSE(part.empty());
        for (const char* bad : {"</script", "</style", "<!--", "@import", "https://"}) {
            EXPECT_THAT(std::string(part), Not(HasSubstr(bad)));
        }
    }
    EXPECT_THAT(std::string(page_script()), HasSubstr("\"use strict\""));
}

}  // namespace
}  // namespace prof::page_text_test
