// Reports for people: text for a terminal of `width` cells, ASCII but for names. Pure functions of a timeline.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/projection/projection.hpp"
#include "analysis/projection/row_fold.hpp"
#include "analysis/reports/table.hpp"
#include "analysis/steps/step_figures.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct text_layout {
    std::size_t width = 120;
    std::uint32_t deepest = UINT32_MAX;    // ranges below this depth are left out (they count for those above)
    std::size_t rows = row_limits{}.most;  // of ranges, in a table; those left out are one row where they stood
    bool legend = true;                    // lines that say what the columns mean
};

// The capture's title and its command line.
std::string title_text(const timeline& data, const text_layout& layout);

// What a step takes: two lines; where no launch of GPU work was recorded, one.
std::string step_text(const step_figures& steps, const text_layout& layout);
std::string projection_text(const projection& projected, const text_layout& layout);
std::string table_text(const table& of, const text_layout& layout);

// What a reader should know before trusting the numbers, one line each; empty when all is well.
std::string capture_notes_text(const timeline& data);
std::string projection_notes(const projection& projected, const text_layout& layout);

// All of it: title, what a step takes, GPU projection, of a capture that has only some of the run's steps an estimate
// for all of them, notes. What `prof run` prints and a recording leaves beside its capture.
std::string summary_text(const timeline& data, const attribution& att, const projection_options& options,
                         const text_layout& layout);

}  // namespace prof
