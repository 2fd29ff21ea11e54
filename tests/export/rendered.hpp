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
#include "report/tables/gpu_projection.hpp"
#include "report/reports.hpp"
#include "export/report/report_csv.hpp"
#include "export/report/report_json.hpp"
#include "export/report/report_text.hpp"

namespace prof {

// How a table for people is made and shown.
struct people_layout {
    std::size_t width = 120;
    std::uint32_t deepest = UINT32_MAX;
    std::size_t rows = row_limits{}.most;
    bool legend = true;

    row_limits limits() const { return {.most = rows, .deepest = deepest}; }
    operator text_layout() const { return {.width = width, .legend = legend}; }
};

inline std::string projection_text(const projection& projected, const people_layout& layout) {
    std::string out;
    for (const table& of : gpu_projection_part(projected, {}, layout.limits()).tables) {
        if (is_shown(of)) out.append(out.empty() ? "" : "\n").append(table_text(of, layout));
    }
    return out;
}

inline std::string projection_notes(const projection& projected, const people_layout& layout) {
    return notes_text({.parts = {gpu_projection_part(projected, {}, layout.limits())}});
}

inline std::string projection_csv_header() {
    return table_csv_header(gpu_projection_part(projection(), {}, {}).tables.front(), true);
}

inline std::string projection_csv(const std::string& capture, const projection& projected) {
    std::string out;
    for (const table& of : gpu_projection_part(projected, {}, {}).tables) out += table_csv(capture, of, true);
    return out;
}

inline nlohmann::ordered_json projection_json(const std::string& capture, const timeline& data,
                                              std::optional<step_figures> step, const projection& projected) {
    return report_json(heading_of(data, capture), gpu_projection_part(projected, std::move(step), {}));
}

inline nlohmann::ordered_json table_json(const std::string& capture, const timeline& data, table of) {
    return report_json(heading_of(data, capture), part_of(std::move(of)));
}

// The title's lines, and those below the tables.
inline std::string capture_notes_text(const timeline& data) { return document_text({.capture = heading_of(data)}, {}); }

inline std::string summary_text(const timeline& data, const people_layout& layout) {
    return document_text(
        make_summary({.data = data, .for_people = true, .deepest = layout.deepest, .rows = layout.rows}), layout);
}

}  // namespace prof
