// SPDX-License-Identifier: Apache-2.0
#include "analysis/reports/step_tables.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/steps/step_figures.hpp"

namespace prof {
namespace {

table_cell text_or_none(std::string_view text) { return text.empty() ? table_cell() : table_cell(std::string(text)); }

table_row step_row(const step_figures& of) {
    const auto if_gpu = [&](auto value) { return of.has_gpu ? table_cell(value) : table_cell(); };
    return {of.steps,
            of.warm_up,
            std::string(step_source_name(of.source)),
            of.is_first,
            text_or_none(step_witness_name(of.witness)),
            text_or_none(of.range),
            text_or_none(of.function),
            of.host_median_ns,
            of.host_ns,
            if_gpu(of.gpu_sum_ns),
            if_gpu(of.gpu_busy_ns),
            if_gpu(of.ops),
            if_gpu(of.devices)};
}

}  // namespace

std::vector<table> step_tables(const report_part& of) {
    if (!of.has_step) return {};
    table step{of.name,
               "Whole steps",
               {{"steps", "", quantity::count},
                {"warm_up", "", quantity::count},
                {"source", ""},
                {"is_first", "", quantity::flag},
                {"ended_by", ""},
                {"range", ""},
                {"function", ""},
                {"host_median_ns", "", quantity::time_ns},
                {"host_ns", "", quantity::time_ns},
                {"gpu_sum_ns", "", quantity::time_ns},
                {"gpu_busy_ns", "", quantity::time_ns},
                {"ops", "", quantity::count},
                {"devices", "", quantity::count}},
               {},
               {}};
    table parts{of.name,
                "Phases of whole steps",
                {{"phase", ""}, {"gpu_sum_ns", "", quantity::time_ns}, {"ops", "", quantity::count}},
                {},
                {}};
    step.rows_key = "step";
    parts.rows_key = "step_parts";
    if (of.step) {
        step.rows.push_back(step_row(*of.step));
        for (const step_part& part : of.step->parts) {
            parts.rows.push_back({text_or_none(part.name), part.gpu_sum_ns, part.ops});
        }
    }
    std::vector<table> out;
    out.push_back(std::move(step));
    out.push_back(std::move(parts));
    return out;
}

}  // namespace prof
