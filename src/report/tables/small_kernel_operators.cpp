// SPDX-License-Identifier: Apache-2.0
// The report small_kernel_operators: the kernels in runs of small kernels by the operator of PyTorch's that launched
// them and by module. The rows add up to those of the report small_kernels.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/breakdown/small_kernels.hpp"
#include "analysis/modules/module_finder.hpp"
#include "analysis/modules/module_texts.hpp"
#include "report/makers.hpp"
#include "report/projected_timeline.hpp"
#include "report/tables/durations.hpp"
#include "report/tables/pytorch_ops.hpp"

namespace prof {
namespace {

// Kernels with one origin.
struct kernel_origin {
    std::string_view operator_name{};  // "": launched outside operators, or a node of a CUDA graph
    std::string module{};              // "": outside modules
    bool is_replayed = false;
    std::uint64_t kernels = 0;
    std::int64_t kernel_ns = 0;
    std::int64_t idle_ns = 0;
    std::int64_t starved_ns = 0;
};

class origin_sums {
public:
    origin_sums(const timeline& data, const attribution& att, const timeline& original)
        : data_(data), modules_(data, att, original) {}

    bool has_modules() const noexcept { return modules_.is_recorded(); }

    void add(const kernel_in_run& kernel) {
        const gpu_op& op = data_.ops[kernel.op];
        const bool is_replayed = op.graph_node != npos;
        const std::string_view name = is_replayed ? std::string_view() : operator_of(op);
        const std::string module = has_modules() ? modules_.of_op(kernel.op) : std::string();
        kernel_origin& to = origins_[{name, module, is_replayed}];
        ++to.kernels;
        to.kernel_ns += op.end_ns - op.start_ns;
        to.idle_ns += kernel.idle_ns;
        to.starved_ns += kernel.starved_ns;
    }

    // Those that are most launch-starved first, then those of most kernels.
    std::vector<kernel_origin> take() {
        std::vector<kernel_origin> out;
        out.reserve(origins_.size());
        for (auto& [key, origin] : origins_) {
            std::tie(origin.operator_name, origin.module, origin.is_replayed) = key;
            out.push_back(std::move(origin));
        }
        std::stable_sort(out.begin(), out.end(), [](const kernel_origin& a, const kernel_origin& b) {
            return std::tie(b.starved_ns, b.kernels) < std::tie(a.starved_ns, a.kernels);
        });
        return out;
    }

private:
    // The innermost operator around the launch.
    std::string_view operator_of(const gpu_op& op) const {
        if (op.launch == npos) return {};
        for (std::uint32_t i = data_.api_calls[op.launch].torch_open; i != npos; i = data_.torch_nodes[i].below) {
            const timeline_range& range = data_.ranges[data_.torch_nodes[i].range];
            if (range.is_operator) return data_.name(range.name);
        }
        return {};
    }

    const timeline& data_;
    module_texts modules_;
    std::map<std::tuple<std::string_view, std::string, bool>, kernel_origin> origins_;
};

std::string shown_operator_of(const kernel_origin& of) {
    if (of.is_replayed) return "(CUDA graph)";
    return of.operator_name.empty() ? std::string("(outside operators)") : shown_operator(of.operator_name);
}

report_columns<kernel_origin> origin_columns(std::uint64_t steps, std::int64_t all_starved_ns, bool has_operators,
                                             bool has_modules) {
    using row = kernel_origin;
    const auto in_step = [steps](auto total) {
        return [=](const row& origin) { return mean_over(static_cast<std::int64_t>(origin.*total), steps); };
    };
    return {{{"operator", ""}, [](const row& origin) { return text_or_none(origin.operator_name); }},
            {{"", has_operators ? "operator" : ""}, shown_operator_of},
            {{"module", ""}, text_or_none(&row::module)},
            {{"", has_modules ? "module" : ""},
             [](const row& origin) { return origin.module.empty() ? outside_modules_text : origin.module; }},
            {{"is_replayed", "", quantity::flag}, &row::is_replayed},
            {{"kernels_a_step", "kernels", quantity::number}, in_step(&row::kernels)},
            {{"kernel_a_step_ns", "GPU", quantity::time_ns, 1}, in_step(&row::kernel_ns)},
            {{"idle_a_step_ns", "idle", quantity::time_ns, 2}, in_step(&row::idle_ns)},
            {{"starved_a_step_ns", "starved", quantity::time_ns}, in_step(&row::starved_ns)},
            {{"starved_share", "starved%", quantity::share},
             [=](const row& origin) { return share_of(origin.starved_ns, all_starved_ns); }},
            {{"kernel_mean_ns", "kernel", quantity::time_ns, 3},
             [](const row& origin) { return mean_over(origin.kernel_ns, origin.kernels); }},
            {{"kernels", "", quantity::count}, &row::kernels},
            {{"kernel_ns", "", quantity::time_ns}, &row::kernel_ns},
            {{"idle_ns", "", quantity::time_ns}, &row::idle_ns},
            {{"starved_ns", "", quantity::time_ns}, &row::starved_ns}};
}

}  // namespace

table small_kernel_operators_report(const report_input& input) {
    const projected_timeline shown(input);
    const std::optional<step_time_subject> subject = step_time_of(shown, input);
    std::optional<small_kernel_list> of;
    std::optional<origin_sums> sums;
    if (subject) {
        sums.emplace(subject->data, subject->att, subject->original);
        of = find_small_kernels(subject->data, subject->att, subject->step_function, subject->scope,
                                [&](const kernel_in_run& kernel) { sums->add(kernel); });
    }
    const bool knows_operators = of && has_operators(subject->data);
    const bool knows_modules = of && sums->has_modules();
    const report_columns<kernel_origin> columns =
        origin_columns(of ? of->steps : 0, of ? of->starved_ns : 0, knows_operators, knows_modules);
    table out = make_table("small_kernel_operators", "Operators and modules in runs of small kernels", columns);
    if (!of) {
        out.instead = no_step_time(input);
        return out;
    }
    if (!knows_operators && !knows_modules) {
        out.instead =
            "neither PyTorch's operators nor modules were recorded: prof run --pytorch ops and --modules record them";
        return out;
    }
    out.rows = rows_of(columns, sums->take());
    out.totals = {
        {"steps", of->steps}, {"in_runs", of->in_runs}, {"idle_ns", of->idle_ns}, {"starved_ns", of->starved_ns}};
    out.unit_ns = small_kernel_ns;
    out.legend = {{"operator", "operator: the innermost one around the launch."},
                  {"kernels", "kernels, GPU, idle, starved: a step, within runs (report small_kernels)."},
                  {"starved", "starved: the GPU was idle before such a kernel, since it was launched late."}};
    return or_none(std::move(out), "no run of small kernels in a step");
}

}  // namespace prof
