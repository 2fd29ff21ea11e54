// SPDX-License-Identifier: Apache-2.0
// One trace of the ranks of a job: with aligned clocks, a process for each rank, and arrows between the members of a
// collective. The captures are read twice, one after another: first what the clocks and the arrows need of all of them,
// then what is written. Memory: that of the largest timeline, 100 bytes a collective of all ranks, 64 an arrow. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/selection/part_of_timeline.hpp"
#include "cli/arguments.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "ranks/job.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// "0,2,8-15".
std::optional<std::vector<number_range>> parse_ranks(const std::string& text);
accepted_values rank_lists();

class job_trace {
public:
    // `ranks`: those that the trace shows; empty: all.
    explicit job_trace(std::vector<number_range> ranks) : wanted_(std::move(ranks)) {}

    // The next capture. `whole`: as it was read, with its attribution; `shown`: what of it the trace would have;
    // `kept`: which operations these are, null: all.
    void survey(const std::string& path, const timeline& whole, const attribution& att,
                const std::string& step_function, const timeline& shown, const kept_entities* kept);

    // A capture of the trace, in the trace's order.
    struct member {
        std::string path;
        std::uint32_t rank = 0;  // index into job().ranks
        std::uint32_t first_collective = 0;
        std::uint32_t end_collective = 0;
    };
    // After all captures. Throws prof::error if there is no rank to show, or several jobs.
    void plan();
    const std::vector<member>& members() const noexcept { return members_; }
    // Of these, in their order, on the trace's clock.
    std::vector<trace_heading> headings() const;
    // What is to be known of the trace, a line each.
    std::vector<std::string> remarks() const;
    // Takes what is known of a member; once for each. `kept`: as above.
    trace_member take(const member& capture, const kept_entities* kept);
    std::uint64_t arrows() const noexcept { return arrow_count_; }

private:
    struct surveyed {
        trace_heading heading;
        std::vector<bool> is_shown;  // by collective: its operation is in the trace
    };
    bool is_wanted(const rank_summary& summary) const;
    void find_arrows();
    trace_clock clock_of(std::uint32_t rank) const;

    std::vector<number_range> wanted_;
    std::vector<rank_summary> summaries_;
    std::map<std::string, surveyed> surveyed_;  // by path
    std::vector<std::string> without_gpu_;
    job_ranks job_;
    std::vector<member> members_;
    std::map<std::string, std::vector<trace_member::arrow_end>> arrows_;  // by path; `op`: of the whole timeline
    std::uint64_t arrow_count_ = 0;
    std::uint64_t too_short_ = 0;  // arrows from or to operations that take no time
    std::size_t absent_ = 0;
};

}  // namespace prof
