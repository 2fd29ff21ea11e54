// SPDX-License-Identifier: Apache-2.0
#include "report/mean_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "base/apportioned.hpp"

namespace prof {

std::unique_ptr<const mean_step> mean_step::of(const report_input& input) {
    const selected_part* const selected = input.selected;
    if (selected != nullptr && selected->has_ranges()) return {};
    const step_scope all;
    std::unique_ptr<const mean_step> out(new mean_step(input, selected == nullptr ? all : selected->scope()));
    return out->steps().empty() ? nullptr : std::move(out);
}

mean_step::mean_step(const report_input& input, const step_scope& scope)
    : part_(input.selected == nullptr ? input.data : input.selected->recorded(), input.projected, scope),
      count_(static_cast<double>(std::max<std::size_t>(steps().size(), 1))),
      devices_(static_cast<double>(std::max<std::size_t>(devices_of(part_.whole()).size(), 1))),
      length_ns_(static_cast<double>(total_length(steps())) / count_) {
    constexpr double decimals = 1000;  // of times in tables
    quantum_ns_ = unit_of_step(length_ns_).ns / decimals;
}

std::int64_t mean_step::printed(double ns) const noexcept {
    constexpr double most = 9e15;  // of damaged captures
    return std::llround(std::clamp(ns / quantum_ns_, 0.0, most)) * static_cast<std::int64_t>(quantum_ns_);
}

std::vector<std::int64_t> mean_step::parts(std::span<const double> shares, std::int64_t printed_total) const {
    const auto quantum = static_cast<std::int64_t>(quantum_ns_);
    std::vector<std::int64_t> out = apportioned(shares, printed_total / quantum);
    for (std::int64_t& each : out) each *= quantum;
    return out;
}

std::vector<std::int64_t> mean_step::gpu_parts(std::span<const std::int64_t> of_all) const {
    const std::vector<double> shares(of_all.begin(), of_all.end());
    return parts(shares, printed(gpu(std::accumulate(shares.begin(), shares.end(), 0.0))));
}

}  // namespace prof
