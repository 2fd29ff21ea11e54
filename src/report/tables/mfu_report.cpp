// SPDX-License-Identifier: Apache-2.0
// mfu: throughput and model FLOPs utilisation, each figure with what it is made of.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/makers.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_column.hpp"
#include "report/tables/mfu_report.hpp"

namespace prof {

namespace {

constexpr std::array<const char*, matrix_types> shape_figures = {"shape_fp64", "shape_fp32", "shape_tf32",
                                                                 "shape_fp16", "shape_bf16", "shape_fp8",
                                                                 "shape_int8", "shape_fp4",  "shape_other"};

struct stated_figure {
    const char* name;
    std::optional<double> value;  // none: not known
    const char* unit;
    std::string from;  // what it is made of
};

// The figures, one after another.
class stated_figures {
public:
    explicit stated_figures(const mfu_figures& of) : of_(of) {}

    std::vector<stated_figure> take() {
        add("step", of_.steps == 0 ? std::nullopt : std::optional(of_.step_ns * 1e-6), "ms",
            fmt::format("mean of {} steps", of_.steps));
        if (of_.samples_per_s) add("samples", of_.samples_per_s, "1/s", fmt::format("counter {}", samples_counter));
        if (of_.tokens_per_s) add("tokens", of_.tokens_per_s, "1/s", fmt::format("counter {}", tokens_counter));
        add("flops_per_step", scaled(of_.flops_per_step, 1e-9), "GFLOP",
            of_.flops_per_step ? of_.flops_source : "not declared");
        if (of_.flops_per_s) add("achieved", scaled(of_.flops_per_s, 1e-12), "TFLOP/s", achieved_from());
        add_kernels();
        add_mfu("mfu", of_.mfu, of_.reason, !of_.is_declared);
        if (of_.shapes.flops != 0) add_shapes();
        return std::move(out_);
    }

private:
    static std::optional<double> scaled(std::optional<double> value, double by) {
        return value ? std::optional(*value * by) : value;
    }

    void add(const char* figure, std::optional<double> value, const char* unit, std::string from) {
        out_.push_back({figure, value, unit, std::move(from)});
    }

    std::string achieved_from() const {
        return !of_.is_declared && of_.shapes.differs ? "FLOPs of the steps by their length: they differ"
                                                      : "FLOPs a step by its length";
    }

    void add_kernels() {
        add("matrix_kernels", 100 * of_.matrix_share, "%", "share of the kernels' time");
        if (of_.type_share > 0) {
            add("matrix_type", 100 * of_.type_share, "%",
                fmt::format("share of that in {}, by the kernels' names", to_string(of_.type)));
        }
        if (!of_.peak_flops) return;
        add("peak", *of_.peak_flops * 1e-12, "TFLOP/s",
            fmt::format("dense {} of {} {} at {} MHz ({}); its highest clock is {}", to_string(of_.type), of_.gpus,
                        of_.gpu, of_.peak->mhz(of_.type), of_.peak->source,
                        of_.gpu_clock_mhz == 0 ? "not known" : fmt::format("{} MHz", of_.gpu_clock_mhz)));
    }

    void add_mfu(const char* figure, std::optional<double> mfu, const std::string& reason, bool is_of_shapes) {
        std::string from = reason;
        if (mfu) from = is_of_shapes && of_.shapes.is_lower_bound() ? "achieved by peak, at least" : "achieved by peak";
        add(figure, scaled(mfu, 100), "%", std::move(from));
    }

    // What follows from the shapes; the sums only where the figures above are declared.
    void add_shapes() {
        const shape_flops& shapes = of_.shapes;
        const auto steps = static_cast<double>(shapes.steps);
        add("shape_calls", static_cast<double>(shapes.calls) / steps, "1/step",
            "multiplications of known shape, by PyTorch's operators");
        if (shapes.unknown != 0) {
            add("shape_unknown", static_cast<double>(shapes.unknown) / steps, "1/step",
                "multiplications of unknown shape, which do not count");
        }
        if (shapes.matrix_ns != 0) {
            const double covered = static_cast<double>(shapes.covered_ns) / static_cast<double>(shapes.matrix_ns);
            add("shape_cover", 100 * covered, "%",
                "of the steps' matrix kernels' time is in these calls; other kernels do not count");
        }
        for (std::size_t i = 0; i < matrix_types; ++i) add_type(static_cast<matrix_type>(i), shapes.by_type[i] / steps);
        if (!of_.is_declared) return;
        add("shape_flops", shapes.flops / steps * 1e-9, "GFLOP", "a step, recomputed ones included");
        add("shape_achieved", scaled(of_.shape_flops_per_s, 1e-12), "TFLOP/s", "the same by its length");
        add_mfu("shape_mfu", of_.shape_mfu, of_.shape_reason, true);
    }

    void add_type(matrix_type type, double flops) {
        if (flops == 0) return;
        const double peak = of_.peak == nullptr ? 0 : of_.peak->tflops(type);
        std::string from = fmt::format("in {}, by operands and kernels", to_string(type));
        if (peak != 0) from += fmt::format("; dense peak {} TFLOP/s a GPU", peak);
        if (type == matrix_type::unknown) from = "of unknown type; no part of MFU";
        add(shape_figures[static_cast<std::size_t>(type)], flops * 1e-9, "GFLOP", std::move(from));
    }

    const mfu_figures& of_;
    std::vector<stated_figure> out_;
};

}  // namespace

mfu_figures mfu_of(const report_input& input) {
    const projected_timeline shown(input);
    const std::optional<step_figures> steps = step_figures_of(shown, input);
    shape_flops shapes;
    if (steps) {
        shapes =
            measure_shape_flops(input.selected == nullptr ? shown.data() : input.selected->whole(), steps->whole.steps);
    }
    mfu_figures out = measure_mfu(shown.data(), steps, input.flops_per_step, shapes);
    if (input.selected != nullptr && input.selected->has_ranges()) {
        out.reason = "steps are not parts of ranges; select --steps or times";
    }
    return out;
}

table mfu_report(const report_input& input) {
    const report_columns<stated_figure> columns = {{{"figure", "figure"}, &stated_figure::name},
                                                   {{"value", "value", quantity::number}, &stated_figure::value},
                                                   {{"unit", "unit"}, &stated_figure::unit},
                                                   {{"from", "from"}, &stated_figure::from}};
    table out = make_table("mfu", "Throughput and model FLOPs utilisation", columns);
    if (input.data.ops.empty()) {
        out.instead = "no GPU operation was recorded";
        return out;
    }
    out.rows = rows_of(columns, stated_figures(mfu_of(input)).take());
    return out;
}

}  // namespace prof
