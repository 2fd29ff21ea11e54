// SPDX-License-Identifier: Apache-2.0
#include "report/report_document.hpp"

#include <algorithm>
#include <utility>

#include "base/json_text.hpp"

namespace prof {

report_part part_of(table made) {
    report_part out;
    out.name = made.report;
    out.blocks.emplace_back(std::move(made));
    return out;
}

std::vector<const table*> tables_in(const report_part& part) {
    std::vector<const table*> out;
    for (const report_block& block : part.blocks) {
        if (const auto* const found = std::get_if<table>(&block)) out.push_back(found);
    }
    return out;
}

std::string line_of_selection(const capture_heading& capture) {
    return capture.selection ? "selected: " + terminal_safe(selection_line(*capture.selection)) : std::string();
}

std::vector<std::string> all_notes(const capture_heading& capture) {
    std::vector<std::string> out = capture.warnings;
    out.insert(out.end(), capture.facts.begin(), capture.facts.end());
    out.insert(out.end(), capture.notes.begin(), capture.notes.end());
    return out;
}

std::vector<std::string> captures_of(const capture_heading& capture) {
    return capture.members.empty() ? std::vector{capture.path} : capture.members;
}

std::vector<std::string> lines_above(const capture_heading& capture) {
    std::vector<std::string> out;
    out.reserve(capture.warnings.size() + capture.facts.size());
    for (const std::string& warning : capture.warnings) out.push_back("warning: " + terminal_safe(warning));
    for (const std::string& fact : capture.facts) out.push_back(terminal_safe(fact));
    return out;
}

std::vector<std::string> closing_notes(const report_document& document) {
    std::vector<std::string> out;
    out.reserve(document.capture.notes.size());
    for (const std::string& note : document.capture.notes) out.push_back(terminal_safe(note));
    // A report that was asked for twice has its notes once.
    const auto own = static_cast<std::ptrdiff_t>(out.size());
    for (const report_part& part : document.parts) {
        for (const std::string& note : part.reading_notes) {
            if (std::find(out.begin() + own, out.end(), note) == out.end()) out.push_back(note);
        }
    }
    return out;
}

}  // namespace prof
