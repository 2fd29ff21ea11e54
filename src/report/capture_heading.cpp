// SPDX-License-Identifier: Apache-2.0
#include "report/capture_heading.hpp"

#include <utility>

#include "analysis/quality/capture_notes.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "report/captured_process.hpp"

namespace prof {

capture_heading heading_of(const timeline& data, std::string path) {
    const std::vector<capture_note> notes = capture_notes(data);
    return {.path = std::move(path),
            .title = capture_title(data),
            .command = data.property("command"),
            .windows = windows_line(data),
            .process = process_of(data),
            .dropped = data.quality.dropped,
            .warnings = texts_of(notes, {note_weight::warning}),
            .facts = texts_of(notes, {note_weight::heading}),
            .notes = texts_of(notes, {note_weight::detail})};
}

capture_heading heading_of(const report_input& input) {
    const selected_part* const part = input.selected;
    const timeline& whole = part == nullptr ? input.data : part->recorded();
    capture_heading out = heading_of(whole, input.capture);
    for (std::string& line : patterns_in_vain(whole, input.projected.attribution.domains)) {
        out.warnings.push_back(std::move(line));
    }
    if (part == nullptr) return out;
    out.selection = part->facts();
    out.warnings.insert(out.warnings.end(), part->facts().in_vain.begin(), part->facts().in_vain.end());
    return out;
}

}  // namespace prof
