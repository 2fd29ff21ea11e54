// SPDX-License-Identifier: Apache-2.0
#include "analysis/reports/report_document.hpp"

#include <algorithm>
#include <utility>

#include "analysis/reports/capture_notes.hpp"
#include "base/json_text.hpp"

namespace prof {

report_part part_of(table of) {
    report_part out;
    out.name = of.report;
    out.tables.push_back(std::move(of));
    return out;
}

bool is_shown(const table& of) noexcept { return of.shows_if_empty || !of.rows.empty(); }

std::vector<std::string> closing_notes(const report_document& document) {
    std::vector<std::string> out;
    const std::string drops = drops_line(document.capture.dropped);
    if (!drops.empty()) out.push_back(terminal_safe(drops));
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
