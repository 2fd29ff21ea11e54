// SPDX-License-Identifier: Apache-2.0
// Reports for people: text for a terminal of `width` cells, ASCII but for names. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/steps/step_figures.hpp"
#include "export/report/screen/screen_table.hpp"
#include "report/report_document.hpp"
#include "report/table.hpp"

namespace prof {

inline constexpr std::size_t any_width = SIZE_MAX;  // all columns and whole names

struct text_layout {
    std::size_t width = 120;
    bool legend = true;                     // lines that explain the columns, and name those left out
    std::optional<std::int64_t> unit_ns{};  // all tables have the unit for this time; else each has its own
    bool color = false;                     // headings, warnings and notes look different in a terminal
    std::size_t lines = SIZE_MAX;           // of the first screen
    bool only_screen = false;               // where a document has a first screen, nothing else of it
    bool is_ascii = false;                  // no character of the first screen's own is outside ASCII
    std::string_view wide_option = "prof report --wide";  // what shows the columns that have no space
    bool wrap_lines = false;  // warnings and notes are lines of `width`, as a terminal would break words
    shown_limits shown{};     // of each table
};

// All of it, with the tables' rows within the limits: the capture's title, its command line, what must be known before
// the numbers, the reports, and the notes.
std::string document_text(const report_document& document, const text_layout& layout);
// The same of a document whose tables have been cut (shown_document.hpp).
std::string shown_text(const report_document& document, const text_layout& layout);

// Parts of it.
screen_layout screen_layout_of(const text_layout& layout);
// The lines of a first screen in their colours.
std::string screen_text(const std::vector<std::string>& lines, const text_layout& layout);
// What must be known before the numbers: warnings, and what was recorded.
std::string facts_text(const capture_heading& capture, const text_layout& layout);
std::string table_text(const table& of, const text_layout& layout);
// What a table of this width needs below it: the columns that it has no space for, and sentences on those it shows.
struct table_explanation {
    std::vector<std::string> left_out{};
    std::vector<std::string> legend{};
};
table_explanation explanation_of(const table& of, const text_layout& layout);
std::string explanation_text(const table_explanation& of, const text_layout& layout);
// Of the capture and of its reports, one line each; empty when all is well.
std::string notes_text(const report_document& document, const text_layout& layout = {});

}  // namespace prof
