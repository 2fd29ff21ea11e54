// SPDX-License-Identifier: Apache-2.0
// The first screen: that what is printed adds up, fits, and is the same however many lines there are. The text is read
// back by its columns, as a person does.
#include "export/report/screen/first_screen.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/apportioned.hpp"
#include "base/display_text.hpp"
#include "export/report/gain_words.hpp"
#include "report/screen_terms.hpp"

namespace prof::first_screen_test {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

step_table_row row(std::string name, std::int64_t computing_ns, std::int64_t launches_ns, std::int64_t cpu_ns,
                   step_row_kind kind = step_row_kind::phase) {
    step_table_row out{.name = std::move(name), .kind = kind, .cpu_ns = cpu_ns};
    out.ns[static_cast<std::size_t>(step_column::computing)] = computing_ns;
    out.ns[static_cast<std::size_t>(step_column::launches)] = launches_ns;
    return out;
}

void complete(step_table& of) {
    of.wall_ns = of.cpu_ns = 0;
    for (const step_table_row& each : of.rows) {
        of.wall_ns += each.total_ns();
        of.cpu_ns += each.cpu_ns;
    }
}

report_document document_of(step_table where, std::vector<priced_change> gains = {}) {
    complete(where);
    answer_block answer;
    const auto steps = static_cast<std::int64_t>(where.steps);
    if (where.has_steps) {
        answer.step = step_figures{.steps = where.steps,
                                   .source = step_source::observed,
                                   .witness = 1,
                                   .total_ns = where.wall_ns,
                                   .median_ns = static_cast<double>(where.wall_ns / steps),
                                   .min_ns = where.wall_ns / steps / 2,
                                   .max_ns = where.wall_ns / steps * 2,
                                   .parts = {}};
        answer.run = run_parts{.recorded_ns = 2 * where.wall_ns,
                               .startup_ns = where.wall_ns,
                               .steps_ns = where.wall_ns,
                               .steps = where.steps};
        answer.gains = priced_changes{.dearest = std::move(gains)};
    }
    answer.where = std::move(where);
    answer.place = " run.prof";
    report_document out;
    out.capture.command = "/usr/bin/python3 /home/somebody/train.py --fast";
    out.capture.process.ops = 1;
    out.capture.process.gpus = {"NVIDIA H200", "another, of which it has used nothing"};
    out.capture.process.used_gpus = {"NVIDIA H200"};
    out.parts.push_back({.name = "gpu-projection", .blocks = {std::move(answer)}});
    return out;
}

step_table small_table() {
    step_table out{.has_steps = true, .steps = 10, .devices = 1};
    out.rows = {row("backward", 60'000'000, 10'000'000, 40'000'000), row("forward", 30'000'000, 5'000'000, 20'000'000),
                row("", 0, 5'000'000, 50'000'000, step_row_kind::rest)};
    return out;
}

priced_change change(std::string noun, double gain_ns, double share) {
    return {.rule = "launch_bound",
            .title = noun,
            .gain_ns = gain_ns,
            .share = share,
            .noun = noun,
            .places = {"backward", "optimizer/Optimizer.step#AdamW.step", "forward"},
            .more_places = 1,
            .brief_advice = "less of it"};
}

TEST(FirstScreen, AnswersInItsOrder) {
    const report_document document = document_of(small_table(), {change("launches", 2'000'000, 0.1818)});
    const std::vector<std::string> lines = first_screen(document, {.width = 80, .lines = 23});
    ASSERT_THAT(lines, SizeIs(18));
    EXPECT_EQ(lines[0], "prof  python3 train.py --fast                                        NVIDIA H200");
    EXPECT_EQ(lines[1], "Step  11.00 ms, mean of 10 (5.50 to 22.00); one optimizer.step() each");
    EXPECT_EQ(lines[2], "GPU   busy 9.00 ms (82 %); idle 2.00 ms (18 %), waiting for launches");
    EXPECT_EQ(lines[3], "Run   0.220 s: start-up 0.110, 10 steps 0.110");
    EXPECT_THAT(lines[4], testing::MatchesRegex("(█)+ backward (█)+ (█)+ forward (█)+ (░)+ launches (░)+"));
    EXPECT_EQ(lines[5], "");
    EXPECT_EQ(lines[6], "                                 GPU  GPU idle");
    EXPECT_EQ(lines[7], "ms a step          time         busy  launches    CPU");
    EXPECT_EQ(lines[8], "backward           7.00   63 %  6.00      1.00   4.00");
    EXPECT_EQ(lines[9], "forward            3.50   32 %  3.00      0.50   2.00");
    EXPECT_EQ(lines[10], "rest of the step   0.50    5 %            0.50   5.00");
    EXPECT_EQ(lines[11], "whole step        11.00  100 %  9.00      2.00  11.00");
    EXPECT_EQ(lines[12], "");
    EXPECT_EQ(lines[13], "Possible gains a step");
    EXPECT_EQ(lines[14], "     2.00 ms  18 %  launches in backward, optimizer/AdamW.step and 2 more");
    EXPECT_EQ(lines[15], "                    try less of it");
    EXPECT_EQ(lines[16], "");
    EXPECT_EQ(lines[17], "next: prof diagnose run.prof (each place, what to try)   prof help terms");
}

// The numbers of a row of a table, by the columns of its last line; "" where there is none.
std::vector<std::string> cells_of(const std::string& line, const std::string& sum, std::size_t name_width) {
    std::vector<std::string> out;
    std::size_t from = name_width;
    for (std::size_t at = name_width; at < sum.size();) {
        at = sum.find_first_not_of(' ', at);
        if (at == std::string::npos) break;
        std::size_t end = std::min(sum.find(' ', at), sum.size());
        if (sum.compare(end, 2, " %") == 0) end += 2;
        std::string cell = from < line.size() ? line.substr(from, end - from) : std::string();
        cell.erase(0, cell.find_first_not_of(' '));
        cell.erase(cell.find_last_not_of(' ') + 1);
        out.push_back(std::move(cell));
        from = at = end;
    }
    return out;
}

std::int64_t number(std::string text) {
    std::erase_if(text, [](char each) { return each == '.' || each == ',' || each == '%' || each == ' '; });
    return text.empty() ? 0 : std::stoll(text);
}

struct read_table {
    std::vector<std::vector<std::int64_t>> rows;  // of the outermost level
    std::vector<std::int64_t> sum;
    std::vector<std::string> titles;
};

// REQUIRES: names have no bytes outside ASCII.
read_table table_in(const std::vector<std::string>& lines) {
    const auto head = std::find_if(lines.begin(), lines.end(), [](const std::string& line) {
        return line.find(" a step ") != std::string::npos && line.find("CPU") != std::string::npos;
    });
    const auto sum =
        std::find_if(head, lines.end(), [](const std::string& line) { return line.starts_with("whole step"); });
    read_table out;
    if (head == lines.end() || sum == lines.end()) return out;
    const std::size_t name_width = std::string_view("whole step").size();
    const auto numbers_of = [&](const std::string& line) {
        std::vector<std::int64_t> numbers;
        for (const std::string& cell : cells_of(line, *sum, name_width)) numbers.push_back(number(cell));
        return numbers;
    };
    out.sum = numbers_of(*sum);
    for (auto line = head + 1; line != sum; ++line) {
        if (line->starts_with(' ')) continue;
        // A name may be longer than that of the sum: digits in it are none of a column's.
        std::string plain = *line;
        const std::size_t name = std::min(plain.find("  "), plain.size());
        for (std::size_t i = 0; i < std::min(name, plain.size()); ++i) plain[i] = ' ';
        out.rows.push_back(numbers_of(plain));
    }
    return out;
}

step_table random_table(std::mt19937& random, std::size_t rows, double step_ns) {
    std::uniform_real_distribution<double> part(0, 1);
    step_table out{
        .has_steps = true, .steps = 1 + random() % 50, .devices = static_cast<std::uint32_t>(1 + random() % 2)};
    for (std::size_t i = 0; i < rows; ++i) {
        step_table_row each = row(fmt::format("phase_{}", static_cast<char>('a' + i % 26)) + std::string(i / 26, 'x'),
                                  0, 0, static_cast<std::int64_t>(part(random) * step_ns));
        for (std::int64_t& ns : each.ns) {
            if (random() % 3 == 0) continue;
            ns = static_cast<std::int64_t>(std::pow(part(random), 4) * step_ns * static_cast<double>(out.steps));
        }
        out.rows.push_back(std::move(each));
    }
    std::stable_sort(out.rows.begin(), out.rows.end(),
                     [](const step_table_row& a, const step_table_row& b) { return a.total_ns() > b.total_ns(); });
    return out;
}

TEST(FirstScreen, HasNumbersThatAddUpAsTheyArePrinted) {
    std::mt19937 random(7);
    std::size_t with_rows = 0;
    for (int i = 0; i < 400; ++i) {
        const std::size_t rows = 1 + random() % 12;
        const double step_ns = std::pow(10.0, 4 + 0.01 * static_cast<double>(random() % 600));
        const report_document document = document_of(random_table(random, rows, step_ns));
        const std::vector<std::string> lines =
            first_screen(document, {.width = 80 + random() % 20, .lines = 16 + random() % 45});
        const read_table read = table_in(lines);
        ASSERT_FALSE(read.sum.empty()) << fmt::format("{}", fmt::join(lines, "\n"));
        with_rows += read.rows.size() > 2 ? 1 : 0;
        // time, percent, busy and idle columns, CPU, and perhaps waits (which are 0 here).
        const std::size_t last = read.sum.size() - 1;
        for (std::size_t c = 0; c < read.sum.size(); ++c) {
            std::int64_t sum = 0;
            for (const auto& each : read.rows) sum += each[c];
            ASSERT_EQ(sum, read.sum[c]) << c << '\n' << fmt::format("{}", fmt::join(lines, "\n"));
        }
        ASSERT_EQ(read.sum[1], 100);
        for (const auto& each : read.rows) {
            ASSERT_EQ(
                std::accumulate(each.begin() + 2, each.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{0}),
                each[0])
                << fmt::format("{}", fmt::join(lines, "\n"));
        }
        // The heading's busy and idle time add up to the step, which is the table's sum.
        const auto after = [&](const std::string& line, std::string_view word) {
            const std::size_t at = line.find(word) + word.size();
            return number(line.substr(at, line.find(' ', at) - at));
        };
        ASSERT_EQ(after(lines[1], "Step  "), read.sum[0]);
        const auto gpu =
            std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("GPU"); });
        ASSERT_EQ(after(*gpu, "busy ") + after(*gpu, "idle "), read.sum[0]) << *gpu;
    }
    EXPECT_GT(with_rows, 200U);
}

// Names of every kind, and any number of phases and gains.
TEST(FirstScreen, FitsOnEveryScreen) {
    std::mt19937 random(11);
    const std::vector<std::string> letters{"a",  "Z",  "7",       "_",        ".",  "/",    "é", "漢",
                                           "字", "👍", "e\u0301", "\x1b[31m", "\n", "\xff", " "};
    for (int i = 0; i < 300; ++i) {
        step_table where = random_table(random, 1 + random() % (i % 10 == 0 ? 1000 : 20), 1e7);
        for (step_table_row& each : where.rows) {
            each.name.clear();
            for (std::size_t length = 1 + random() % 300; length > 0; --length)
                each.name += letters[random() % letters.size()];
            if (random() % 3 != 0) continue;
            step_table_row child = each;
            child.kind = step_row_kind::module;
            child.children.clear();
            each.children.push_back(std::move(child));
        }
        if (random() % 5 == 0) {
            for (step_table_row& each : where.rows) each.ns = {};
            where.devices = 0;
        }
        std::vector<priced_change> gains;
        for (std::size_t count = random() % 6; count > 0; --count) {
            gains.push_back(change(std::string(1 + random() % 200, 'g'), 1e6, 0.1));
        }
        report_document document = document_of(std::move(where), gains);
        for (std::size_t count = random() % 5; count > 0; --count)
            document.capture.warnings.emplace_back(random() % 500, 'w');
        document.capture.command = std::string(random() % 400, 'c');
        const screen_layout layout{
            .width = 60 + random() % 80, .lines = 16 + random() % 45, .is_ascii = random() % 2 == 0};
        const std::vector<std::string> lines = first_screen(document, layout);
        ASSERT_LE(lines.size(), layout.lines) << fmt::format("{}", fmt::join(lines, "\n"));
        for (const std::string& line : lines) {
            ASSERT_LE(display_width(line), layout.width) << line;
            ASSERT_EQ(line.find_first_of("\n\x1b"), std::string::npos) << line;
        }
        ASSERT_THAT(lines.front(), StartsWith("prof  "));
        ASSERT_THAT(lines, Contains(StartsWith("Step  ")));
        ASSERT_THAT(lines, Contains(StartsWith("whole step")));
        ASSERT_THAT(lines.back(), StartsWith("next: "));
        if (!gains.empty()) {
            ASSERT_THAT(lines, Contains(StartsWith("Possible gains")));
            ASSERT_THAT(lines, Contains(HasSubstr("  10 %  g")));
        }
    }
}

// A lower screen leaves lines out, and changes no number.
TEST(FirstScreen, HasTheSameNumbersAtEveryHeight) {
    std::mt19937 random(13);
    for (int i = 0; i < 60; ++i) {
        const report_document document = document_of(random_table(random, 1 + random() % 8, 2e7),
                                                     {change("launches", 1e6, 0.1), change("code", 5e5, 0.05)});
        const std::vector<std::string> whole = first_screen(document, {.width = 80});
        for (std::size_t height = 16; height <= 60; ++height) {
            for (std::string line : first_screen(document, {.width = 80, .lines = height})) {
                if (const std::size_t hidden = line.find(", 1 of 2"); hidden != std::string::npos)
                    line.erase(hidden, 8);
                const bool is_fold = line.find(" more ") != std::string::npos || line.find("try ") != std::string::npos;
                if (!is_fold) {
                    ASSERT_THAT(whole, Contains(line)) << height;
                }
            }
        }
    }
}

TEST(FirstScreen, MakesOneRowOfSiblingsThatAreAlike) {
    step_table where = small_table();
    for (int i = 0; i < 12; ++i) {
        step_table_row layer =
            row(fmt::format("layer {}", i), i == 7 ? 20'000'000 : 3'000'000, 0, 0, step_row_kind::range);
        layer.children = {row("attention", 1'000'000, 0, 0, step_row_kind::range)};
        where.rows[0].children.push_back(std::move(layer));
    }
    std::swap(where.rows[0].children[0], where.rows[0].children[7]);
    const std::vector<std::string> lines = first_screen(document_of(where), {.width = 80, .lines = 40});
    EXPECT_THAT(lines, Contains(StartsWith("  layer 0 … 11 ×11 ")));
    EXPECT_THAT(lines, Contains(StartsWith("  layer 7 ")));
    const std::vector<std::string> plain =
        first_screen(document_of(where), {.width = 80, .lines = 40, .is_ascii = true});
    EXPECT_THAT(plain, Contains(StartsWith("  layer 0 ~ 11 x11 ")));
    for (const std::string& line : plain) {
        EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char each) { return each > 0; })) << line;
    }
}

TEST(FirstScreen, JoinsAChildThatIsAllOfItsParent) {
    step_table where = small_table();
    step_table_row model = row("GPT", 60'000'000, 0, 0, step_row_kind::module);
    model.children = {row("blocks", 50'000'000, 0, 0, step_row_kind::module),
                      row("", 10'000'000, 0, 0, step_row_kind::own)};
    where.rows[0].children = {model};
    where.rows[1].children = {row("only", 30'000'000, 0, 0, step_row_kind::range)};
    const std::vector<std::string> lines = first_screen(document_of(where), {.width = 80, .lines = 40});
    EXPECT_THAT(lines, Contains(StartsWith("backward ")));
    EXPECT_THAT(lines, Contains(StartsWith("  blocks ")));
    EXPECT_THAT(lines, Contains(StartsWith("  its own ")));
    EXPECT_THAT(lines, Contains(StartsWith("forward: only ")));
}

TEST(FirstScreen, ShowsGainsInTheOrderOfTheDiagnosis) {
    priced_change rough = change("rough one", 9e6, 0.8);
    rough.is_rough = rough.changes_results = true;
    const report_document document = document_of(
        small_table(), {change("first", 3e6, 0.3), change("second", 2e6, 0.2), rough, change("third", 1e6, 0.1)});
    std::vector<std::string> found;
    for (const std::string& line : first_screen(document, {.width = 80, .lines = 24})) {
        if (line.find(" %  ") != std::string::npos && line.starts_with("  ")) found.push_back(line);
    }
    ASSERT_THAT(found, SizeIs(4));
    EXPECT_THAT(found[0], HasSubstr("first in"));
    EXPECT_THAT(found[1], HasSubstr("second in"));
    EXPECT_THAT(found[2], HasSubstr("(rough; results change)"));
}

// Marks give way, as far as they must, to what the gain is of.
TEST(FirstScreen, SaysWhatAGainIsOfHoweverNarrowItIs) {
    priced_change all = change("copies from unpinned memory", 9e6, 0.8);
    all.is_on_cpu = all.is_rough = all.changes_results = true;
    EXPECT_THAT(gain_text(all, 120), HasSubstr("(CPU time; rough; results change)"));
    EXPECT_THAT(gain_text(all, 50), HasSubstr("(CPU; rough; results)"));
    EXPECT_THAT(gain_text(all, 36), HasSubstr("(rough)"));
    for (std::size_t width = 16; width <= 120; ++width) {
        const std::string text = gain_text(all, width);
        EXPECT_LE(display_width(text), width) << text;
        EXPECT_THAT(text, StartsWith("copies from unp")) << width;
    }
    all.places.clear();
    EXPECT_EQ(gain_text(all, 20), "copies from unpinne…");
}

TEST(FirstScreen, EscapesNamesOnce) {
    priced_change hostile = change("CPU code", 3e6, 0.3);
    hostile.places = {"tab\tname", "a\x1b[31mred"};
    hostile.more_places = 0;
    EXPECT_EQ(gain_text(hostile, 100), "CPU code in tab\\x09name, a\\x1B[31mred");
}

TEST(FirstScreen, NamesTheRangeThatIsAStep) {
    step_figures steps{.steps = 3, .witness = 1, .parts = {}};
    EXPECT_EQ(what_a_step_is(steps), "one optimizer.step() each");
    steps.range = "backward";
    EXPECT_EQ(what_a_step_is(steps), "one range \"backward\" each");
}

// Neither a verdict on the GPU nor gains, and why; what mends the capture is seen on a low terminal, too.
TEST(FirstScreen, HasNoVerdictOnWorkThatWasLost) {
    step_table lost = small_table();
    lost.devices = 0;
    for (step_table_row& each : lost.rows) each.ns = {};
    lost.lost_launches = 4443;
    report_document document = document_of(lost);
    auto& answer = *block_in<answer_block>(document.parts.front());
    answer.gains.reset();
    document.capture.warnings = {"one", "two", "three"};
    document.capture.facts = {"prof seal completes the file"};
    for (const std::size_t most : {std::size_t{16}, std::size_t{24}, std::size_t{60}}) {
        const std::vector<std::string> lines = first_screen(document, {.width = 80, .lines = most});
        EXPECT_THAT(lines, Contains("GPU   not known: none of the 4,443 launches in these steps has a GPU record"));
        EXPECT_THAT(lines, Contains("note: prof seal completes the file"));
        EXPECT_THAT(lines, Each(testing::Not(testing::ContainsRegex("busy|gain|Nothing was found|diagnose"))));
    }
}

TEST(FirstScreen, NamesThePartThatIsShownAndWhatExaminesIt) {
    report_document document = document_of(small_table());
    auto& answer = *block_in<answer_block>(document.parts.front());
    answer.gains.reset();
    answer.place = " --from 5 --to 5.6 run.prof";
    document.capture.selection = selection_facts{.request = {.from = "5", .to = "5.6"}};
    const std::vector<std::string> lines = first_screen(document, {.width = 100, .lines = 24});
    EXPECT_THAT(lines.front(), HasSubstr("from 5; to 5.6"));
    EXPECT_THAT(lines.back(), StartsWith("next: prof diagnose --from 5 --to 5.6 run.prof"));
}

TEST(FirstScreen, SaysWhatIsNotKnown) {
    EXPECT_THAT(first_screen(document_of(small_table()), {.width = 80, .lines = 24}),
                Contains("Nothing was found that would shorten a step by 1 %."));
    step_table without = small_table();
    without.has_steps = false;
    without.steps = 1;
    const std::vector<std::string> lines = first_screen(document_of(without), {.width = 120, .lines = 24});
    EXPECT_THAT(lines, Contains(HasSubstr("--step-range NAME marks them")));
    EXPECT_THAT(lines, Contains(StartsWith("ms in all ")));
    EXPECT_THAT(lines, Contains(StartsWith("outside ranges ")));
    EXPECT_THAT(lines, Contains(StartsWith("whole recording ")));
    for (const std::size_t width : {std::size_t{60}, std::size_t{80}}) {
        const std::vector<std::string> narrow = first_screen(document_of(without), {.width = width, .lines = 24});
        EXPECT_THAT(narrow, Contains(testing::ContainsRegex("^Step .*--step-range NAME marks? them$")));
    }
    EXPECT_TRUE(first_screen(report_document{}, {}).empty());
}

TEST(FirstScreen, IsFourLinesOnASmallTerminal) {
    const report_document document = document_of(small_table(), {change("launches", 2'000'000, 0.1818)});
    for (const screen_layout layout :
         {screen_layout{.width = 40, .lines = 24}, screen_layout{.width = 80, .lines = 10}}) {
        const std::vector<std::string> lines = first_screen(document, layout);
        ASSERT_THAT(lines, SizeIs(4));
        EXPECT_THAT(lines[0], StartsWith("Step  11.00 ms"));
        EXPECT_THAT(lines[1], StartsWith("GPU   busy 9.00 ms"));
        EXPECT_THAT(lines[2], HasSubstr("launches"));
        EXPECT_THAT(lines[3], StartsWith("next: "));
    }
}

TEST(FirstScreen, HasAMeaningForEachOfItsWords) {
    const auto is_known = [](std::string_view word) {
        const auto terms = screen_terms();
        return std::any_of(terms.begin(), terms.end(), [&](const screen_term& term) { return term.word == word; });
    };
    for (std::size_t i = 0; i < step_column_count; ++i) {
        const std::string_view word = use_word(static_cast<step_column>(i));
        EXPECT_TRUE(is_known(word)) << word;
    }
    for (const char* const word :
         {"Step", "GPU", "CPU", "Run", "start-up", "warm-up", "end", "between", "time", "busy", "comm", "idle",
          "data loader", "rest of the step", "its own", "rough", "results change"}) {
        EXPECT_TRUE(is_known(word)) << word;
    }
}

TEST(JobScreen, HasARowForEachRank) {
    std::vector<report_document> documents;
    for (std::int64_t rank = 0; rank < 4; ++rank) {
        step_table where = small_table();
        where.rows[0].ns[static_cast<std::size_t>(step_column::communication)] = rank == 2 ? 1'000'000 : 10'000'000;
        where.rows[0].ns[static_cast<std::size_t>(step_column::launches)] += rank == 2 ? 9'000'000 : 0;
        report_document one =
            document_of(where, rank == 2 ? std::vector{change("late code", 1e6, 0.08)} : std::vector<priced_change>{});
        one.capture.process.rank = rank;
        one.capture.process.host = "node";
        documents.push_back(std::move(one));
    }
    std::vector<const report_document*> all;
    for (const report_document& each : documents) all.push_back(&each);
    const std::vector<std::string> lines = job_screen(all, {.width = 80, .lines = 23});
    EXPECT_THAT(lines, SizeIs(testing::Le(23U)));
    EXPECT_THAT(lines.front(), HasSubstr("4 ranks, 4 x NVIDIA H200"));
    EXPECT_THAT(lines, Contains("Ranks rank 2 waits least: 0.10 ms of communication, the others 1.00"));
    EXPECT_THAT(lines, Contains(testing::MatchesRegex("rank 2 +12\\.00 +9\\.00 +0\\.10 +2\\.90")));
    EXPECT_THAT(lines, Contains(testing::MatchesRegex("rank 0 +12\\.00 +9\\.00 +1\\.00 +2\\.00")));
    EXPECT_THAT(lines, Contains(StartsWith("mean of 4 ranks ")));
    EXPECT_THAT(lines, Contains(HasSubstr("rank 2: late code in backward")));
    for (const std::string& line : lines) EXPECT_LE(display_width(line), 80U) << line;
    EXPECT_TRUE(job_screen({&documents.front()}, {}).empty());

    const job_figures figures = figures_of_job(all);
    EXPECT_EQ(figures.verdict, "Ranks 0, 1 and 3 wait for rank 2");
    EXPECT_THAT(figures.sentences,
                Contains("Of the ranks, rank 2 waits least: 0.10 ms of communication, the others 1.00"));
    EXPECT_THAT(figures.titles, testing::ElementsAre("computing", "communication", "idle"));
    ASSERT_THAT(figures.rows, SizeIs(4));
    EXPECT_EQ(figures.rows.front().process->rank, 2);
    EXPECT_EQ(figures.rows.front().time, "12.00");
    EXPECT_THAT(figures.rows.front().parts, testing::ElementsAre("9.00", "0.10", "2.90"));
    EXPECT_EQ(figures.mean.process, nullptr);
    EXPECT_TRUE(figures_of_job({&documents.front()}).rows.empty());
}

// A rank without steps is in no mean, one without communication is not compared by waiting, and a second capture of a
// process is none of the ranks.
TEST(JobScreen, ComparesWhatIsAlike) {
    std::vector<report_document> documents;
    for (std::int64_t rank = 0; rank < 6; ++rank) {
        step_table where = small_table();
        const std::int64_t communication_ns = rank == 2 ? 0 : 5'000'000 + 1'000'000 * rank;
        where.rows[0].ns[static_cast<std::size_t>(step_column::communication)] = communication_ns;
        where.rows[0].ns[static_cast<std::size_t>(step_column::launches)] += 10'000'000 - communication_ns;
        report_document one = document_of(where);
        if (rank == 1) {
            std::get<answer_block>(one.parts.front().blocks.front()).step.reset();
            std::get<answer_block>(one.parts.front().blocks.front()).where->has_steps = false;
        }
        one.capture.process.rank = rank == 5 ? 4 : rank;
        one.capture.process.host = "node";
        one.capture.path = "dir/" + std::to_string(rank) + ".prof";
        documents.push_back(std::move(one));
    }
    std::vector<const report_document*> all;
    for (const report_document& each : documents) all.push_back(&each);
    const std::vector<std::string> lines =
        job_screen(all, {.width = 110, .lines = 30}, {}, {}, {documents.back().capture.path});
    EXPECT_THAT(lines.front(), HasSubstr("5 ranks, 5 x NVIDIA H200"));
    EXPECT_THAT(lines, Contains("left out: 5.prof, a second capture of one process"));
    EXPECT_THAT(lines, Contains(HasSubstr(" on each of 4 ranks (")));
    EXPECT_THAT(lines, Contains("Ranks rank 0 waits least: 0.50 ms of communication, the others 0.80 to 0.90; without "
                                "any: rank 2"));
    EXPECT_THAT(lines, Contains(StartsWith("mean of 4 ranks ")));
    const auto apart = std::find(lines.begin(), lines.end(), "without steps, ms in all");
    ASSERT_NE(apart, lines.end());
    EXPECT_THAT(*(apart + 1), StartsWith("rank 1 "));
    const job_figures figures = figures_of_job(all, {documents.back().capture.path});
    EXPECT_EQ(figures.verdict, "Ranks 3 and 4 wait for rank 0");
    EXPECT_THAT(figures.rows, SizeIs(4));
    EXPECT_THAT(figures.sentences, Contains("Without steps, and not in these means: rank 1"));
    // Only one has steps: it has no mean with another one, and is compared with none.
    const std::vector<std::string> two = job_screen({all[0], all[1]}, {.width = 110, .lines = 30});
    EXPECT_THAT(two.front(), HasSubstr("2 ranks, 2 x NVIDIA H200"));
    EXPECT_THAT(two, Contains("Ranks cannot be compared: only rank 0 has steps"));
    EXPECT_THAT(two, Contains(HasSubstr(" on each of 1 rank (")));
    // Copies alone have a row each.
    EXPECT_THAT(job_screen({all[4], all[5]}, {.width = 110, .lines = 30}, {}, {}, {documents.back().capture.path}),
                Contains(StartsWith("5.prof ")));
}

TEST(ScreenNumbers, AddUpToTheirTotal) {
    std::mt19937 random(3);
    for (int i = 0; i < 2000; ++i) {
        std::vector<double> shares(1 + random() % 30);
        for (double& share : shares) share = random() % 4 == 0 ? 0 : static_cast<double>(random()) / 1e3;
        const auto total = static_cast<std::int64_t>(random() % 100'000);
        const std::vector<std::int64_t> cells = apportioned(shares, total);
        const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
        ASSERT_EQ(std::accumulate(cells.begin(), cells.end(), std::int64_t{0}), sum > 0 ? total : 0);
        for (std::size_t at = 0; at < cells.size(); ++at) {
            const double exact = sum > 0 ? shares[at] / sum * static_cast<double>(total) : 0;
            ASSERT_LT(std::abs(static_cast<double>(cells[at]) - exact), 1.0 + 1e-6);
        }
    }
}

}  // namespace
}  // namespace prof::first_screen_test
