// SPDX-License-Identifier: Apache-2.0
// What reports are made of, and what a report is. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/attribution/domain_filter.hpp"
#include "analysis/projection/call_names.hpp"
#include "analysis/projection/projection.hpp"
#include "analysis/selection/selected_part.hpp"
#include "report/report_document.hpp"
#include "symbols/kernel_names.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class capture_diagnosis;
class job_knowledge;
struct kept_memory;
class mean_step;
struct perf_samples;

struct report_input {
    const timeline& data;
    std::string capture{};  // its path, as documents show it
    kernel_name_style names = kernel_name_style::full;
    hidden_domains hidden{};
    projection_options projected{};  // of reports that apply adoption
    // The timeline's attribution with projected.attribution, where the caller has it: that saves making it.
    const attribution* att = nullptr;
    // Set if `data` and `att` are those of a part. Headings are of the whole.
    const selected_part* selected = nullptr;
    // Set where tables for people are of one step. They have the columns of the others, in other places and meanings,
    // so that the document is of use to people only.
    const mean_step* step = nullptr;
    // Nobody will ask for more rows of a long list in its own order, so that a maker may leave out the others.
    std::size_t most_rows = SIZE_MAX;
    // Of reports that are lists (report_kind::is_list), in every format; "": each has its own order.
    std::string_view sort{};
    std::size_t limit = SIZE_MAX;
    // The floating-point operations of a step, as the user says; none: as the program does (mfu.hpp).
    std::optional<double> flops_per_step{};
    const perf_samples* samples = nullptr;  // that perf has taken beside the recording; null: none
    std::string counted_by{};               // as report_settings
    // What a CUDA call is called.
    call_namer call_name{};
    // Of the whole capture, where the caller has one: the reports that show what was found make their own else.
    capture_diagnosis* diagnosed = nullptr;
    // Where what is known of memory is kept for the other reports of the input (memory_answer.hpp); null: nowhere.
    kept_memory* memory = nullptr;
    // The document is used while the input lives: lists may make their rows when they are asked for
    // (table::later_rows).
    bool may_make_rows_later = false;
    bool may_use_threads = false;  // one more than the calling one: not inside a profiled program
};

// A report of several captures, such as those of a job's ranks, while it is made. The captures are read one after
// another, and none is held: a job keeps what it needs of each.
class report_job {
public:
    report_job() = default;
    report_job(const report_job&) = delete;
    report_job& operator=(const report_job&) = delete;
    virtual ~report_job() = default;

    // The next capture, whose input and timeline end after the call. `heading`: of the whole capture.
    virtual void add(const report_input& input, const capture_heading& heading) = 0;
    // REQUIRES: it is the last call.
    virtual report_part finish() = 0;
};

struct report_kind {
    std::string_view name;
    std::string_view purpose;  // one line
    // Of the columns that together identify a row, in this capture and in another: "group|cause|call|place".
    std::string_view keys;
    // Of one capture. A report of a job can be made of one, too.
    report_part (*make)(const report_input& input);
    bool is_nsight = true;      // has Nsight's columns, named as in its CSV
    bool is_list = true;        // its rows may be in any order, and be cut off
    bool is_diagnosed = false;  // it shows what a diagnosis of the capture found
    // Of a report of all captures together (job_reports.hpp); null: there is one of each.
    // `shared`: what several of them are made of; it outlives the report_job.
    std::unique_ptr<report_job> (*begin_job)(job_knowledge& shared) = nullptr;
};

}  // namespace prof
