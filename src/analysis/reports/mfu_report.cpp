// SPDX-License-Identifier: Apache-2.0
// mfu: throughput and model FLOPs utilisation, each figure with what it is made of.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "analysis/reports/gpu_projection.hpp"
#include "analysis/reports/mfu_report.hpp"
#include "analysis/reports/reports.hpp"

namespace prof {

mfu_figures mfu_of(const report_input& input) {
    const projected_timeline shown(input);
    return measure_mfu(shown.data(), measure_steps(shown.data(), shown.att(), shown.step_function()),
                       input.flops_per_step);
}

table mfu_report(const report_input& input) {
    table out{"mfu", "Throughput and model FLOPs utilisation", {}, {}, {}};
    out.columns = {{"figure", "figure"}, {"value", "value", quantity::number}, {"unit", "unit"}, {"from", "from"}};
    if (input.data.ops.empty()) {
        out.instead = "no GPU operation was recorded";
        return out;
    }
    const mfu_figures of = mfu_of(input);
    const auto add = [&](const char* figure, std::optional<double> value, const char* unit, std::string from) {
        table_row row = {std::string(figure), table_cell(), std::string(unit), std::move(from)};
        if (value) row[1] = table_cell(*value);
        out.rows.push_back(std::move(row));
    };
    const auto if_steps = [&](double value) { return of.steps == 0 ? std::nullopt : std::optional(value); };
    add("step", if_steps(of.step_ns * 1e-6), "ms", fmt::format("median of {} steps", of.steps));
    if (of.samples_per_s) add("samples", of.samples_per_s, "1/s", fmt::format("counter {}", samples_counter));
    if (of.tokens_per_s) add("tokens", of.tokens_per_s, "1/s", fmt::format("counter {}", tokens_counter));
    const auto giga = [](std::optional<double> value) { return value ? std::optional(*value * 1e-9) : value; };
    add("flops_per_step", giga(of.flops_per_step), "GFLOP", of.flops_per_step ? of.flops_source : "not declared");
    if (of.flops_per_s) add("achieved", *of.flops_per_s * 1e-12, "TFLOP/s", "FLOPs a step by its length");
    add("matrix_kernels", 100 * of.matrix_share, "%", "share of the kernels' time");
    if (of.type_share > 0) {
        add("matrix_type", 100 * of.type_share, "%",
            fmt::format("share of that in {}, by the kernels' names", to_string(of.type)));
    }
    if (of.peak_flops) {
        add("peak", *of.peak_flops * 1e-12, "TFLOP/s",
            fmt::format("dense {} of {} {} at {} MHz ({}); its highest clock is {}", to_string(of.type), of.gpus,
                        of.gpu, of.peak->mhz(of.type), of.peak->source,
                        of.gpu_clock_mhz == 0 ? "not known" : fmt::format("{} MHz", of.gpu_clock_mhz)));
    }
    add("mfu", of.mfu ? std::optional(100 * *of.mfu) : of.mfu, "%", of.mfu ? "achieved by peak" : of.reason);
    return out;
}

}  // namespace prof
