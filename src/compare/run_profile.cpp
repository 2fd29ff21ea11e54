// SPDX-License-Identifier: Apache-2.0
#include "compare/run_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "analysis/modules/modules.hpp"
#include "analysis/projection/operation_name.hpp"
#include "analysis/selection/selected_part.hpp"
#include "analysis/step_table/make_step_table.hpp"
#include "analysis/steps/step_figures.hpp"
#include "compare/mean.hpp"
#include "compare/numbers_in_names.hpp"
#include "memory/memory_summary.hpp"
#include "symbols/kernel_names.hpp"

namespace prof {
namespace {

// In the order of step_column.
constexpr std::array<std::string_view, step_column_count> words_of_uses = {"kernels",
                                                                           "communication",
                                                                           "copies",
                                                                           "idle: launches",
                                                                           "idle: CPU code",
                                                                           "idle: syncs",
                                                                           "idle: unpinned copies",
                                                                           "idle: memory calls",
                                                                           "idle: compilation",
                                                                           "idle: short gaps",
                                                                           "idle: other"};
constexpr std::string_view use_of_host = "CPU";

// The properties that may explain a difference, and what people call them.
constexpr std::array<std::pair<const char*, const char*>, 14> kept_properties = {{
    {"command", "command"},
    {"executable", "executable"},
    {"hostname", "host"},
    {"world_size", "ranks of the job"},
    {"driver_version", "driver"},
    {"cupti_version", "CUPTI"},
    {"cuda_runtime", "CUDA runtime"},
    {"libprof_version", "libprof"},
    {"activities", "--activities"},
    {"api_calls", "--api-calls"},
    {"cuda_graphs", "--cuda-graphs"},
    {"pytorch", "--pytorch"},
    {"modules", "--modules"},
    {"plan", "windows"},
}};

std::map<std::string, std::string> facts_of(const timeline& data) {
    std::map<std::string, std::string> out;
    for (const auto& [key, name] : kept_properties) {
        if (const std::string& value = data.property(key); !value.empty()) out[name] = value;
    }
    for (const device_record& device : data.devices) {
        std::string& gpus = out["GPU"];
        gpus.append(gpus.empty() ? "" : ", ").append(data.name(name_id(device.name)));
        constexpr double khz_of_mhz = 1000;
        if (device.core_clock_khz != 0) {
            out["highest GPU clock"] = fmt::format("{:.0f} MHz", device.core_clock_khz / khz_of_mhz);
        }
    }
    return out;
}

// Costs by name, in the order in which names come.
class cost_sums {
public:
    void add(const std::string& name, double amount, double count) {
        const auto [at, is_new] = places_.try_emplace(name, costs_.size());
        if (is_new) costs_.push_back({.name = name});
        costs_[at->second].amount += amount;
        costs_[at->second].count += count;
    }
    std::vector<named_cost> divided_by(double steps) && {
        for (named_cost& cost : costs_) {
            cost.amount /= steps;
            cost.count /= steps;
        }
        return std::move(costs_);
    }

private:
    std::unordered_map<std::string, std::size_t> places_;
    std::vector<named_cost> costs_;
};

std::vector<named_cost> kernels_of(const timeline& data, double steps) {
    std::unordered_map<name_id, std::string> names;
    cost_sums out;
    for (const gpu_op& op : data.ops) {
        const auto ns = static_cast<double>(op.end_ns - op.start_ns);
        if (op.kind == op_kind::kernel) {
            const name_id symbol(data.kernels[op.detail].name);
            const auto [name, is_new] = names.try_emplace(symbol);
            if (is_new) name->second = kernel_name(data.name(symbol), kernel_name_style::full);
            out.add(name->second, ns, 1);
        } else if (op.kind == op_kind::graph) {
            out.add("a CUDA graph", ns, 1);
        }
    }
    return std::move(out).divided_by(steps);
}

std::vector<named_cost> ranges_of(const timeline& data, const attribution& att, const projection_options& options,
                                  double steps) {
    cost_sums out;
    for (const projection_row& row : project(data, att, options).rows) {
        if (row.gpu_sum_ns != 0 || row.kind == row_kind::range) {
            out.add(row.path, static_cast<double>(row.gpu_sum_ns), static_cast<double>(row.ops));
        }
    }
    return std::move(out).divided_by(steps);
}

// Names that differ only in numbers are one row where they may be a counter's: here each has its own, under parents
// without their numbers. Of more than a few names it is a counter's indeed, and they have none.
std::vector<named_cost> numbered_ranges_of(const timeline& data, const attribution& att,
                                           const projection_options& options, const std::vector<named_cost>& folded,
                                           double steps) {
    constexpr std::size_t most_names = 256;
    constexpr std::uint64_t most_instances = 300'000;  // each may be a row
    const auto is_merged = [](const named_cost& row) {
        return row.name.substr(row.name.find_last_of('/') + 1).find('#') != std::string::npos;
    };
    if (data.ranges.size() > most_instances || std::none_of(folded.begin(), folded.end(), is_merged)) return {};
    projection_options exact = options;
    exact.fold = {.mode = fold_mode::none};
    cost_sums sums;
    std::unordered_map<std::string, std::size_t> names;
    for (const projection_row& row : project(data, att, exact).rows) {
        if (row.kind != row_kind::range || without_numbers(row.name) == row.name) continue;
        const std::size_t slash = row.path.find_last_of('/');  // those of names are escaped
        const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
        sums.add(without_numbers(row.path.substr(0, begin)) + row.path.substr(begin),
                 static_cast<double>(row.gpu_sum_ns), static_cast<double>(row.ops));
    }
    std::vector<named_cost> out = std::move(sums).divided_by(steps);
    for (const named_cost& cost : out) ++names[without_numbers(cost.name)];
    std::erase_if(out, [&](const named_cost& cost) { return names[without_numbers(cost.name)] > most_names; });
    return out;
}

std::vector<time_cell> cells_of(const step_table& of, double step_ns) {
    std::vector<time_cell> out;
    const auto add = [&](const step_table_row& row, std::string_view use, double ns) {
        if (ns == 0) return;
        time_cell cell{.phase = row.kind == step_row_kind::rest ? std::string() : row.name, .use = std::string(use)};
        const auto known =
            std::find_if(out.begin(), out.end(), [&](const time_cell& one) { return one.is_same(cell); });
        time_cell& into = known == out.end() ? out.emplace_back(std::move(cell)) : *known;
        into.ns += ns;
    };
    const double whole = static_cast<double>(of.devices == 0 ? of.cpu_ns : of.wall_ns);
    const double scale = whole > 0 ? step_ns / whole : 0;
    for (const step_table_row& row : of.rows) {
        if (of.devices == 0) add(row, use_of_host, static_cast<double>(row.cpu_ns) * scale);
        for (std::size_t use = 0; use < step_column_count && of.devices != 0; ++use) {
            add(row, words_of_uses[use], static_cast<double>(row.ns[use]) * scale);
        }
    }
    return out;
}

// What the fullest GPU held at the peak of its highest step. Layers that differ in a number are one place.
std::vector<named_cost> memory_of(const memory_device& device) {
    cost_sums out;
    for (const memory_row& row : device.rows) {
        if (row.at_peak <= 0) continue;  // what lost records leave unexplained may be negative
        const std::string& place = row.module.empty() ? row.path : row.module;
        std::string name(to_string(row.use));
        if (!place.empty()) name += " of " + without_numbers(place);
        out.add(name, static_cast<double>(row.at_peak), static_cast<double>(row.blocks_at_peak));
    }
    return std::move(out).divided_by(1);
}

void add_diagnosis(run_profile& out, const diagnosis& found) {
    out.is_diagnosed = found.steps != 0;
    for (const finding& each : found.findings) {
        out.findings.push_back({each.rule, each.title, found.per_step(each.gain_ns)});
    }
    out.has_lines = found.no_lines.empty();
    cost_sums lines;
    for (const line_cost& line : found.lines) {
        if (!line.line.empty())
            lines.add(line.line + ", " + line.cause, found.per_step(line.cost_ns),
                      found.per_step(static_cast<std::int64_t>(line.count)));
    }
    out.lines = std::move(lines).divided_by(1);
}

}  // namespace

run_profile profile_of(const timeline& data, const std::string& file, const projection_options& options,
                       const selection_request& selection, const diagnosis* found) {
    std::optional<selected_part> chosen;
    if (selection.is_part()) chosen.emplace(data, options, selection);
    const selected_part part(chosen ? chosen->recorded() : data, options, chosen ? chosen->scope() : step_scope{});
    run_profile out{.files = {file}, .facts = facts_of(data)};
    const std::optional<step_figures> figures = measure_steps(part.whole(), part.whole_att(), part.step_function(),
                                                              part.scope().steps ? &*part.scope().steps : nullptr);
    out.has_steps = figures.has_value();
    double steps = 1;
    if (figures) {
        steps = static_cast<double>(figures->steps);
        for (const std::int64_t ns : lengths_of(figures->whole.steps)) {
            out.step_lengths_ns.push_back(static_cast<double>(ns));
        }
        out.step_ns = figures->mean_ns();
        out.host_ns = static_cast<double>(figures->host_ns) / steps;
        out.gpu_sum_ns = static_cast<double>(figures->gpu_sum_ns) / steps;
        out.gpu_busy_ns = static_cast<double>(figures->gpu_busy_ns) / steps;
        out.ops = static_cast<double>(figures->ops) / steps;
    }
    const step_table where = make_step_table(part.whole(), part.whole_att(), part.step_function(),
                                             chosen ? chosen->scope() : step_scope{}, &part.recorded(), options.fold);
    out.devices = where.devices;
    if (!figures) {  // all that was recorded
        out.step_ns = static_cast<double>(where.devices == 0 ? where.cpu_ns : where.wall_ns / where.devices);
        out.host_ns = out.step_ns;
        out.step_lengths_ns = {out.step_ns};
        for (const gpu_op& op : part.whole().ops) out.gpu_sum_ns += static_cast<double>(op.end_ns - op.start_ns);
        for (const step_table_row& row : where.rows) out.gpu_busy_ns += static_cast<double>(row.busy_ns());
        out.ops = static_cast<double>(part.whole().ops.size());
    }
    out.cells = cells_of(where, out.step_ns);
    const timeline& shown = figures ? part.data() : part.whole();
    const attribution& att = figures ? part.att() : part.whole_att();
    out.ranges = ranges_of(shown, att, options, steps);
    out.numbered_ranges = numbered_ranges_of(shown, att, options, out.ranges, steps);
    out.kernels = kernels_of(shown, steps);
    const module_table modules =
        measure_modules(part.whole(), part.whole_att(), true, figures ? &part.kept() : nullptr);
    out.has_modules = modules.is_recorded;
    for (const module_row& row : modules.rows) {
        out.modules.push_back(
            {row.path, static_cast<double>(gpu_ns(row.total)) / steps, static_cast<double>(row.calls) / steps});
    }
    const memory_summary memory = measure_memory(part.whole(), part.whole_att(),
                                                 {.step_function = part.step_function(),
                                                  .scope = chosen ? chosen->scope() : step_scope{},
                                                  .original = &part.recorded()});
    if (const memory_device* const device = fullest(memory); device != nullptr && !device->steps.empty()) {
        out.peak_bytes = static_cast<double>(device->steps[device->highest].peak);
        out.median_peak_bytes = static_cast<double>(device->steps[device->median].peak);
        out.memory = memory_of(*device);
    }
    if (found != nullptr) add_diagnosis(out, *found);
    return out;
}

namespace {

void add_scaled(std::vector<named_cost>& to, const std::vector<named_cost>& from, double scale) {
    for (const named_cost& cost : from) {
        auto known = std::find_if(to.begin(), to.end(), [&](const named_cost& one) { return one.name == cost.name; });
        if (known == to.end()) known = to.insert(to.end(), {.name = cost.name});
        known->amount += scale * cost.amount;
        known->count += scale * cost.count;
    }
}

// Step by step the mean over the processes: of the steps that all have, as long in the mean as the means of each.
std::vector<double> lengths_of_job(const std::vector<run_profile>& processes) {
    std::size_t steps = SIZE_MAX;
    double mean_ns = 0;
    const auto count = static_cast<double>(processes.size());
    for (const run_profile& one : processes) {
        steps = std::min(steps, one.step_lengths_ns.size());
        mean_ns += one.step_ns / count;
    }
    std::vector<double> out(steps);
    for (const run_profile& one : processes) {
        for (std::size_t i = 0; i < steps; ++i) out[i] += one.step_lengths_ns[i] / count;
    }
    if (out.empty()) return {mean_ns};
    const double found_ns = mean_of(out);
    for (double& ns : out) ns *= found_ns > 0 ? mean_ns / found_ns : 1;
    return out;
}

// Without processes that have no steps or no GPU work, such as workers of a data loader, where others have them.
void keep_main_ones(std::vector<run_profile>& processes) {
    const auto keep = [&](auto&& has) {
        if (std::any_of(processes.begin(), processes.end(), has)) {
            std::erase_if(processes, [&](const run_profile& one) { return !has(one); });
        }
    };
    keep([](const run_profile& one) { return one.has_steps; });
    keep([](const run_profile& one) { return one.devices > 0; });
}

}  // namespace

run_profile merged(std::vector<run_profile> processes) {
    keep_main_ones(processes);
    if (processes.size() == 1) return std::move(processes.front());
    run_profile out{.facts = processes.front().facts,
                    .has_steps = processes.front().has_steps,
                    .step_lengths_ns = lengths_of_job(processes)};
    out.facts["processes"] = std::to_string(processes.size());
    const double scale = 1 / static_cast<double>(processes.size());
    for (run_profile& one : processes) {
        out.files.insert(out.files.end(), one.files.begin(), one.files.end());
        for (double run_profile::*figure : {&run_profile::devices, &run_profile::step_ns, &run_profile::host_ns,
                                            &run_profile::gpu_sum_ns, &run_profile::gpu_busy_ns, &run_profile::ops}) {
            out.*figure += scale * one.*figure;
        }
        for (std::vector<named_cost> run_profile::*list :
             {&run_profile::ranges, &run_profile::numbered_ranges, &run_profile::modules, &run_profile::kernels,
              &run_profile::lines}) {
            add_scaled(out.*list, one.*list, scale);
        }
        for (const time_cell& cell : one.cells) {
            auto known = std::find_if(out.cells.begin(), out.cells.end(),
                                      [&](const time_cell& other) { return other.is_same(cell); });
            if (known == out.cells.end()) known = out.cells.insert(known, {cell.phase, cell.use, 0});
            known->ns += scale * cell.ns;
        }
        for (kept_finding& found : one.findings) {
            const auto known = std::find_if(out.findings.begin(), out.findings.end(),
                                            [&](const kept_finding& other) { return other.title == found.title; });
            if (known == out.findings.end()) out.findings.push_back(std::move(found));
        }
        if (one.peak_bytes > out.peak_bytes) {
            out.peak_bytes = one.peak_bytes;
            out.median_peak_bytes = one.median_peak_bytes;
            out.memory = std::move(one.memory);
        }
        out.has_modules |= one.has_modules;
        out.is_diagnosed |= one.is_diagnosed;
        out.has_lines |= one.has_lines;
    }
    return out;
}

}  // namespace prof
