// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/line_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "hooks/lines/frame_reader.hpp"
#include "hooks/lines/python_layout.hpp"
#include "support/sanitized.hpp"

namespace prof::test {
namespace {

using table = std::vector<std::uint8_t>;

std::uint32_t in_pairs(const table& of, std::int32_t unit, std::int32_t first = 10) {
    return line_of_instruction(line_table_format::pairs, of, first, unit);
}
std::uint32_t in_locations(const table& of, std::int32_t unit, std::int32_t first = 10) {
    return line_of_instruction(line_table_format::locations, of, first, unit);
}

TEST(LineTable, PairsAddLengthsAndDifferences) {
    const table of = {4, 1, 2, 0x80, 6, 2, 2, 0xFF};  // 11 for 4 bytes, none for 2, 13 for 6, 12 for 2
    EXPECT_EQ(in_pairs(of, 0), 11U);
    EXPECT_EQ(in_pairs(of, 1), 11U);
    EXPECT_EQ(in_pairs(of, 2), 0U);
    EXPECT_EQ(in_pairs(of, 3), 13U);
    EXPECT_EQ(in_pairs(of, 5), 13U);
    EXPECT_EQ(in_pairs(of, 6), 12U);
    EXPECT_EQ(in_pairs(of, 7), 0U) << "behind the code";
    EXPECT_EQ(in_pairs(of, -1), 10U) << "not begun: the function's own line";
}

TEST(LineTable, LocationsHaveFiveForms) {
    const table of = {
        0x80 | 2 << 3 | 1,  0x12,                 // short form: the same line, for 2 units
        0x80 | 11 << 3 | 0, 3,    4,              // one line further, for 1
        0x80 | 13 << 3 | 0, 0x05,                 // no columns: 2 lines back
        0x80 | 15 << 3 | 2,                       // none, for 3
        0x80 | 14 << 3 | 0, 0x4A, 0x02, 1, 2, 3,  // long form: number 10 + 2 * 64 = 138, so 69 further
        0x80 | 12 << 3 | 7, 3,    4,              // two lines further, for 8
    };
    EXPECT_EQ(in_locations(of, 0), 10U);
    EXPECT_EQ(in_locations(of, 1), 10U);
    EXPECT_EQ(in_locations(of, 2), 11U);
    EXPECT_EQ(in_locations(of, 3), 9U);
    EXPECT_EQ(in_locations(of, 4), 0U);
    EXPECT_EQ(in_locations(of, 6), 0U);
    EXPECT_EQ(in_locations(of, 7), 78U);
    EXPECT_EQ(in_locations(of, 8), 80U);
    EXPECT_EQ(in_locations(of, 15), 80U);
    EXPECT_EQ(in_locations(of, 16), 0U);
}

TEST(LineTable, ReadsNothingBeyondRandomBytes) {
    std::mt19937 random(42);
    for (std::uint32_t i = 0; i < random_cases(20'000); ++i) {
        table of(random() % 24);
        for (std::uint8_t& each : of) each = static_cast<std::uint8_t>(random());
        of.shrink_to_fit();
        for (const std::int32_t unit : {-1, 0, 1, 7, 100, 1 << 24}) {
            (void)in_pairs(of, unit);
            (void)in_locations(of, unit);
        }
    }
}

TEST(PythonLayout, KnowsFinalVersionsWithTheLock) {
    for (const char* const version :
         {"3.10.13 (main, Nov", "3.11.7+ (main", "3.12.1", "3.13.0 (main", "3.14.10 (main"}) {
        EXPECT_NE(python_layout_of(version), nullptr) << version;
    }
    for (const char* const version :
         {"3.9.18 (main", "3.15.0 (main", "3.14.0rc2 (main", "3.14.0 free-threading build (main", "3.13.0rc1 (main",
          "3.13.0 experimental free-threading build (main", "3.11", "3.", "", "2.7.18 (default", "4.12.1 (main",
          "3.1112.1"}) {
        EXPECT_EQ(python_layout_of(version), nullptr) << version;
    }
}

// A wrong guess of the layout ends here: what an interpreter publishes of itself is compared with it.
TEST(PythonLayout, IsTheOneThatTheInterpreterPublishes) {
    struct place {
        std::size_t word;
        std::uint64_t offset;
    };
    const auto runtime_of = [](std::uint64_t version, const std::vector<place>& places) {
        std::vector<std::uint64_t> words(64);
        std::memcpy(words.data(), "xdebugpy", 8);
        words[1] = version;
        for (const auto& [word, offset] : places) words[word] = offset;
        return words;
    };
    // Of the headers of Python 3.13.0 and 3.14.10, by their compiler.
    const std::vector<place> of_13 = {{23, 72},  {24, 152}, {29, 8},   {30, 0},  {31, 56}, {33, 70},
                                      {35, 112}, {37, 128}, {38, 136}, {39, 68}, {43, 200}};
    const std::vector<place> of_14 = {{26, 72},  {27, 152}, {32, 8},   {33, 0},  {34, 56}, {36, 74},
                                      {40, 112}, {42, 128}, {43, 136}, {44, 68}, {48, 208}};
    const python_layout& layout_13 = *python_layout_of("3.13.0 (main");
    const python_layout& layout_14 = *python_layout_of("3.14.10 (main");
    const auto published_13 = runtime_of(0x030D00F0, of_13), published_14 = runtime_of(0x030E0AF0, of_14);
    EXPECT_TRUE(has_published_layout(layout_13, published_13.data()));
    EXPECT_TRUE(has_published_layout(layout_14, published_14.data()));
    EXPECT_FALSE(has_published_layout(layout_14, published_13.data()));
    EXPECT_FALSE(has_published_layout(layout_13, published_14.data()));
    EXPECT_FALSE(has_published_layout(layout_14, runtime_of(0x030D00F0, of_14).data()));
    EXPECT_FALSE(has_published_layout(layout_14, nullptr));
    for (const auto& [word, offset] : of_14) {
        auto other = published_14;
        other[word] += 8;
        EXPECT_FALSE(has_published_layout(layout_14, other.data())) << word;
    }
    auto free_threaded = published_14, of_another = published_14;
    free_threaded[2] = 1;
    of_another[0] = 0;
    EXPECT_FALSE(has_published_layout(layout_14, free_threaded.data()));
    EXPECT_FALSE(has_published_layout(layout_14, of_another.data()));
    EXPECT_TRUE(has_published_layout(*python_layout_of("3.12.1"), nullptr));
}

// In Python 3.14 the pointer to a frame's code has two bits that say how it is counted, and C code two kinds of frames.
TEST(PythonLayout, CodeIsFoundWhateverTheBitsOfItsReference) {
    struct {
        const std::byte* bytes(const std::byte* address, std::size_t) noexcept { return address; }
    } memory;
    python_symbols symbols;
    const python_layout& layout = *python_layout_of("3.14.10 (main");
    frame_reader reader(symbols, layout, memory);
    alignas(8) std::array<std::byte, 256> code{};
    alignas(8) std::array<std::byte, 112> frame{};
    const auto put = [&](std::size_t offset, auto value) { std::memcpy(frame.data() + offset, &value, sizeof value); };
    for (const std::uintptr_t tag : {0U, 1U, 3U}) {
        put(0, reinterpret_cast<std::uintptr_t>(code.data()) | tag);
        put(56, code.data() + 208 + 2 * 7);
        for (std::uint8_t owner = 0; owner <= 4; ++owner) {
            put(74, owner);
            frame_head head;
            ASSERT_TRUE(reader.read_frame(frame.data(), head));
            EXPECT_EQ(head.code, owner < 3 ? code.data() : nullptr) << tag << int{owner};
            EXPECT_EQ(head.unit, owner < 3 ? 7 : -1);
        }
    }
}

}  // namespace
}  // namespace prof::test
