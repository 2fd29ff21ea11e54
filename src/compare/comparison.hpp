// SPDX-License-Identifier: Apache-2.0
// Two groups of runs compared: verdicts, where the difference comes from, and what changed. A pure function of their
// profiles; docs/reference/compare.md defines the figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/matched_names.hpp"
#include "compare/run_profile.hpp"
#include "compare/verdict.hpp"

namespace prof {

// A fact of all runs of a group, that is another one in the other group.
struct fact_difference {
    std::string what{};  // "GPU"
    std::string base{};  // "": not known there; of runs that differ among themselves all values
    std::string changed{};
};

// A figure of the runs: "step", "GPU time", "memory peak". More of it is worse.
struct compared_figure {
    std::string name{};
    judged_figure judged{};
    bool is_memory = false;  // bytes; else a time in ns
};

// A part of the difference between the mean steps, in whole quanta of time: the parts of a side add up to its step.
struct waterfall_part {
    std::string phase{};  // "": in no phase
    std::string use{};    // as time_cell has it
    std::int64_t base_ns = 0;
    std::int64_t new_ns = 0;

    std::int64_t change_ns() const noexcept { return new_ns - base_ns; }
};

struct waterfall {
    std::int64_t base_ns = 0;  // the mean step of a group, exactly the sum over the parts
    std::int64_t new_ns = 0;
    std::vector<waterfall_part> parts{};  // by the size of their change, largest first
};

// A range, module, kernel, line or place of memory that is on one side or on both.
struct compared_cost {
    std::string name{};      // that of the second group, if it is there
    std::string old_name{};  // if it had another one
    name_match how = name_match::exact;
    bool is_in_base = false;
    bool is_in_new = false;
    double base_amount = 0;  // as in named_cost, the mean over the runs
    double new_amount = 0;
    double base_count = 0;
    double new_count = 0;
    std::optional<double> p{};  // corrected for the table; none: it was not tested
    bool is_changed() const noexcept { return p && *p < 0.05; }
};

struct compared_finding {
    std::string rule{};
    std::string title{};
    bool is_in_base = false;
    bool is_in_new = false;
    double base_ns = 0;  // its gain
    double new_ns = 0;
};

// A run of either side: its figure, and how sure its own steps make that.
struct compared_run {
    bool is_new = false;      // of the second group
    std::string file{};       // its first capture
    std::uint64_t steps = 0;  // 0: all that was recorded is one
    double step_ns = 0;
    std::optional<interval> at{};  // of the mean, 95 %; none: of too few steps
    double gpu_sum_ns = 0;
    double gpu_busy_ns = 0;
    double peak_bytes = 0;  // 0: no allocation was recorded
};
// Of a group, in its order.
std::vector<compared_run> figures_of_runs(const std::vector<run_profile>& runs, bool are_new);

struct comparison {
    bool has_steps = false;  // else the recordings are compared as one step each
    std::uint64_t base_runs = 0;
    std::uint64_t new_runs = 0;
    std::vector<std::string> files{};
    std::vector<fact_difference> differences{};
    std::vector<compared_figure> figures{};  // the step first
    std::vector<compared_run> runs{};        // of the first group, then of the second
    waterfall parts{};
    std::vector<compared_cost> ranges{};  // by the size of their change, largest first
    std::vector<compared_cost> modules{};
    std::vector<compared_cost> kernels{};
    std::vector<compared_cost> lines{};
    std::vector<compared_cost> memory{};       // empty if not every run has its memory
    std::vector<compared_finding> findings{};  // those that went, came, and stayed
    std::vector<std::string> warnings{};       // why the sides cannot be held against one another
    std::vector<std::string> notes{};          // what could not be compared

    const judged_figure& step() const { return figures.front().judged; }
    bool is_pair() const noexcept { return base_runs == 1 && new_runs == 1; }
};

// REQUIRES: neither group is empty. Throws prof::error if one has steps and the other has none.
comparison compare(const std::vector<run_profile>& base, const std::vector<run_profile>& changed,
                   const verdict_options& options);

// The waterfall alone: groups of cells of which each run's add up to its step. The quantum is what people see of a
// time.
waterfall make_waterfall(const std::vector<run_profile>& base, const std::vector<run_profile>& changed);

}  // namespace prof
