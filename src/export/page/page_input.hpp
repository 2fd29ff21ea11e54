// SPDX-License-Identifier: Apache-2.0
// What all views of a page are made from: the answer of the first screen, and what its step consists of, by step. The
// figures are those of the report documents; a view computes nothing that has a definition elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "analysis/breakdown/idle_causes.hpp"
#include "analysis/step_table/step_table.hpp"
#include "diagnose/finding.hpp"
#include "export/page/page_view.hpp"
#include "export/report/screen/screen_numbers.hpp"
#include "export/report/screen/screen_tree.hpp"
#include "report/capture_diagnosis.hpp"
#include "report/job_knowledge.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_document.hpp"
#include "report/report_input.hpp"

namespace prof {

// A part of a step: of the GPU's time, or without GPU work of the host's.
struct page_part {
    std::string key{};
    std::string name{};
    std::string kind{};
    std::string colour{};
    std::int64_t total_ns = 0;  // in all steps, on all GPUs
    std::vector<std::int64_t> by_step{};
    std::optional<step_column> idle{};  // the column of idle time that it is of
    bool is_loader = false;             // of that column what the data loader has
};

// The step, its parts and the tree of what it consists of.
struct page_step {
    bool has_steps = false;
    bool has_gpu = false;
    screen_unit unit{};
    double count = 1;  // steps
    double devices = 1;
    double step_ns = 0;  // mean
    std::vector<whole_step> steps{};
    std::vector<page_part> parts{};
    std::vector<screen_node> tree{};  // in which no child shares its parent's line

    // Of one step on one GPU; of one step.
    double gpu(std::int64_t total_ns) const noexcept { return static_cast<double>(total_ns) / count / devices; }
    double cpu(std::int64_t total_ns) const noexcept { return static_cast<double>(total_ns) / count; }
    // As sentences have it: three digits, in the unit of the step.
    std::string sentence(double ns) const;
    // What a time of the parts is divided by.
    double of_part(std::int64_t total_ns) const noexcept { return has_gpu ? gpu(total_ns) : cpu(total_ns); }
    std::int64_t whole_ns(double ns) const noexcept;
    std::string text(double ns) const { return unit.text(unit.quanta(ns)); }
    std::string with_unit(double ns) const { return unit.with_unit(unit.quanta(ns)); }
    std::size_t part_of(idle_cause cause) const noexcept;  // its index; SIZE_MAX: it has none
};

struct page_input {
    const report_input& report;
    capture_diagnosis& diagnosed;
    const report_document& document;
    const answer_block* answer = nullptr;  // null: none
    const projected_timeline& shown;
    std::optional<step_time_subject> subject{};  // of what figures of a step are
    breakdown_steps found{};
    page_step step{};
    const diagnosis* findings = nullptr;                // null: nothing was priced
    std::string no_findings{};                          // why
    const std::vector<report_document>* job = nullptr;  // of several captures; null: one
    std::size_t shown_member = 0;
    std::span<const job_knowledge::answered_job> jobs{};  // that the captures are of, the one with most ranks first

    // The job with most ranks, if it has several; null: nothing is known of ranks.
    const job_knowledge::answered_job* ranks() const noexcept {
        return !jobs.empty() && jobs.front().ranks.ranks.size() > 1 ? &jobs.front() : nullptr;
    }
    // The paths of captures that are left out, since another one is of the same process.
    std::vector<std::string> copies() const {
        std::vector<std::string> out;
        for (const job_knowledge::answered_job& of : jobs) {
            for (const capture_copy& each : of.ranks.copies) out.push_back(each.path);
        }
        return out;
    }
};

// Of the subject and answer of the input.
page_step make_page_step(const page_input& of);

// The names of causes, as JSON has them: "host_code".
std::string_view cause_key(idle_cause cause) noexcept;

// The first of these sentences, as JSON.
inline constexpr std::size_t most_page_texts = 100;
page_json page_texts(const std::vector<std::string>& sentences);

// The name of a cause for people, in the words of the first screen.
std::string_view cause_words(idle_cause cause) noexcept;

// "15 %", "0.4 %", "<0.1 %".
std::string sentence_share(double share);

}  // namespace prof
