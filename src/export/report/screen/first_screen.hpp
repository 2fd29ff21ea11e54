// SPDX-License-Identifier: Apache-2.0
// The first screen of a capture: how long a step is, where it goes, what would shorten it, and what to type next, in as
// many lines as there are. docs/guide/screen.md describes it. A pure function.
#pragma once

#include <string>
#include <vector>

#include "export/report/screen/screen_table.hpp"
#include "report/report_document.hpp"

namespace prof {

// Lines of at most layout.width cells, at most layout.lines of them; none if the document has no answer. The order of
// its blocks and their first words do not change. Fewer lines mean fewer rows and gains, and never other numbers.
std::vector<std::string> first_screen(const report_document& document, const screen_layout& layout);

// The screen of a job: a row for each of its processes with GPU work (if none has any, for each with steps), and how
// they differ. None if fewer than two documents have a first screen. `verdicts`: of the report `ranks`, one for each
// job, ready for a terminal; none: that was not made. `verdict_capture`: the path of the rank's that the first one
// names. `copies`: paths of captures that are left out, since another one is of the same process.
std::vector<std::string> job_screen(const std::vector<const report_document*>& documents, const screen_layout& layout,
                                    const std::vector<std::string>& verdicts = {},
                                    const std::string& verdict_capture = {},
                                    const std::vector<std::string>& copies = {});

// The same for a page: what the screen says of the job in sentences, and its table.
struct job_figures {
    struct row {
        const captured_process* process = nullptr;  // null: the mean of all
        std::string time{};
        std::vector<std::string> parts{};  // they add up to the time
    };
    std::string unit{};                    // of all times
    std::vector<std::string> sentences{};  // without a full stop
    std::string verdict{};                 // for which rank the others wait; "": for none
    std::vector<std::string> titles{};     // of the parts
    std::vector<row> rows{};               // in the order of the screen: those with steps, if any has
    row mean{};
    bool is_of_several = false;  // programs: the mean says nothing
};
// Refers to the documents. Without rows if there is no screen of the job.
job_figures figures_of_job(const std::vector<const report_document*>& documents,
                           const std::vector<std::string>& copies = {});

// Pieces of both.
// The answer of the document; null: it has none.
const answer_block* answer_in(const report_document& document) noexcept;
// The command line as it was typed, without the directories of the interpreter and of the program.
std::string short_command(const capture_heading& capture);
// "one optimizer.step() each"
std::string what_a_step_is(const step_figures& steps);
// "15 %" of 152; with one decimal if that is wanted.
std::string percent_text(std::int64_t tenths, bool has_decimal);
// Cuts what is longer than the screen is wide; in ASCII where that is wanted, but for names.
void fit_lines(std::vector<std::string>& lines, const screen_layout& layout);
// "prof  WHAT                 RIGHT"
std::string head_line(std::string what, const std::string& right_text, std::size_t width);

// Whether the document has what the first screen is made of.
bool has_first_screen(const report_document& document) noexcept;

}  // namespace prof
