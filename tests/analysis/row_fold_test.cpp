// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/row_fold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analysis/rows.hpp"
#include "support/sanitized.hpp"

namespace prof::row_fold_test {
namespace {

using testing::ElementsAre;

// A row whose sum is its self time and that of the rows below it, which are added after it.
class tree {
public:
    std::uint32_t add(const std::string& name, std::uint32_t parent, std::int64_t self_ns, std::int64_t host_ns = 0) {
        const auto index = static_cast<std::uint32_t>(rows.size());
        projection_row& row = rows.emplace_back();
        row.name = row.path = name;
        row.parent = parent;
        row.depth = parent == npos ? 0 : rows[parent].depth + 1;
        row.instances = 1;
        row.host_ns = host_ns;
        row.gpu_self_ns = self_ns;
        row.self_ops = static_cast<std::uint64_t>(self_ns);
        for (std::uint32_t at = index; at != npos; at = rows[at].parent) {
            rows[at].gpu_sum_ns += self_ns;
            rows[at].ops += row.self_ops;
        }
        return index;
    }
    void add_fixed() {
        for (const row_kind kind : {row_kind::no_range, row_kind::ambiguous, row_kind::unmatched}) {
            rows[add("fixed", npos, 0)].kind = kind;
        }
    }

    std::vector<projection_row> rows;
};

std::vector<std::string> shown(const std::vector<projection_row>& rows, std::size_t most,
                               std::uint32_t deepest = UINT32_MAX) {
    std::vector<std::string> out;
    for (const shown_row& row : rows_to_show(rows, {.most = most, .deepest = deepest})) {
        std::string line(row.figures.depth, '-');
        line += row.stands_for == 0 ? row.figures.name : "+" + std::to_string(row.stands_for);
        out.push_back(line + ' ' + std::to_string(row.figures.gpu_self_ns));
    }
    return out;
}

struct RowFold : testing::Test {
    tree made;

    // step 1: forward 10 (a 20: x 5, y 6; b 7), backward 30 (c 4), data 0 with 90 on the host, idle 0 with 80.
    void SetUp() override {
        const std::uint32_t step = made.add("step", npos, 1, 300);
        const std::uint32_t forward = made.add("forward", step, 10, 50);
        const std::uint32_t a = made.add("a", forward, 20, 30);
        made.add("x", a, 5, 3);
        made.add("y", a, 6, 4);
        made.add("b", forward, 7, 8);
        const std::uint32_t backward = made.add("backward", step, 30, 20);
        made.add("c", backward, 4, 2);
        made.add("data", step, 0, 90);
        made.add("idle", step, 0, 80);
        made.add_fixed();
    }
};

TEST_F(RowFold, KeepsAShortTableWhole) {
    const std::vector<std::string> all = {"step 1",  "-forward 10",  "--a 20", "---x 5",  "---y 6",
                                          "--b 7",   "-backward 30", "--c 4",  "-data 0", "-idle 0",
                                          "fixed 0", "fixed 0",      "fixed 0"};
    EXPECT_EQ(shown(made.rows, SIZE_MAX), all);
    EXPECT_EQ(shown(made.rows, 13), all);
}

// By GPU time: step 83, forward 48, backward 34, a 31, b 7, y 6, x 5, c 4; then by host time data and idle.
TEST_F(RowFold, KeepsTheLargestRowsAndSumsTheRest) {
    EXPECT_THAT(shown(made.rows, 12), ElementsAre("step 1", "-forward 10", "--a 20", "---x 5", "---y 6", "--b 7",
                                                  "-backward 30", "--c 4", "-+2 0", "fixed 0", "fixed 0", "fixed 0"));
    EXPECT_THAT(shown(made.rows, 11), ElementsAre("step 1", "-forward 10", "--a 20", "---+2 11", "--b 7",
                                                  "-backward 30", "--c 4", "-+2 0", "fixed 0", "fixed 0", "fixed 0"))
        << "that b alone is left out would take a row as well, and so would c";
    EXPECT_THAT(shown(made.rows, 10), ElementsAre("step 1", "-forward 10", "--+4 38", "-backward 30", "--c 4", "-+2 0",
                                                  "fixed 0", "fixed 0", "fixed 0"))
        << "a would take three rows more: its own, one for x and y, and that of b";
    EXPECT_THAT(shown(made.rows, 7),
                ElementsAre("step 1", "-forward 10", "--+4 38", "-+4 34", "fixed 0", "fixed 0", "fixed 0"));
    EXPECT_THAT(shown(made.rows, 1), ElementsAre("+10 83", "fixed 0", "fixed 0", "fixed 0"));
}

TEST_F(RowFold, SumsEachFigureOnce) {
    const auto rows = rows_to_show(made.rows, {.most = 7});
    ASSERT_EQ(rows[2].stands_for, 4U);  // a, x, y, b
    const projection_row& sums = rows[2].figures;
    EXPECT_EQ(sums.gpu_sum_ns, 38);
    EXPECT_EQ(sums.ops, 38U);
    EXPECT_EQ(sums.instances, 4U);
    EXPECT_EQ(sums.host_ns, 30 + 8) << "x and y are in a";
    EXPECT_EQ(rows[2].row, npos);
    EXPECT_EQ(rows[1].row, 1U);
}

TEST_F(RowFold, LeavesOutDeepRowsWithoutCountingThem) {
    EXPECT_THAT(shown(made.rows, SIZE_MAX, 1), ElementsAre("step 1", "-forward 10", "-backward 30", "-data 0",
                                                           "-idle 0", "fixed 0", "fixed 0", "fixed 0"));
    EXPECT_THAT(shown(made.rows, 5, 1), ElementsAre("step 1", "-+4 82", "fixed 0", "fixed 0", "fixed 0"))
        << "of what is too deep the time counts, and the rows do not";
}

TEST_F(RowFold, KeepsPhasesOfTheOutermostLevel) {
    tree phases;
    phases.rows[phases.add("startup", npos, 0)].is_observed = true;
    for (int i = 1; i < 50; ++i) phases.add("mine", npos, i);
    phases.rows[phases.add("step", npos, 1)].is_observed = true;
    EXPECT_THAT(shown(phases.rows, 4), ElementsAre("startup 0", "mine 49", "step 1", "+48 1176"));
    const auto step = static_cast<std::uint32_t>(phases.rows.size() - 1);
    phases.rows[phases.add("data", step, 0, 1)].is_observed = true;
    phases.add("mine", step, 0, 2);
    phases.add("other", step, 0, 3);
    EXPECT_THAT(shown(phases.rows, 4), ElementsAre("startup 0", "step 1", "-data 0", "-+2 0", "+49 1225"));
}

// A jitted program: thousands of the compiler's passes, without GPU time.
TEST_F(RowFold, BoundsTheRowsOfAnyProgram) {
    tree compiled;
    const std::uint32_t step = compiled.add("step", npos, 100);
    const std::uint32_t compile = compiled.add("compile", step, 0, 1'000'000);
    for (int pass = 0; pass < 5'441; ++pass) compiled.add("pass", compile, 0, 1 + pass % 7);
    compiled.add_fixed();
    const auto rows = rows_to_show(compiled.rows, {});
    EXPECT_EQ(rows.size(), 40U);
    EXPECT_EQ(rows[rows.size() - 4].stands_for, 5'441U - 34);
    EXPECT_EQ(rows[2].figures.host_ns, 7);
}

// Random trees at every limit. Sums of rows need not be those of the rows below them, as where domains interleave.
TEST(RowFoldOfRandomTrees, KeepsTotalsAndOrder) {
    for (std::uint32_t seed = 1; seed <= test::random_cases(400); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
        tree made;
        std::vector<std::uint32_t> above;
        for (std::uint32_t i = below(60); i > 0; --i) {
            above.resize(below(static_cast<std::uint32_t>(above.size()) + 1));
            above.push_back(made.add("r" + std::to_string(i), above.empty() ? npos : above.back(), below(5), below(9)));
            if (below(9) == 0) made.rows.back().gpu_sum_ns += below(100);
            made.rows.back().is_observed = below(9) == 0;
        }
        made.add_fixed();
        const std::size_t all = made.rows.size();
        for (std::size_t most = 1; most <= all + 1; ++most) {
            const auto rows = rows_to_show(made.rows, {.most = most});
            std::int64_t self = 0;
            std::int64_t wanted = 0;
            std::uint64_t stood_for = 0;
            std::uint64_t always = 1;
            std::set<std::uint32_t> kept;
            std::uint32_t latest = 0;
            const auto is_always_kept = [&](const projection_row& row) {
                if (row.kind != row_kind::range) return true;
                return row.is_observed && (row.depth == 0 || (row.depth == 1 && made.rows[row.parent].is_observed));
            };
            for (const projection_row& row : made.rows) {
                wanted += row.gpu_self_ns;
                always += is_always_kept(row) ? 2U : 0U;
            }
            for (const shown_row& row : rows) {
                self += row.figures.gpu_self_ns;
                stood_for += row.stands_for;
                ASSERT_NE(row.stands_for, 1U) << "it could stand by itself";
                ASSERT_TRUE(row.figures.parent == npos || kept.contains(row.figures.parent));
                if (row.row == npos) continue;
                ASSERT_TRUE(kept.empty() || row.row > latest);
                latest = row.row;
                kept.insert(row.row);
            }
            ASSERT_EQ(self, wanted);
            ASSERT_EQ(kept.size() + stood_for, all);
            ASSERT_LE(rows.size(), std::max<std::size_t>(most, always));
            if (most >= all) {
                ASSERT_EQ(kept.size(), all);
            }
            // The largest that is left out is no larger than any that is kept for its own sake.
            std::pair<std::int64_t, std::int64_t> largest{-1, -1};
            for (std::uint32_t i = 0; i < all; ++i) {
                if (!kept.contains(i)) largest = std::max(largest, {made.rows[i].gpu_sum_ns, made.rows[i].host_ns});
            }
            std::set<std::uint32_t> with_kept_children;
            for (const std::uint32_t i : kept) with_kept_children.insert(made.rows[i].parent);
            for (const std::uint32_t i : kept) {
                const projection_row& row = made.rows[i];
                const bool is_for_others = with_kept_children.contains(i) || is_always_kept(row);
                const bool is_alone = std::none_of(rows.begin(), rows.end(), [&](const shown_row& other) {
                    return other.row == npos && other.figures.parent == row.parent;
                });
                if (is_for_others || is_alone) continue;
                ASSERT_GE(std::pair(row.gpu_sum_ns, row.host_ns), largest) << row.name;
            }
        }
    }
}

}  // namespace
}  // namespace prof::row_fold_test
