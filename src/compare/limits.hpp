// SPDX-License-Identifier: Apache-2.0
// Limits on what may become slower, and whether they hold. Pure functions; docs/reference/compare.md has the tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/run_profile.hpp"

namespace prof {

// "2%", "gpu=5%", "memory=2%", "range:backward=3%", "module:GPT2.h=3%".
struct gate_limit {
    std::string of{"step"};  // a word of the table in limits.cpp: "step", "gpu", "memory", "range", "module"
    std::string name{};      // of the range or module: its path, or the path's end
    double most = 0;         // 0.02 is 2 % more
    std::string text{};      // as it was given
};
inline constexpr std::string_view gate_limit_words =
    "PERCENT of the step, or gpu=PERCENT, memory=PERCENT, memory-median=PERCENT, range:PATH=PERCENT, "
    "module:PATH=PERCENT";
std::optional<gate_limit> parse_gate_limit(const std::string& text);

enum class gate_result : std::uint8_t { holds, fails, inconclusive };
std::string_view to_string(gate_result value) noexcept;

struct gated_figure {
    gate_limit limit{};
    gate_result found = gate_result::inconclusive;
    std::optional<double> change{};   // none: it is not on both sides
    std::optional<double> p_fails{};  // corrected: of such a change, if it were at the limit
    std::optional<double> p_holds{};
    std::string why{};  // if inconclusive
};

// Each fails if its change is above the limit, by a one-sided test at 5 % corrected for all limits (Holm); it holds if
// the change is below, by a one-sided test at 5 %. REQUIRES: neither group is empty.
std::vector<gated_figure> gate(const std::vector<run_profile>& base, const std::vector<run_profile>& changed,
                               const std::vector<gate_limit>& limits);

// Why a limit can never be tested: no run of either side has its range or module, which may be misspelt. "": one has.
std::string unknown_figure(const std::vector<run_profile>& base, const std::vector<run_profile>& changed,
                           const gate_limit& limit);

// Whatever the runs say: nothing can be told from them.
void make_inconclusive(std::vector<gated_figure>& figures, const std::string& why);

// Of all: one that fails outweighs one that is inconclusive.
gate_result worst_of(const std::vector<gated_figure>& of);

}  // namespace prof
