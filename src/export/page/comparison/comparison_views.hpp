// SPDX-License-Identifier: Apache-2.0
// The views of the page of a comparison. Each maker has a file of its own.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "export/page/page_view.hpp"
#include "export/report/screen/screen_numbers.hpp"
#include "report/report_document.hpp"

namespace prof {

struct comparison_page_input {
    const comparison& of;
    const report_document& document;
    screen_unit unit{};  // of all times

    std::string text(double ns) const { return unit.text(unit.quanta(ns)); }
    std::string change(double ns) const;  // with its sign
    // The report of this name in the document; null: it has none.
    const report_part* part(std::string_view name) const noexcept;
    // "steps" or "recordings"
    std::string_view noun() const noexcept { return of.has_steps ? "step" : "recording"; }
};

page_view make_change_view(const comparison_page_input& input);
page_view make_sides_view(const comparison_page_input& input);
page_view make_runs_view(const comparison_page_input& input);
// The reports that are tables alone: figures, what is not the same, limits, kernels, modules, lines, findings, notes.
// Those without rows are left out.
page_view make_figures_view(const comparison_page_input& input);
std::vector<page_view> make_first_table_views(const comparison_page_input& input);
std::vector<page_view> make_last_table_views(const comparison_page_input& input);

}  // namespace prof
