// SPDX-License-Identifier: Apache-2.0
// What holds of every row of the options' table, whichever options there are. docs/ is checked against the table here,
// the help of the command in tests/cli/cli_test.py.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "options/options.hpp"

namespace prof::option_table_test {
namespace {

using testing::HasSubstr;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
        text.replace(at, what.size(), by);
    }
    return text;
}

// The words among what an option accepts: "0", "1" of "0 or 1".
std::vector<std::string> words_of(const option& row) {
    std::vector<std::string> out;
    if (!row.accepts.empty()) return out;
    std::string list = accepts_of(row);
    for (const std::string_view between : {", or ", " or ", ", "}) list = replaced(list, between, "\n");
    for (const std::string_view text : split(list, '\n')) {
        session_options any;
        const bool is_word = text.find_first_of(" @") == std::string_view::npos;
        if (is_word && row.parse(any, text)) out.emplace_back(text);
    }
    return out;
}

// Texts beside the words and the default.
const std::map<std::string_view, std::vector<std::string>> other_texts = {
    {"output_dir", {"/tmp/x", "a b"}},
    {"name", {"train", "a=b"}},
    {"library_code", {"/opt/:/vendored/"}},
    {"rank", {"0", "007"}},
    {"export", {"summary,trace", "trace,trace"}},
    {"adopt", {"worker*", "pt_autograd_*"}},
    {"activities", {"none", "copies,kernels", "all,no_launches", "kernels,kernels"}},
    {"modules", {"0", "3", "100"}},
    {"fold", {"1", "0", "layer #", "iteration #,a\\,b*#"}},
    {"rows", {"1", "1000000"}},
    {"nvtx_domain_include", {"NCCL", "a\\,b,c*", "default"}},
    {"nvtx_domain_exclude", {"NCCL,cu*", "a\\"}},
    {"communication", {"my_exchange", "my_*,*Exchange\\,2*"}},
    {"schedule", {"active=1", "repeat=2,active=3,wait=1,warmup=1"}},
    {"step_range", {"step", "step@app", "a@b@*"}},
    {"nvtx_capture", {"capture", "capture@default"}},
    {"steps", {"10-12", "7"}},
    {"capture_range_end", {"none", "repeat", "repeat:1", "repeat:20"}},
    {"budget", {"1%", "0.25%"}},
    {"keep", {"60s", "500M,2h"}},
    {"dump_on_slow_step", {"1.1", "2", "2.50"}},
    {"dump_limit", {"1", "1000"}},
    {"rings", {"memory", "/tmp/rings"}},
    {"memory", {"16384K", "33554432", "4G"}},
    {"cupti_library", {"/usr/lib/libcupti.so.12"}},
    {"run_id", {"0123456789abcdef"}},
    {"announce", {"1"}},
    {"run_journal", {"/tmp/prof-run-1-a/journal"}},
};

TEST(OptionTable, NamesEachOptionOnce) {
    std::set<std::string> names;
    for (const option& row : option_table()) {
        const std::string name(row.name);
        EXPECT_TRUE(names.insert(name).second) << name;
        EXPECT_TRUE(names.insert(variable_of(row)).second) << name;
        EXPECT_TRUE(names.insert(flag_of(row)).second) << name;
        if (!row.short_flag.empty()) {
            EXPECT_TRUE(names.insert(std::string(row.short_flag)).second) << name;
        }
        EXPECT_EQ(find_option(name), &row);
    }
    EXPECT_EQ(find_option("colour"), nullptr);
    EXPECT_EQ(find_option(""), nullptr);
}

TEST(OptionTable, HasAHelpForEachFlag) {
    std::set<std::string_view> helps;
    for (const option& row : option_table()) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(row.help.empty(), row.value_name.empty());
        EXPECT_TRUE(row.help.empty() || helps.insert(row.help).second);
        EXPECT_NE(accepts_of(row), "");
        EXPECT_NE(title_of(row.group), "");
        const bool has_flag = !row.value_name.empty();
        EXPECT_TRUE(has_flag || (row.short_flag.empty() && row.alone.empty() && row.negated.empty()));
        EXPECT_TRUE(has_flag || row.report_help.empty());
        for (const std::string_view text : {row.alone, row.negated}) {
            session_options any;
            EXPECT_TRUE(text.empty() || row.parse(any, text)) << text;
        }
    }
}

TEST(OptionTable, HasATitleForEachGroup) {
    std::set<std::string_view> titles;
    for (const option_group group : {option_group::recorded, option_group::time, option_group::output}) {
        EXPECT_TRUE(titles.insert(title_of(group)).second);
    }
}

// From a text to a value, from that to a text, and from that to the same value.
TEST(OptionTable, RoundTripsEveryValue) {
    for (const option& row : option_table()) {
        const session_options standard;
        std::vector<std::string> texts = words_of(row);
        if (const auto found = other_texts.find(row.name); found != other_texts.end()) {
            texts.insert(texts.end(), found->second.begin(), found->second.end());
        }
        if (const std::string text = row.print(standard); !text.empty()) {
            texts.push_back(text);
            session_options parsed;
            EXPECT_TRUE(row.parse(parsed, text) && parsed == standard) << row.name << "=" << text;
        }
        bool has_changed = false;
        for (const std::string& text : texts) {
            SCOPED_TRACE(std::string(row.name) + "=" + text);
            session_options parsed;
            ASSERT_TRUE(row.parse(parsed, text));
            const std::string printed = row.print(parsed);
            session_options again;
            EXPECT_TRUE(row.parse(again, printed)) << printed;
            EXPECT_TRUE(again == parsed) << printed;
            EXPECT_EQ(row.print(again), printed);
            EXPECT_EQ(text_of(parsed, row.name), printed);
            session_options copied;
            row.copy(copied, parsed);
            EXPECT_TRUE(copied == parsed);
            has_changed = has_changed || !(parsed == standard);
        }
        EXPECT_TRUE(has_changed) << row.name << ": no text here is another than the default";
    }
}

// In a capture and in messages they stand as they were written.
TEST(OptionTable, KeepsTheTextOfPlansAndLists) {
    for (const char* const name :
         {"activities", "schedule", "steps", "capture_range_end", "budget", "keep", "step_range", "nvtx_capture",
          "nvtx_domain_include", "nvtx_domain_exclude", "communication", "rank"}) {
        for (const std::string& text : other_texts.at(name)) {
            session_options out;
            EXPECT_EQ(set_option(out, name, text).message(), "");
            EXPECT_EQ(text_of(out, name), text);
        }
    }
}

TEST(OptionTable, RefusesABadValueAndChangesNothing) {
    const std::string bad_for_most = "no/such,,value\n";
    const std::map<std::string_view, std::string> others = {{"output_dir", ""},   {"library_code", ""},
                                                            {"rings", ""},        {"adopt", ""},
                                                            {"step_range", "a@"}, {"nvtx_capture", "@a"}};
    for (const option& row : option_table()) {
        if (row.name == "cupti_library" || row.name == "run_journal") continue;  // any text may be a path
        const auto found = others.find(row.name);
        const std::string bad = found == others.end() ? bad_for_most : found->second;
        const std::string shown = found == others.end() ? "no/such,,value\\x0A" : found->second;
        session_options out;
        const outcome refused = set_option(out, row, bad, "--shown-as");
        EXPECT_EQ(refused.message(), "--shown-as: \"" + shown + "\" is not accepted; it takes " + accepts_of(row));
        EXPECT_TRUE(out == session_options{}) << row.name;
    }
}

// prof ctl relies on it, and docs/ names the last ones.
TEST(OptionTable, StatesUntilWhenAnOptionMayChange) {
    std::map<option_change, std::set<std::string_view>> changes;
    for (const option& row : option_table()) changes[row.changes].insert(row.name);
    using names = std::set<std::string_view>;
    EXPECT_EQ(changes[option_change::at_program_start],
              (names{"autostart", "control", "control_signal", "run_id", "run_journal"}));
    EXPECT_EQ(changes[option_change::before_first_use], (names{"memory", "rings"}));
    EXPECT_EQ(changes[option_change::before_cupti], (names{"cupti_library"}));
    EXPECT_EQ(changes[option_change::while_recording],
              (names{"export", "adopt", "fold", "rows", "nvtx_domain_include", "nvtx_domain_exclude"}));
}

// Of docs/, wherever the file lies there.
std::string text_of_document(const char* name) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(PROF_DOCS_DIRECTORY)) {
        if (entry.path().filename() != name) continue;
        std::ifstream in(entry.path());
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }
    return {};
}

// The cells of a table's line, without the blanks around them: "| a | b\|c |" has a and b|c.
std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> out;
    for (const std::string_view cell : split(line, '|', '\\')) {
        const std::size_t begin = cell.find_first_not_of(' ');
        if (begin == std::string_view::npos) {
            if (!out.empty()) out.emplace_back();
            continue;
        }
        const std::size_t end = cell.find_last_not_of(' ') + 1;
        out.push_back(replaced(std::string(cell.substr(begin, end - begin)), "\\|", "|"));
    }
    return out;
}

std::string as_code(std::string_view text) { return "`" + std::string(text) + "`"; }

// The table of the options: a row's cells by the titles of their columns, by the option's name.
std::map<std::string, std::map<std::string, std::string>> documented_options() {
    std::map<std::string, std::map<std::string, std::string>> out;
    std::vector<std::string> titles;
    std::istringstream in(text_of_document("options.md"));
    for (std::string line; std::getline(in, line);) {
        const std::vector<std::string> cells = line.starts_with("|") ? cells_of(line) : std::vector<std::string>{};
        const bool is_title = std::find(cells.begin(), cells.end(), "accepted") != cells.end();
        if (is_title) titles = cells;
        if (cells.empty()) titles.clear();
        if (is_title || titles.empty() || cells.front().front() == '-') continue;
        auto& row = out[replaced(cells.front(), "`", "")];
        for (std::size_t i = 0; i < cells.size() && i < titles.size(); ++i) row[titles[i]] = cells[i];
    }
    return out;
}

// The numbers that bound a value: "16M" and "4G" of "a power of two from 16M to 4G".
std::vector<std::string> bounds_in(const std::string& accepts) {
    std::vector<std::string> out;
    std::string outside;
    int depth = 0;
    for (const char c : accepts.substr(0, accepts.find(';'))) {
        depth += c == '(' ? 1 : 0;
        if (depth == 0) outside += c == ',' ? ' ' : c;
        depth -= c == ')' ? 1 : 0;
    }
    for (const std::string_view word : split(outside, ' ')) {
        if (!word.empty() && word.front() >= '0' && word.front() <= '9') out.emplace_back(word);
    }
    return out;
}

TEST(OptionsDocument, HasARowForEachOption) {
    auto documented = documented_options();
    for (const option& row : option_table()) {
        SCOPED_TRACE(row.name);
        const auto found = documented.find(std::string(row.name));
        ASSERT_TRUE(found != documented.end()) << "docs/ has no row for it";
        auto& cells = found->second;
        if (cells.contains("variable")) {
            EXPECT_EQ(cells["variable"], as_code(variable_of(row)));
        }

        std::string& flags = cells["`prof run`"];
        if (row.value_name.empty()) {
            EXPECT_EQ(flags.find("--"), std::string::npos);
        } else {
            const char* const between = row.alone.empty() ? " " : "";
            EXPECT_THAT(flags, HasSubstr(as_code(flag_of(row) + between + std::string(row.value_name))));
        }
        if (!row.short_flag.empty()) {
            EXPECT_THAT(flags, HasSubstr(as_code(row.short_flag)));
        }
        if (!row.negated.empty()) {
            EXPECT_THAT(flags, HasSubstr(as_code("--no-" + flag_of(row).substr(2))));
        }

        for (const std::string& word : words_of(row)) EXPECT_THAT(cells["accepted"], HasSubstr(as_code(word)));
        for (const std::string& bound : bounds_in(accepts_of(row))) EXPECT_THAT(cells["accepted"], HasSubstr(bound));
        if (const std::string text = row.print(session_options{}); !text.empty()) {
            EXPECT_TRUE(cells["default"] == text || cells["default"].starts_with(as_code(text))) << cells["default"];
        }
        EXPECT_NE(cells["what it does"], "");
        documented.erase(found);
    }
    for (const auto& [name, cells] : documented) ADD_FAILURE() << "there is no option " << name;
}

TEST(OptionsDocument, NamesTheOptionsThatMayChangeWhileRecording) {
    const std::string text = text_of_document("control.md");
    for (const option& row : option_table()) {
        if (row.changes != option_change::while_recording) continue;
        const bool may_be_summed_up = row.name.starts_with("nvtx_domain_");
        EXPECT_THAT(text, HasSubstr(may_be_summed_up ? "domain" : as_code(row.name)));
    }
}

}  // namespace
}  // namespace prof::option_table_test
