// SPDX-License-Identifier: Apache-2.0
// The reports of one capture as a value: the heading, each report with its blocks, and the notes. make_reports.hpp
// makes it, and export/report/ renders it in every format. Plain data. Names from the process are stored byte for byte,
// and the renderer escapes them, unless a comment here states otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/selection/selected_part.hpp"
#include "analysis/step_table/run_parts.hpp"
#include "analysis/step_table/step_table.hpp"
#include "analysis/steps/step_figures.hpp"
#include "diagnose/finding.hpp"
#include "report/table.hpp"
#include "report/time_answer.hpp"

namespace prof {

// Which process was recorded, and how much of it: a line of the overview of several captures.
struct captured_process {
    std::string program{};
    std::string host{};
    std::optional<std::int64_t> rank{};
    std::optional<std::int64_t> pid{};
    std::int64_t recorded_ns = 0;  // in all windows
    std::uint64_t ranges = 0;
    std::uint64_t calls = 0;  // of CUDA
    std::uint64_t ops = 0;    // of the GPU
    std::int64_t gpu_sum_ns = 0;
    std::vector<std::string> gpus{};       // their names; "" of one that is not known
    std::vector<std::string> used_gpus{};  // those of them that did something
    std::string part{};                    // of the run that was recorded, as windows below
    std::string state{};                   // "" where it ended in good order
    bool is_forked = false;                // or spawned by Python: a worker of a program
};

// The lines above and below all reports of a capture (capture_notes.hpp).
struct capture_heading {
    std::string path{};     // of the capture, as the user gave it
    std::string title{};    // which process it was
    std::string command{};  // its command line; "" if that is not known
    std::string windows{};  // the part of the run that was recorded; "" if it is all of it
    captured_process process{};
    std::optional<selection_facts> selection{};      // the part that the reports show; none: all
    std::map<std::string, std::uint64_t> dropped{};  // records by cause
    std::vector<std::string> warnings{};             // what went wrong, what the numbers lack; above the tables
    std::vector<std::string> facts{};                // what was recorded and how it ended; above the tables, too
    std::vector<std::string> notes{};                // below the tables
    // The paths of all captures, where the reports are of all together; then `path` and `process` have nothing.
    std::vector<std::string> members{};
};

// Kernels, copies or sets of one name, launched outside all ranges by one call of one thread.
struct no_range_work {
    std::string name{};
    std::string thread{};
    std::string call{};  // "" where no names of calls are known
    std::int64_t gpu_ns = 0;
    std::uint64_t ops = 0;
};

// What a change of the program would gain, at most (diagnose/finding.hpp).
struct priced_change {
    std::string rule{};
    std::string title{};
    double gain_ns = 0;  // of a step
    double share = 0;    // of a step
    // The same for a line of the first screen (diagnose/finding.hpp).
    std::string noun{};
    std::vector<std::string> places{};  // the dearest; "": outside ranges; empty: it has no places in the program
    std::uint64_t more_places = 0;      // beside these
    std::string brief_advice{};
    bool is_rough = false;         // confidence is low
    bool changes_results = false;  // of the program
    // It gains more than the GPU is idle for this cause, by more than a twentieth of a step: the CPU gets on sooner
    // although the GPU is busy meanwhile.
    bool is_on_cpu = false;
};

// Changes in the order of the findings (sort_findings).
struct priced_changes {
    std::vector<priced_change> dearest{};
    std::uint64_t sampled = 0;  // steps on which the prices rest; 0: all
    double together_ns = 0;     // the price of all findings at once, of a step
    double together_share = 0;
};

// What a step takes, where its time goes, and what changes would gain.
struct answer_block {
    std::optional<step_figures> step{};     // none: the capture has no steps
    std::optional<time_answer> answer{};    // none: there was no GPU work
    std::optional<step_table> where{};      // none: nothing was recorded that takes time
    std::optional<run_parts> run{};         // how the recording divides; none: of a part of it
    std::optional<priced_changes> gains{};  // none: not diagnosed; without changes: nothing was found
    // What names the capture in a command that says more, " hf.prof" or " --steps 3:8 hf.prof"; "" where a command
    // without it means this one.
    // None: no command can read it again.
    std::optional<std::string> place{};
    std::vector<no_range_work> no_range{};  // the largest in the row "(no range)"
    // The peak of GPU memory and what held it, "12.31 GB of 84.93 GB, in backward: ..."; "": not recorded. Ready for a
    // terminal.
    std::string memory{};
};

// Sentences for people, a paragraph each. Ready for a terminal.
struct text_block {
    std::vector<std::string> paragraphs{};
};

// What was found, the same in the words of the first screen, and where the moments of its places begin.
struct findings_block {
    diagnosis found{};
    std::int64_t begin_ns = 0;  // on the timeline's clock
    priced_changes changes{};   // one of each finding, in their order: priced_changes_of(found)
};

using report_block = std::variant<answer_block, text_block, findings_block, table>;

// One report. Its tables have the same columns for programs, and are one table in CSV.
struct report_part {
    std::string name{};      // of the report: "cuda_gpu_kern_sum"
    bool is_nsight = false;  // its columns in CSV are Nsight's and no others, unless captures must be distinguished
    bool is_of_job = false;  // of all captures together, even where there is one
    std::vector<report_block> blocks{};
    // Lines for people, below all reports of the capture: rows that were left out or merged. Ready for a terminal:
    // names in them are terminal_safe (base/json_text.hpp).
    std::vector<std::string> reading_notes{};
};

struct report_document {
    capture_heading capture{};
    std::vector<report_part> parts{};  // in the order in which they were asked for
    bool has_all_reports = false;      // all there are: people see those that have rows
};

report_part part_of(table made);  // a report that is one table

// The first block of this kind; null if there is none.
template <typename TBlock>
TBlock* block_in(report_part& part) noexcept {
    for (report_block& block : part.blocks) {
        if (auto* const found = std::get_if<TBlock>(&block)) return found;
    }
    return nullptr;
}
template <typename TBlock>
const TBlock* block_in(const report_part& part) noexcept {
    return block_in<TBlock>(const_cast<report_part&>(part));
}
// Its tables, in their order.
std::vector<const table*> tables_in(const report_part& part);

// Warnings, facts and notes, in this order.
std::vector<std::string> all_notes(const capture_heading& capture);
// The paths of the captures that the reports are of: one, or those of a job.
std::vector<std::string> captures_of(const capture_heading& capture);
// "selected: range backward; 1,850 of 4,575 GPU operations", ready for a terminal; "" if the reports show all.
std::string line_of_selection(const capture_heading& capture);
// The lines above the reports: "warning: " and what the numbers lack, then what was recorded. Ready for a terminal.
std::vector<std::string> lines_above(const capture_heading& capture);
// The lines below the reports: the notes of the capture, and those of the reports. Ready for a terminal.
std::vector<std::string> closing_notes(const report_document& document);

}  // namespace prof
