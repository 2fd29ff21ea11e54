// SPDX-License-Identifier: Apache-2.0
// What the reports of a job have in common: the summaries of its ranks, and the answer, made once. The captures are
// added one after another, and none is held. One thread.
#pragma once

#include <vector>

#include "ranks/job_answer.hpp"
#include "report/report_input.hpp"

namespace prof {

class job_knowledge {
public:
    struct answered_job {
        job_ranks ranks;
        job_answer answer;
    };

    // A report needs the ranks. REQUIRES: no capture was added.
    void ask_for_ranks(bool with_findings) noexcept {
        wants_ranks_ = true;
        wants_findings_ = wants_findings_ || with_findings;
    }
    void add(const report_input& input);
    // The job with the most ranks first. REQUIRES: all captures were added.
    const std::vector<answered_job>& jobs();

private:
    bool wants_ranks_ = false;
    bool wants_findings_ = false;
    bool is_made_ = false;
    std::vector<rank_summary> summaries_;
    std::vector<answered_job> jobs_;
};

}  // namespace prof
