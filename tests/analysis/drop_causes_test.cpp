// SPDX-License-Identifier: Apache-2.0
#include "analysis/quality/drop_causes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "record/drop.hpp"

namespace prof::drop_causes_test {
namespace {

// Without code marks and the targets of links.
std::string plain(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.compare(i, 2, "](") == 0)
            i = text.find(')', i);
        else if (text[i] != '`' && text[i] != '[')
            out += text[i];
    }
    return out;
}

struct documented {
    std::string what;
    std::string remedy;
};

// The rows of the table of docs/guide/notes.md, by cause. A row may have several causes.
std::map<std::string, documented> table_of_the_guide() {
    std::map<std::string, documented> out;
    std::ifstream file(PROF_NOTES_DOC);
    for (std::string line; std::getline(file, line) && line != "## Drop reasons";) {
    }
    for (std::string line; std::getline(file, line) && !line.starts_with("## ");) {
        if (!line.starts_with("|`")) continue;
        std::istringstream cells(line.substr(1));
        std::string causes;
        documented row;
        std::getline(cells, causes, '|');
        std::getline(cells, row.what, '|');
        std::getline(cells, row.remedy, '|');
        std::istringstream each(causes);
        for (std::string cause; std::getline(each >> std::ws, cause, ',');) {
            out[plain(cause)] = {plain(row.what), plain(row.remedy)};
        }
    }
    return out;
}

TEST(DropCauses, AreDescribedAsInTheGuide) {
    const auto guide = table_of_the_guide();
    ASSERT_EQ(guide.size(), drop_cause_count + 4);
    for (const auto& [cause, row] : guide) {
        const drop_description& described = describe_drop(cause);
        EXPECT_EQ(described.cause, cause);
        EXPECT_EQ(described.what, row.what) << cause;
        EXPECT_EQ(described.remedy, row.remedy) << cause;
    }
    for (const std::string_view cause : drop_cause_names) EXPECT_TRUE(guide.contains(std::string(cause))) << cause;
}

TEST(DropCauses, OfANewerVersionAreDescribed) {
    EXPECT_EQ(describe_drop("cause_77").what, "what a newer libprof counts");
    EXPECT_EQ(describe_drop("").what, "what a newer libprof counts");
}

timeline with_records(std::size_t ranges, std::size_t ops, std::map<std::string, std::uint64_t> dropped) {
    timeline out;
    out.ranges.resize(ranges);
    out.ops.resize(ops);
    out.quality.dropped = std::move(dropped);
    return out;
}

std::string line_of(const std::string& cause, std::uint64_t count) {
    const auto notes = drop_notes(with_records(900, 900, {{cause, count}}));
    return notes.size() == 1 ? notes.front().text : "";
}

// 300 of 900 + 300 are a quarter.
TEST(DropCauses, AreSentencesWithTheShareThatWasLost) {
    EXPECT_EQ(
        drop_notes(with_records(900, 0, {{"ring_full", 100}, {"enclosing_range_dropped", 200}})).at(0).text,
        "25.0 % (300) of all ranges and CUDA calls were lost: the rings were full; raise memory (--memory 512M), or "
        "make fewer ranges (ring_full, enclosing_range_dropped)");
    EXPECT_EQ(line_of("cupti_dropped", 100),
              "10.0 % (100) of all GPU operations were lost: CUPTI had no buffer; raise memory (--memory 512M) "
              "(cupti_dropped)");
    EXPECT_EQ(line_of("names_full", 450),
              "50.0 % (450) of all ranges lost their names: there was no room for more names; raise memory (--memory "
              "512M), or give ranges fewer different names (names_full)");
    EXPECT_EQ(line_of("ring_full", 1).find("1 range or CUDA call was lost"), 0U);
    EXPECT_EQ(line_of("forked_child", 2),
              "2 forked child processes used ranges or CUDA and could not be recorded; start workers by spawn or "
              "forkserver; for the limits of forked children see docs/reference/options.md (forked_child)");
}

// No cause is left out, and none stands by its code name alone.
TEST(DropCauses, EachHaveASentence) {
    for (const std::string_view cause : drop_cause_names) {
        EXPECT_GT(line_of(std::string(cause), 5).size(), cause.size() + 30) << cause;
        EXPECT_EQ(line_of(std::string(cause), 5).find("kind that this version"), std::string::npos) << cause;
    }
    for (const char* const cause : {"end_without_start", "nested_too_deep", "unknown_parent"}) {
        EXPECT_EQ(line_of(cause, 5).find("kind that this version"), std::string::npos) << cause;
    }
    EXPECT_EQ(line_of("cause_77", 1234),
              "1,234 losses of a kind that this version does not know; use the prof of the libprof that recorded "
              "(cause_77)");
}

// What is usual at the borders of windows is no warning.
TEST(DropCauses, WarnOfWhatChangesTheNumbers) {
    const auto weight = [](const char* cause) { return drop_notes(with_records(1, 1, {{cause, 1}})).at(0).weight; };
    EXPECT_EQ(weight("ring_full"), note_weight::warning);
    EXPECT_EQ(weight("cause_9"), note_weight::warning);
    EXPECT_EQ(weight("pop_without_push"), note_weight::detail);
}

}  // namespace
}  // namespace prof::drop_causes_test
