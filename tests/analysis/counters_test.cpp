// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "analysis/tables.hpp"
#include "report/makers.hpp"
#include "support/capture_builder.hpp"

namespace prof::counters_test {
namespace {

using lines = std::vector<std::string>;

struct CountersReport : testing::Test {
    capture_builder capture;
    thread_script& main = capture.thread("main");
    const std::uint16_t domain = capture.domain("prof.counters");
    std::uint64_t now_ns = 0;

    void put(const char* name, payload_type type, std::uint64_t value, std::uint16_t of) {
        main.add({.ticks = ++now_ns,
                  .value = value,
                  .name = capture.name(name),
                  .domain = of,
                  .kind = record_kind::mark,
                  .flags = static_cast<std::uint8_t>(type)});
    }
    void put(const char* name, double value) {
        put(name, payload_type::f64, std::bit_cast<std::uint64_t>(value), domain);
    }
    static lines shown_rows(const table& of) {
        return rows_of(of, {"Counter", "Values", "First", "Avg", "Min", "Max", "Last"});
    }
};

TEST_F(CountersReport, SummarizesEachCounter) {
    put("loss", 2);
    put("queue", payload_type::u64, 7, domain);
    put("loss", 0.5);
    put("loss", 1.25);
    EXPECT_EQ(shown_rows(counters_report({.data = capture.build()})),
              (lines{"loss 3 2 1.25 0.5 2 1.25", "queue 1 7 7 7 7 7"}));
}

TEST_F(CountersReport, ReadsEveryTypeOfNumber) {
    put("a", payload_type::u64, 1ULL << 40, domain);
    put("b", payload_type::i64, static_cast<std::uint64_t>(-3), domain);
    put("c", payload_type::u32, 0xFFFFFFFF, domain);
    put("d", payload_type::i32, 0xFFFFFFFF, domain);
    put("e", payload_type::f32, std::bit_cast<std::uint32_t>(-0.5F), domain);
    put("f", payload_type::none, 0, domain);
    put("g", payload_type::u64, 5, capture.domain("another"));
    const table found = counters_report({.data = capture.build()});
    EXPECT_EQ(rows_of(found, {"Counter", "Last"}), (lines{"a 1.09951e+12", "b -3", "c 4.29497e+09", "d -1", "e -0.5"}));
    EXPECT_TRUE(found.notes.empty());
}

TEST_F(CountersReport, LeavesOutWhatIsNoNumberAndSaysSo) {
    put("loss", 1);
    put("loss", std::nan(""));
    put("loss", std::numeric_limits<double>::infinity());
    const table found = counters_report({.data = capture.build()});
    EXPECT_EQ(shown_rows(found), lines{"loss 1 1 1 1 1 1"});
    EXPECT_EQ(found.notes, lines{"2 values that are NaN or infinite are left out"});
}

}  // namespace
}  // namespace prof::counters_test
