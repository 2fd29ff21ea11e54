// SPDX-License-Identifier: Apache-2.0
#include "diagnose/finding_sets.hpp"

#include <algorithm>
#include <set>

namespace prof {
namespace {

constexpr std::size_t most_in_all_sets = 6;  // findings
constexpr std::size_t most_in_sets = 30;
constexpr std::size_t most_in_pairs = 10;

}  // namespace

std::uint32_t set_bit_of(std::size_t index) noexcept { return index < most_in_sets ? std::uint32_t{1} << index : 0; }

std::vector<std::uint32_t> sets_to_price(std::span<const finding> findings, const diagnosis& whole) {
    diagnosis read{.steps = whole.steps, .step_ns = whole.step_ns};
    for (std::size_t i = 0; i < std::min(findings.size(), most_in_sets); ++i) {
        read.findings.push_back({.gain_ns = findings[i].gain_ns,
                                 .trust = findings[i].trust,
                                 .changes_results = findings[i].changes_results,
                                 .bit = set_bit_of(i)});
    }
    sort_findings(read);
    const std::size_t count = read.findings.size();
    std::set<std::uint32_t> chosen;
    if (count <= most_in_all_sets) {
        for (std::uint32_t bits = 1; bits < std::uint32_t{1} << count; ++bits) chosen.insert(bits);
    } else {
        std::uint32_t first = 0;
        for (std::size_t i = 0; i < count; ++i) {
            chosen.insert(read.findings[i].bit);
            chosen.insert(first |= read.findings[i].bit);
            for (std::size_t j = 0; i < most_in_pairs && j < i; ++j) {
                chosen.insert(read.findings[i].bit | read.findings[j].bit);
            }
        }
    }
    return {chosen.begin(), chosen.end()};
}

}  // namespace prof
