// SPDX-License-Identifier: Apache-2.0
// The reports of several captures together (report_kind::begin_job), such as those of a job's ranks. The captures are
// read one after another, and what a report keeps of each is all that is held. No process is needed. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/job_knowledge.hpp"
#include "report/report_document.hpp"
#include "report/report_input.hpp"
#include "report/report_settings.hpp"

namespace prof {

class job_reports {
public:
    // Some of `kinds` are of a job: these are made here. Of a single capture all are made as the others are.
    job_reports(std::span<const report_kind* const> kinds, std::size_t captures);

    // The reports that each capture has of its own: make_reports() makes them.
    std::span<const report_kind* const> of_captures() const noexcept { return of_captures_; }
    std::size_t size() const noexcept { return jobs_.size(); }

    // The next capture. Its input may end after the call.
    void add(const report_input& input);
    // None without a report or a capture. Throws prof::error if a report cannot be sorted as the settings say.
    // REQUIRES: it is the last call.
    std::optional<report_document> finish(const report_settings& settings);

private:
    struct job {
        const report_kind* kind;
        std::unique_ptr<report_job> report;
    };
    // A warning, and how many captures have it.
    struct shared_warning {
        std::string text;
        std::string first;  // the path of the first one
        std::size_t captures = 0;
    };

    void add_to_heading(const capture_heading& member);

    job_knowledge shared_;
    std::vector<const report_kind*> of_captures_;
    std::vector<job> jobs_;
    capture_heading heading_;
    std::vector<shared_warning> warnings_;
    std::size_t more_warnings_ = 0;
};

// Whether it is the report `ranks` of captures that have nothing to do with each other: one rank has no peers, and a
// verdict on it says nothing.
bool is_of_one_rank(const report_part& part);

}  // namespace prof
