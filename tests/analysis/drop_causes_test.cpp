// SPDX-License-Identifier: Apache-2.0
#include "analysis/reports/drop_causes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
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

}  // namespace
}  // namespace prof::drop_causes_test
