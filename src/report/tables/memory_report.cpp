// SPDX-License-Identifier: Apache-2.0
// The reports on memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "analysis/projection/code_line_text.hpp"
#include "analysis/steps/capture_start.hpp"
#include "base/display_text.hpp"
#include "report/jax_memory.hpp"
#include "report/makers.hpp"
#include "report/memory_answer.hpp"

namespace prof {
namespace {

constexpr std::size_t most_rows_shown = 25;  // rows, for people

// A row of the rows that tables for people leave out.
table_row rest_of(const table& whole, const std::vector<table_row>& shown) {
    table_row out(whole.columns.size(), blank_cell());
    out[1] = fmt::format("… {} more", whole.rows.size() - shown.size());
    for (std::size_t i = 0; i < whole.columns.size(); ++i) {
        if (whole.columns[i].holds != quantity::bytes || whole.columns[i].title.empty()) continue;
        std::int64_t sum = 0;
        for (std::size_t row = shown.size(); row < whole.rows.size(); ++row) {
            if (const auto* const value = std::get_if<std::int64_t>(&whole.rows[row][i].value)) sum += *value;
        }
        out[i] = sum;
    }
    return out;
}

shown_rows largest_rows(const table& whole, const shown_limits& limits) {
    shown_rows out;
    const std::size_t most = limits.rows == SIZE_MAX ? whole.rows.size() : std::min(limits.rows, most_rows_shown);
    for (const table_row& row : whole.rows) {
        if (out.rows.size() == most) break;
        out.rows.push_back(row);
    }
    if (out.rows.size() < whole.rows.size()) out.rows.push_back(rest_of(whole, out.rows));
    return out;
}

void add_jax_notes(const report_input& input, table& out) {
    for (const std::string& line : jax_memory_lines(jax_memory_of(input.data))) {
        out.notes.push_back(line + " (--report jax_memory has what held it)");
    }
}

void add_notes(const report_input& input, const memory_summary& of, table& out) {
    const std::vector<cuda_memory_row> own = cuda_memory_of(input, of);
    for (const memory_device& device : of.devices) {
        std::string line = fmt::format("GPU {}: ", device.device);
        if (!device.is_gpu) line = fmt::format("device {} of PyTorch's kind {}: ", device.device, device.kind);
        const memory_step& highest = device.steps[device.highest];
        line +=
            fmt::format("{}the peak is {}", device.has_steps ? "" : "no steps were found; ", bytes_text(highest.peak));
        if (device.limit) line += fmt::format(" of {}", bytes_text(*device.limit));
        if (device.has_steps) {
            line += fmt::format(", in step {}; in the median step {}", highest.number,
                                bytes_text(device.steps[device.median].peak));
        }
        if (!of.is_of_cuda) {
            line += fmt::format("; {} more were reserved then, and not in use", bytes_text(device.unused_at_peak));
        }
        if (device.given_back != 0) {
            line += "; the allocator gave reserved memory back " +
                    (device.given_back == 1 ? std::string("once") : with_thousands(device.given_back) + " times");
        }
        out.notes.push_back(std::move(line));
        if (device.outside) {
            const memory_outside& outside = *device.outside;
            std::string rest = fmt::format("outside the allocator {} of the GPU's {} were in use then",
                                           bytes_text(outside.at_peak), bytes_text(outside.total));
            if (outside.most > outside.at_peak) rest += fmt::format(", and {} at most", bytes_text(outside.most));
            const std::string known = known_outside_text(own, device.device);
            out.notes.push_back(rest + (known.empty() ? ": by CUDA's context, libraries such as NCCL and cuBLAS, and "
                                                        "other processes"
                                                      : ": " + known +
                                                            "; the rest by CUDA's context, other "
                                                            "processes, and what was had before the "
                                                            "recording"));
        }
        if (device.growth_room && *device.growth_room > 1) {
            out.notes.push_back(
                fmt::format("activations and workspaces could be {:.1f} times as large before the GPU is full, and so "
                            "could the batch, as "
                            "far as they grow with it",
                            std::floor(*device.growth_room * 10) / 10));
        }
        if (device.before != 0) {
            out.notes.push_back(fmt::format("{} were allocated before the recording began: by what is not known",
                                            bytes_text(device.before)));
        }
    }
    add_jax_notes(input, out);
    for (const memory_finding& each : memory_findings(of, checkpoints_of(input, of))) out.notes.push_back(each.title);
    if (of.doubtful != 0) {
        out.notes.push_back(
            fmt::format("{} blocks came back or were given out although records say otherwise: records "
                        "of them were lost",
                        with_thousands(of.doubtful)));
    }
    const bool has_outside = std::any_of(of.devices.begin(), of.devices.end(), [](const auto& d) { return d.outside; });
    if (of.is_of_cuda) {
        out.notes.emplace_back(
            "no allocator reported: these are pieces of CUDA's own memory, as calls such as cudaMalloc had them; what "
            "was "
            "had before the recording is in no row (--report memory_pieces has them by the library that called)");
    } else if (!has_outside) {
        out.notes.emplace_back(
            "of PyTorch's allocator; what CUDA, NCCL and other libraries hold beside it is in no row: nvidia-smi has "
            "all");
    }
}

void add_totals(const memory_summary& of, table& out) {
    const memory_device* const device = fullest(of);
    if (device == nullptr) return;
    const memory_step& highest = device->steps[device->highest];
    out.totals = {{"peak_device", device->device},
                  {"peak_bytes", highest.peak},
                  {"peak_step", device->has_steps ? table_cell(highest.number) : table_cell()},
                  {"median_peak_bytes", device->steps[device->median].peak},
                  {"limit_bytes", device->limit ? table_cell(*device->limit) : table_cell()},
                  {"unused_at_peak_bytes", device->unused_at_peak},
                  {"before_bytes", device->before},
                  {"end_allocated_bytes", device->end_allocated},
                  {"end_reserved_bytes", device->end_reserved},
                  {"growth_bytes_per_step", device->growth},
                  {"retries", device->retries},
                  {"given_back", device->given_back},
                  {"failures", device->failures.size()}};
    if (device->growth_room) out.totals.emplace_back("growth_room", *device->growth_room);
    if (const auto& outside = device->outside) {
        out.totals.emplace_back("gpu_bytes", outside->total);
        out.totals.emplace_back("gpu_used_bytes", outside->used);
        out.totals.emplace_back("outside_bytes", outside->at_peak);
        out.totals.emplace_back("most_outside_bytes", outside->most);
        out.totals.emplace_back("end_outside_bytes", outside->latest);
    }
    if (device->failures.empty()) return;
    const memory_failure& last = device->failures.back();
    out.totals.emplace_back("failed_bytes", last.asked);
    out.totals.emplace_back("failed_allocated_bytes", last.allocated);
    out.totals.emplace_back("failed_reserved_bytes", last.reserved);
    out.totals.emplace_back("failed_path", last.path);
    out.totals.emplace_back("failed_module", text_or_none(last.module));
    out.totals.emplace_back("failed_line", text_or_none(last.line));
    out.totals.emplace_back("failed_code", text_or_none(last.code));
}

table memory_table(const report_input& input, const memory_summary& of) {
    table out{"memory", "GPU memory, by use and place of birth", {}, {}, {}};
    const bool has_failure = !failure_text(of).empty();
    const bool was_killed = is_killed(input.data);
    const bool has_growth =
        std::any_of(of.devices.begin(), of.devices.end(), [](const auto& d) { return d.growth > 0; });
    const bool has_steps = std::any_of(of.devices.begin(), of.devices.end(), [](const auto& d) { return d.has_steps; });
    out.columns = {{"device", of.devices.size() > 1 ? "GPU" : "", quantity::identity},
                   {"use", "use", quantity::text},
                   {"path", "born in", quantity::text},
                   {"phase", "", quantity::text},
                   {"module", of.has_modules ? "module" : "", quantity::text},
                   {"line", of.has_lines ? "line" : "", quantity::text, 2},
                   {"code", "", quantity::text},
                   {"failure_bytes", has_failure ? "at the error" : "", quantity::bytes},
                   {"peak_bytes", "at peak", quantity::bytes},
                   {"median_bytes", has_steps ? "median step" : "", quantity::bytes, 3},
                   {"end_bytes", was_killed && !has_failure ? "at the end" : "", quantity::bytes},
                   {"peak_blocks", "blocks", quantity::count, 4},
                   {"churn_bytes", "churn", quantity::bytes, 5},
                   {"births", "births", quantity::mean_count, 6},
                   {"growth_bytes", has_growth ? "growth" : "", quantity::bytes, 1}};
    for (const memory_device& device : of.devices) {
        const auto steps = static_cast<double>(std::max<std::size_t>(device.steps.size(), 1));
        std::vector<const memory_row*> order;
        order.reserve(device.rows.size());
        for (const memory_row& row : device.rows) order.push_back(&row);
        if (!device.failures.empty() || was_killed) {
            const auto bytes = device.failures.empty() ? &memory_row::at_end : &memory_row::at_failure;
            std::stable_sort(order.begin(), order.end(),
                             [&](const memory_row* a, const memory_row* b) { return a->*bytes > b->*bytes; });
        }
        for (const memory_row* const row : order) {
            out.rows.push_back({device.device, std::string(to_string(row->use)), row->path, row->phase,
                                text_or_none(row->module), text_or_none(row->line), text_or_none(row->code),
                                device.failures.empty() ? table_cell() : table_cell(row->at_failure), row->at_peak,
                                row->at_median, row->at_end, row->blocks_at_peak,
                                static_cast<std::int64_t>(static_cast<double>(row->churn) / steps),
                                static_cast<double>(row->births) / steps, static_cast<std::int64_t>(row->growth)});
        }
    }
    out.legend = {
        {"use",
         "use: by when blocks are born and end. activations: born in forward, ended in backward or with the next "
         "output; gradients: born in backward and outlive it; optimizer state: born in the optimizer and stay; "
         "parameters: born before the first step and stay; workspace: end in the phase in which they were born."},
        {"at peak",
         "at peak: alive when most was allocated in the highest step. The rows add up to what was allocated."},
        {"line", "line: that which asked for most of the row's bytes, as far as lines are known."},
        {"churn", "churn, births: of blocks given out in a step."},
        {"growth", "growth: of a step, of blocks that stay until the end."}};
    out.shorten = largest_rows;
    add_totals(of, out);
    if (of.devices.empty()) {
        out.notes.push_back(no_allocation_text(input.data));
        add_jax_notes(input, out);
    } else {
        add_notes(input, of, out);
    }
    return out;
}

}  // namespace

report_part memory_report(const report_input& input) {
    const memory_summary found = memory_of(input);
    return part_of(memory_table(input, found));
}

report_part cuda_memory_report(const report_input& input) {
    const memory_summary found = memory_of(input);
    const std::vector<cuda_memory_row> rows = cuda_memory_of(input, found);
    table out{"memory_pieces", "CUDA's own memory, by the library that called CUDA", {}, {}, {}};
    const bool has_several =
        std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.device != rows.front().device; });
    out.columns = {{"device", has_several ? "GPU" : "", quantity::identity},
                   {"kind", "kind", quantity::text},
                   {"caller", "called by", quantity::text},
                   {"use", "for", quantity::text, 1},
                   {"path", "born in", quantity::text},
                   {"peak_bytes", "at peak", quantity::bytes},
                   {"end_bytes", "at the end", quantity::bytes, 3},
                   {"most_bytes", "at most", quantity::bytes, 2},
                   {"births", "pieces", quantity::count, 4},
                   {"births_in_steps", "in steps", quantity::count, 5}};
    for (const cuda_memory_row& row : rows) {
        out.rows.push_back({row.device, std::string(to_string(row.kind)), text_or_none(row.caller),
                            std::string(row.is_of_allocator ? "PyTorch's allocator" : "itself"), row.path,
                            static_cast<std::int64_t>(row.at_peak), static_cast<std::int64_t>(row.at_end),
                            static_cast<std::int64_t>(row.most), row.births, row.births_in_steps});
    }
    out.legend = {
        {"for", "for: what PyTorch's allocator had of CUDA is what it reserves; all else is outside of it."},
        {"at peak", "at peak: at the peak of the GPU's highest step; of the host's memory, of the fullest GPU's."}};
    out.shorten = largest_rows;
    if (rows.empty()) {
        out.notes.push_back(input.data.property("allocations") == "on"
                                ? "no call of CUDA's that had memory was recorded"
                                : "no allocation was recorded: `prof run --allocations on` does");
    } else {
        out.notes.emplace_back(
            "what was had before the recording, arrays, and what CUDA takes by itself are in no row");
    }
    return part_of(std::move(out));
}

report_part jax_memory_report(const report_input& input) {
    const jax_memory found = jax_memory_of(input.data);
    table out{"jax_memory", "What JAX had in memory when the recording ended", {}, {}, {}};
    out.columns = {{"device", "device", quantity::text},    {"kind", "kind", quantity::text},
                   {"line", "line", quantity::text},        {"code", "code", quantity::text},
                   {"end_bytes", "bytes", quantity::bytes}, {"end_count", "count", quantity::count}};
    for (const jax_holder& each : found.holders) {
        const std::string line =
            each.file.empty() ? std::string() : fmt::format("{}:{}", short_file(input.data, each.file), each.line);
        const std::string kind = each.has_memory ? each.kind : each.kind + " without memory";
        out.rows.push_back({each.device, kind, text_or_none(line), text_or_none(each.function),
                            static_cast<std::int64_t>(each.bytes), each.count});
    }
    for (const jax_device_memory& each : found.devices) {
        if (!each.in_use || !out.totals.empty()) continue;
        out.totals = {{"in_use_bytes", *each.in_use},
                      {"peak_bytes", each.peak ? table_cell(*each.peak) : table_cell()},
                      {"limit_bytes", each.limit ? table_cell(*each.limit) : table_cell()}};
    }
    out.legend = {{"line", "line: of the program's own code, where an array was made or a program compiled."}};
    out.shorten = largest_rows;
    out.notes = jax_memory_lines(found);
    if (found.devices.empty() && found.holders.empty()) {
        out.notes.push_back(input.data.property("allocations") == "on"
                                ? "JAX was not asked: the program does not use it, or was not started by `prof run`"
                                : "JAX was not asked: `prof run --allocations on` does");
    }
    return part_of(std::move(out));
}

report_part memory_steps_report(const report_input& input) {
    const memory_summary found = memory_of(input);
    table out{"memory_steps", "GPU memory of each step", {}, {}, {}};
    out.columns = {{"device", found.devices.size() > 1 ? "GPU" : "", quantity::identity},
                   {"step", "step", quantity::identity},
                   {"start_ns", "", quantity::moment_ns},
                   {"peak_bytes", "peak", quantity::bytes},
                   {"peak_at_ns", "", quantity::moment_ns},
                   {"path", "in", quantity::text},
                   {"module", found.has_modules ? "module" : "", quantity::text},
                   {"reserved_bytes", "reserved", quantity::bytes},
                   {"growth_bytes", "growth", quantity::bytes},
                   {"churn_bytes", "churn", quantity::bytes, 2},
                   {"births", "births", quantity::count, 3},
                   {"segments", "reserving", quantity::count, 1}};
    const std::int64_t begin_ns = earliest_moment(input.data);
    for (const memory_device& device : found.devices) {
        if (!device.has_steps) continue;
        for (const memory_step& step : device.steps) {
            out.rows.push_back({device.device, step.number, step.start_ns - begin_ns, step.peak,
                                step.peak_ns - begin_ns, step.peak_path, text_or_none(step.peak_module), step.reserved,
                                step.growth, step.churn, step.births, step.segments});
        }
    }
    out.legend = {
        {"peak", "peak: the most that was allocated in the step; in: the ranges that asked for the last of it."},
        {"growth", "growth: from the step's beginning to its end."},
        {"reserving", "reserving: how often the allocator got more memory of the driver."}};
    if (found.devices.empty()) out.notes.push_back(no_allocation_text(input.data));
    if (!found.devices.empty() && out.rows.empty()) out.notes.emplace_back("no steps were found");
    return part_of(std::move(out));
}

report_part memory_lines_report(const report_input& input) {
    const memory_summary found = memory_of(input);
    const bool has_failure = !failure_text(found).empty();
    table out{"memory_lines", "GPU memory, by the line that asked for it", {}, {}, {}};
    out.columns = {{"device", found.devices.size() > 1 ? "GPU" : "", quantity::identity},
                   {"line", "line", quantity::text},
                   {"code", "code", quantity::text},
                   {"failure_bytes", has_failure ? "at the error" : "", quantity::bytes},
                   {"peak_bytes", "at peak", quantity::bytes},
                   {"median_bytes", "median step", quantity::bytes, 2},
                   {"end_bytes", "", quantity::bytes},
                   {"churn_bytes", "churn", quantity::bytes, 3},
                   {"births", "births", quantity::mean_count, 4},
                   {"known_births", "", quantity::count}};
    for (const memory_device& device : found.devices) {
        const auto steps = static_cast<double>(std::max<std::size_t>(device.steps.size(), 1));
        for (const memory_line& each : device.lines) {
            out.rows.push_back({device.device, text_or_none(each.line),
                                each.line.empty() ? std::string("(no line is known)") : each.code,
                                device.failures.empty() ? table_cell() : table_cell(each.at_failure), each.at_peak,
                                each.at_median, each.at_end,
                                static_cast<std::int64_t>(static_cast<double>(each.churn) / steps),
                                static_cast<double>(each.births) / steps, each.known});
        }
    }
    out.legend = {{"line",
                   "line: of the program's own code. A thread records up to 800 stacks a second, of blocks of 1 MiB "
                   "and more first; the others have the line of blocks of the same place and size."},
                  {"churn", "churn, births: of blocks given out in a step."}};
    out.shorten = largest_rows;
    if (found.devices.empty()) {
        out.notes.push_back(no_allocation_text(input.data));
    } else if (!found.has_lines) {
        out.notes.emplace_back(
            "no line is known: --lines was off, or no thread with code of the program's own asked for memory");
    } else {
        out.notes.emplace_back("what was alive before the recording, and autograd's threads, have no line");
    }
    return part_of(std::move(out));
}

report_part memory_findings_report(const report_input& input) {
    const memory_summary found = memory_of(input);
    const std::vector<memory_finding> findings = memory_findings(found, checkpoints_of(input, found));
    table out{"memory_findings", "What to change about GPU memory", {}, {}, {}};
    out.columns = {{"device", found.devices.size() > 1 ? "GPU" : "", quantity::identity},
                   {"finding", "", quantity::text},
                   {"title", "finding", quantity::text},
                   {"value", "", quantity::number},
                   {"path", "", quantity::text},
                   {"module", "", quantity::text},
                   {"line", "", quantity::text},
                   {"code", "", quantity::text},
                   {"advice", "try", quantity::text}};
    for (const memory_finding& each : findings) {
        out.rows.push_back({each.device, each.rule, each.title, each.bytes, text_or_none(each.path),
                            text_or_none(each.module), text_or_none(each.line), text_or_none(each.code), each.advice});
    }
    // People get sentences, which columns would cut.
    if (!out.rows.empty()) {
        out.instead = fmt::format("{} finding{}", out.rows.size(), out.rows.size() == 1 ? "" : "s");
        for (const memory_finding& each : findings) {
            out.notes.push_back(fmt::format("{}; try {}", each.title, each.advice));
        }
    }
    if (found.devices.empty()) {
        out.notes.push_back(no_allocation_text(input.data));
    } else if (out.rows.empty()) {
        const bool has_steps =
            std::any_of(found.devices.begin(), found.devices.end(), [](const auto& d) { return d.has_steps; });
        out.notes.emplace_back(has_steps
                                   ? "nothing was found: no error, no growth, no fragmentation, and no memory had "
                                     "of the driver in a quarter of the steps"
                                   : "no error and no fragmentation was found; without steps, growth and memory "
                                     "had of the driver in them could not be looked for");
    }
    return part_of(std::move(out));
}

report_part memory_checkpoints_report(const report_input& input) {
    const memory_summary found = memory_of(input);
    table out{"memory_checkpoints", "Modules that could be checkpointed, by what that would save", {}, {}, {}};
    out.columns = {{"device", found.devices.size() > 1 ? "GPU" : "", quantity::identity},
                   {"module", "module", quantity::text},
                   {"class", "class", quantity::text, 3},
                   {"calls", "calls", quantity::count, 2},
                   {"saving_bytes", "saves", quantity::bytes},
                   {"peak_bytes", "peak then", quantity::bytes},
                   {"cost_ns", "costs", quantity::time_ns},
                   {"held_bytes", "holds", quantity::bytes, 1},
                   {"output_bytes", "outputs", quantity::bytes, 1},
                   {"forward_gpu_ns", "GPU forward", quantity::time_ns, 4},
                   {"forward_host_ns", "host forward", quantity::time_ns, 5}};
    if (found.devices.empty()) {
        out.notes.push_back(no_allocation_text(input.data));
        return part_of(std::move(out));
    }
    const checkpoint_answer answer = checkpoints_of(input, found);
    for (const checkpoint_advice& each : answer.modules) {
        out.rows.push_back({each.device, each.module, text_or_none(each.class_name), each.calls, each.saving, each.peak,
                            static_cast<std::int64_t>(each.cost_ns), each.held, each.outputs,
                            static_cast<std::int64_t>(each.gpu_ns), static_cast<std::int64_t>(each.host_ns)});
    }
    out.legend = {{"saves", "saves: of the highest step's peak, if each call of the module were checkpointed."},
                  {"costs", "costs: of a step, by replay with the module's forward once more before its backward."},
                  {"holds", "holds: what forward made in its calls, alive at the peak; outputs stay."}};
    if (!answer.reason.empty()) out.notes.push_back(answer.reason);
    if (answer.replayed < answer.steps) {
        out.notes.push_back(
            fmt::format("costs are by {} of {} steps", with_thousands(answer.replayed), with_thousands(answer.steps)));
    }
    return part_of(std::move(out));
}

}  // namespace prof
