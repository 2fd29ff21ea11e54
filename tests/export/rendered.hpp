// SPDX-License-Identifier: Apache-2.0
// What the renderers make of a projection, a table or a capture, piece by piece, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "analysis/projection/row_fold.hpp"
#include "export/report/report_csv.hpp"
#include "export/report/report_json.hpp"
#include "export/report/report_text.hpp"
#include "export/report/shown_document.hpp"
#include "report/capture_heading.hpp"
#include "report/make_reports.hpp"
#include "report/reports.hpp"
#include "report/tables/gpu_projection.hpp"

namespace prof {

// How a table for people is made and shown.
struct people_layout {
    std::size_t width = 120;
    std::uint32_t deepest = UINT32_MAX;
    std::size_t rows = row_limits{}.most;
    bool legend = true;

    shown_limits limits() const { return {.rows = rows, .deepest = deepest}; }
    operator text_layout() const { return {.width = width, .legend = legend, .shown = limits()}; }
};

inline report_document shown_projection(const projection& projected, const people_layout& layout) {
    return shown_document({.parts = {gpu_projection_part(projected, {})}}, layout.limits());
}

inline std::string projection_text(const projection& projected, const people_layout& layout) {
    std::string out;
    const report_document document = shown_projection(projected, layout);
    for (const table* const made : tables_in(document.parts.front())) {
        if (is_shown(*made)) out.append(out.empty() ? "" : "\n").append(table_text(*made, layout));
    }
    return out;
}

inline std::string projection_notes(const projection& projected, const people_layout& layout) {
    return notes_text(shown_projection(projected, layout));
}

inline std::string projection_csv_header() {
    return table_csv_header(*block_in<table>(gpu_projection_part(projection(), {})), true);
}

inline std::string projection_csv(const std::string& capture, const projection& projected) {
    std::string out;
    const report_part made = gpu_projection_part(projected, {});
    for (const table* const of : tables_in(made)) out += table_csv(capture, *of, true);
    return out;
}

inline nlohmann::ordered_json projection_json(const std::string& capture, const timeline& data,
                                              std::optional<step_figures> step, const projection& projected) {
    return report_json(heading_of(data, capture), gpu_projection_part(projected, std::move(step)));
}

inline nlohmann::ordered_json table_json(const std::string& capture, const timeline& data, table of) {
    return report_json(heading_of(data, capture), part_of(std::move(of)));
}

// The title's lines, and those below the tables.
inline std::string capture_notes_text(const timeline& data) { return document_text({.capture = heading_of(data)}, {}); }

inline std::string summary_text(const timeline& data, const people_layout& layout) {
    return document_text(make_summary(data, {}, {}), layout);
}

}  // namespace prof
