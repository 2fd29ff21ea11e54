// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "export/example_captures.hpp"
#include "export/lines_of.hpp"
#include "export/report/report_writer.hpp"
#include "report/make_reports.hpp"

namespace prof::report_markdown_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string markdown_of(const report_document& document, bool legend = true) {
    const auto writer = find_report_format("markdown")->make({.layout = {.legend = legend}});
    writer->add(document);
    return writer->text();
}

TEST(ReportMarkdown, WorkedByHand) {
    table of{"mine", "GPU time by name", {}, {}, {}};
    of.columns = {{"name", "name"},
                  {"symbol", ""},
                  {"ns", "GPU", quantity::time_ns},
                  {"share", "GPU %", quantity::share},
                  {"stddev", "stddev", quantity::time_ns, 9}};
    of.rows = {{std::string("a|b_*"), std::string("s"), 1500, 0.75, 1},
               {std::string("  c"), std::string(), 500, {}, 1}};
    of.sums = {{std::string("all"), std::string(), 2000, 1.0, 1}};
    of.notes = {"some <were> left out"};
    of.legend = {{"GPU", "GPU: durations, added."}, {"", "For all."}, {"stddev", "stddev: not shown."}};
    report_document document{.capture = {.title = "train.py, rank 0", .command = "python train.py --x `y`"},
                             .parts = {part_of(of)}};
    document.capture.warnings = {"3 names were lost"};
    document.capture.facts = {"it still runs"};
    document.parts.front().reading_notes = {"few names"};
    EXPECT_EQ(markdown_of(document),
              "# train.py, rank 0\n"
              "\n"
              "    $ python train.py --x `y`\n"
              "\n"
              "- warning: 3 names were lost\n"
              "- it still runs\n"
              "\n"
              "## GPU time by name, in us\n"
              "\n"
              "| name | GPU | GPU % |\n"
              "| :-- | --: | --: |\n"
              "| a\\|b\\_\\* | 1.500 | 75.0 % |\n"
              "| &nbsp;&nbsp;c | 0.500 | - |\n"
              "| **all** | **2.000** | **100.0 %** |\n"
              "\n"
              "Note: some \\<were\\> left out\n"
              "\n"
              "GPU: durations, added.\n"
              "For all.\n"
              "\n"
              "## Notes\n"
              "\n"
              "- few names\n");
}

TEST(ReportMarkdown, IsWholeWhereAnyWidthWillDo) {
    table of{"mine", "Names", {{"name", "name"}, {"n", "last", quantity::count, 9}}, {}, {}};
    of.rows = {{std::string(1000, 'x'), 7}};
    const auto writer = find_report_format("markdown")->make({.layout = {.width = any_width}});
    writer->add({.parts = {part_of(of)}});
    EXPECT_THAT(writer->text(), HasSubstr("\n| " + std::string(1000, 'x') + " | 7 |\n"));
}

TEST(ReportMarkdown, HasOneLineForATableWithoutRows) {
    table of{"mine", "GPU time by name", {{"ns", "GPU", quantity::time_ns}}, {}, {}};
    of.instead = "none was recorded";
    EXPECT_THAT(markdown_of({.parts = {part_of(of)}}), testing::EndsWith("\n## GPU time by name: none was recorded\n"));
}

TEST(ReportMarkdown, HasWhatAStepTakes) {
    const std::string text = markdown_of(make_summary(steps_capture(0), {}, {}));
    EXPECT_THAT(text, HasSubstr("\n- **Step** 1.000 ms, mean of 3 "));
    EXPECT_THAT(text, HasSubstr("\n- **GPU** busy 0.700 ms (70 %); idle 0.300 ms (30 %)"));
    EXPECT_THAT(text, HasSubstr("\n| ms a step | time | % | GPU busy | comm |"));
    EXPECT_THAT(text, HasSubstr("\n| **whole step** | **1.000** | **100 %** |"));
    EXPECT_THAT(text, Not(HasSubstr("```")));
}

TEST(ReportMarkdown, ShortensLongNames) {
    table of{"mine", "GPU time by name", {{"name", "name"}}, {}, {}};
    of.rows = {{std::string(1000, 'x')}};
    EXPECT_THAT(markdown_of({.parts = {part_of(of)}}), HasSubstr("\n| " + std::string(66, 'x') + "…"));
}

// No name breaks a line, a row or the page.
TEST(ReportMarkdown, SurvivesHostileNames) {
    const std::string text = markdown_of(make_summary(eventful_capture(), {}, {}), false);
    for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
    EXPECT_THAT(text, HasSubstr("evil \"name\" "));
    std::size_t columns = 0;
    for (const std::string& line : lines_of(text)) {
        if (!line.starts_with('|')) {
            columns = 0;
            continue;
        }
        std::size_t bars = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (line[i] == '\\') {
                ++i;
            } else if (line[i] == '|') {
                ++bars;
            }
        }
        if (columns == 0) columns = bars;
        EXPECT_EQ(bars, columns) << line;
    }
}

std::string html_of(const report_document& document) {
    const auto writer = find_report_format("html")->make({});
    writer->add(document);
    return writer->text();
}

TEST(ReportHtml, HasWhatTheTextHas) {
    table of{"mine",
             "GPU time by name",
             {{"name", "name"}, {"ns", "GPU", quantity::time_ns}, {"hidden", "", quantity::count}},
             {},
             {}};
    of.rows = {{std::string("  <b> & \"c\""), 1'500'000, 1}};
    of.sums = {{std::string("all"), 2'000'000, 1}};
    of.legend = {{"GPU", "GPU: durations, added."}};
    report_document document{.capture = {.title = "train.py"}, .parts = {part_of(of)}};
    document.capture.warnings = {"3 names < 4"};
    document.parts.front().reading_notes = {"few names"};
    EXPECT_EQ(
        html_of(document),
        "<section>\n<h3>train.py</h3>\n<p>warning: 3 names &lt; 4</p>\n<h4>GPU time by name, in us</h4>\n<table>\n"
        "<thead><tr><th style=\"text-align:left\">name</th><th style=\"text-align:right\">GPU</th></tr></thead>\n"
        "<tbody>\n"
        "<tr><td style=\"text-align:left\">&nbsp;&nbsp;&lt;b&gt; &amp; &quot;c&quot;</td>"
        "<td style=\"text-align:right\">1,500.000</td></tr>\n"
        "<tr><th style=\"text-align:left\">all</th><th style=\"text-align:right\">2,000.000</th></tr>\n"
        "</tbody>\n</table>\n<p><small>GPU: durations, added.</small></p>\n<p>note: few names</p>\n</section>\n");
}

}  // namespace
}  // namespace prof::report_markdown_test
