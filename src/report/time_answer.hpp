// SPDX-License-Identifier: Apache-2.0
// The answer above the tables: how long a step takes, and where its time on the GPU goes, in a few figures. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/breakdown/step_breakdown.hpp"
#include "analysis/projection/call_names.hpp"

namespace prof {

struct time_share {
    std::string what{};         // "backward", "copies"; of idle time "launching in backward"
    std::int64_t total_ns = 0;  // in all steps, on all GPUs
};

struct time_answer {
    step_breakdown of{};             // without its rows
    std::vector<time_share> busy{};  // largest first; adds up with `idle` to of.wall_ns
    std::vector<time_share> idle{};  // largest first

    static std::int64_t total(const std::vector<time_share>& shares) noexcept {
        std::int64_t total_ns = 0;
        for (const time_share& share : shares) total_ns += share.total_ns;
        return total_ns;
    }
};

time_answer answer_of(step_breakdown broken_down, const call_namer& call_name);

// The function of CUDA in which the host was; "" if it was in none, or its name is not known.
std::string call_text(const breakdown_row& row, const call_namer& call_name);
// "launching in backward", "waiting in cudaStreamSynchronize, forward". `call`: the function of CUDA, or "".
std::string idle_text(idle_cause cause, const std::string& call, const std::string& place);
std::string idle_text(const breakdown_row& row, const call_namer& call_name);

}  // namespace prof
