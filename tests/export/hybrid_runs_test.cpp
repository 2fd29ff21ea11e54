// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/hybrid_runs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace prof::hybrid_runs_test {
namespace {

// Read as the format's specification has it. The values of a group beyond `count` are the filling.
std::vector<std::uint32_t> read_hybrid(const std::string& text, unsigned width, std::size_t count) {
    std::vector<std::uint32_t> out;
    std::size_t place = 0;
    const auto byte = [&] {
        EXPECT_LT(place, text.size());
        return place < text.size() ? static_cast<unsigned char>(text[place++]) : 0U;
    };
    while (out.size() < count && place < text.size()) {
        std::uint64_t header = 0;
        for (unsigned shift = 0;; shift += 7) {
            const unsigned next = byte();
            header |= std::uint64_t{next & 0x7F} << shift;
            if (next < 0x80) break;
        }
        if ((header & 1) == 0) {
            std::uint32_t value = 0;
            for (unsigned held = 0; held < width; held += 8) value |= byte() << held;
            out.insert(out.end(), header >> 1, value);
            continue;
        }
        const std::uint64_t values = (header >> 1) * 8;
        for (std::uint64_t i = 0; i < values; ++i) {
            std::uint32_t value = 0;
            for (unsigned bit = 0; bit < width; ++bit) {
                const std::uint64_t index = i * width + bit;
                const auto from = static_cast<unsigned char>(text[place + index / 8]);
                value |= std::uint32_t{from >> index % 8 & 1U} << bit;
            }
            out.push_back(value);
        }
        place += values / 8 * width;
    }
    EXPECT_EQ(place, text.size());
    EXPECT_LT(out.size(), count + 8);
    out.resize(count);
    return out;
}

TEST(HybridRuns, WidthsAreThoseOfTheLargestValue) {
    EXPECT_EQ(bit_width_of(0), 1U);  // some readers know no width of zero
    EXPECT_EQ(bit_width_of(1), 1U);
    EXPECT_EQ(bit_width_of(2), 2U);
    EXPECT_EQ(bit_width_of(255), 8U);
    EXPECT_EQ(bit_width_of(256), 9U);
    EXPECT_EQ(bit_width_of(UINT32_MAX), 32U);
}

TEST(HybridRuns, ALongRunTakesAFewBytes) {
    std::string out;
    append_hybrid(out, std::vector<std::uint32_t>(100'000, 1), 1);
    EXPECT_EQ(out.size(), 4U);
    EXPECT_EQ(read_hybrid(out, 1, 100'000), std::vector<std::uint32_t>(100'000, 1));
}

TEST(HybridRuns, EveryMixtureOfRunsIsReadAsItWasWritten) {
    std::mt19937 random(20261130);
    for (int round = 0; round < 3'000; ++round) {
        const unsigned width = 1 + static_cast<unsigned>(random() % 32);
        const std::uint32_t largest = width == 32 ? UINT32_MAX : (std::uint32_t{1} << width) - 1;
        std::vector<std::uint32_t> values;
        const std::size_t count = random() % 200;
        const std::size_t longest = 1 + random() % 40;
        while (values.size() < count) {
            values.insert(values.end(), 1 + random() % longest, static_cast<std::uint32_t>(random()) & largest);
        }
        std::string out;
        append_hybrid(out, values, width);
        ASSERT_EQ(read_hybrid(out, width, values.size()), values) << "width " << width;
    }
}

TEST(HybridRuns, NoValuesAreNoBytes) {
    std::string out;
    append_hybrid(out, {}, 3);
    EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace prof::hybrid_runs_test
