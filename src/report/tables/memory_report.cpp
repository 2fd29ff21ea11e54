// SPDX-License-Identifier: Apache-2.0
// The reports on memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/projection/code_line_text.hpp"
#include "analysis/steps/capture_start.hpp"
#include "base/display_text.hpp"
#include "report/jax_memory.hpp"
#include "report/makers.hpp"
#include "report/memory_answer.hpp"
#include "report/report_column.hpp"

namespace prof {
namespace {

constexpr std::size_t most_rows_shown = 25;  // rows, for people

// A row of the rows that tables for people leave out.
table_row rest_of(const table& whole, const std::vector<table_row>& shown, std::string_view name_column) {
    table_row out(whole.columns.size(), blank_cell());
    out[place_of(whole, name_column)] = fmt::format("… {} more", whole.rows.size() - shown.size());
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

// Those that stand first, and one row of the others, whose name is in this column.
auto largest_rows(std::string_view name_column) {
    return [name_column](const table& whole, const shown_limits& limits) {
        const std::size_t most = limits.rows == SIZE_MAX ? SIZE_MAX : std::min(limits.rows, most_rows_shown);
        shown_rows out;
        for (const table_row& row : whole.rows) {
            if (out.rows.size() == most) break;
            out.rows.push_back(row);
        }
        if (out.rows.size() < whole.rows.size()) out.rows.push_back(rest_of(whole, out.rows, name_column));
        return out;
    };
}

// An element of a device's list.
template <typename TItem>
struct on_device {
    const memory_device& device;
    const TItem& item;
};
template <typename TItem>
using columns_on_device = report_columns<on_device<TItem>>;

// Cells of a member of the element, and of a sum over the steps.
template <typename TItem, typename TValue>
auto of_item(TValue TItem::*member) {
    return [member](const on_device<TItem>& row) { return row.item.*member; };
}
template <typename TItem>
auto text_of_item(std::string TItem::*member) {
    return [member](const on_device<TItem>& row) { return text_or_none(row.item.*member); };
}
template <typename TItem>
auto in_a_step(std::uint64_t TItem::*sum) {
    return [sum](const on_device<TItem>& row) {
        return static_cast<double>(row.item.*sum) /
               static_cast<double>(std::max<std::size_t>(row.device.steps.size(), 1));
    };
}
template <typename TItem>
auto bytes_in_a_step(std::uint64_t TItem::*sum) {
    return [of_step = in_a_step(sum)](const auto& row) { return static_cast<std::int64_t>(of_step(row)); };
}
template <typename TItem>
auto at_failure(std::int64_t TItem::*bytes) {
    return [bytes](const on_device<TItem>& row) { return none_unless(!row.device.failures.empty(), row.item.*bytes); };
}

table_column column_of_devices(const memory_summary& found) {
    return {"device", found.devices.size() > 1 ? "GPU" : "", quantity::identity};
}
table_cell device_of(const auto& row) { return row.device.device; }

void add_jax_notes(const report_input& input, table& out) {
    for (const std::string& line : jax_memory_lines(jax_memory_of(input.data))) {
        out.notes.push_back(line + " (--report jax_memory has what held it)");
    }
}

std::string peak_text(const memory_summary& of, const memory_device& device) {
    std::string out = fmt::format("GPU {}: ", device.device);
    if (!device.is_gpu) out = fmt::format("device {} of PyTorch's kind {}: ", device.device, device.kind);
    const memory_step& highest = device.steps[device.highest];
    out += fmt::format("{}the peak is {}", device.has_steps ? "" : "no steps were found; ", bytes_text(highest.peak));
    if (device.limit) out += fmt::format(" of {}", bytes_text(*device.limit));
    if (device.has_steps) {
        out += fmt::format(", in step {}; in the median step {}", highest.number,
                           bytes_text(device.steps[device.median].peak));
    }
    if (!of.is_of_cuda) {
        out += fmt::format("; {} more were reserved then, and not in use", bytes_text(device.unused_at_peak));
    }
    if (device.given_back != 0) {
        out += "; the allocator gave reserved memory back " +
               (device.given_back == 1 ? std::string("once") : with_thousands(device.given_back) + " times");
    }
    return out;
}

std::string outside_text(const memory_outside& outside, const std::string& known) {
    std::string out = fmt::format("outside the allocator {} of the GPU's {} were in use then",
                                  bytes_text(outside.at_peak), bytes_text(outside.total));
    if (outside.most > outside.at_peak) out += fmt::format(", and {} at most", bytes_text(outside.most));
    if (known.empty()) {
        return out + ": by CUDA's context, libraries such as NCCL and cuBLAS, and other processes";
    }
    return out + ": " + known + "; the rest by CUDA's context, other processes, and what was had before the recording";
}

void add_notes_on(const memory_device& device, const memory_summary& of, const std::vector<cuda_memory_row>& own,
                  table& out) {
    out.notes.push_back(peak_text(of, device));
    if (device.outside) out.notes.push_back(outside_text(*device.outside, known_outside_text(own, device.device)));
    if (device.growth_room && *device.growth_room > 1) {
        out.notes.push_back(fmt::format(
            "activations and workspaces could be {:.1f} times as large before the GPU is full, and so could the batch, "
            "as far as they grow with it",
            std::floor(*device.growth_room * 10) / 10));
    }
    if (device.before != 0) {
        out.notes.push_back(fmt::format("{} were allocated before the recording began: by what is not known",
                                        bytes_text(device.before)));
    }
}

void add_notes(const report_input& input, input_memory& memory, table& out) {
    const memory_summary& of = memory.summary();
    const std::vector<cuda_memory_row> own = cuda_memory_of(input, of);
    for (const memory_device& device : of.devices) add_notes_on(device, of, own, out);
    add_jax_notes(input, out);
    for (const memory_finding& each : memory.findings()) out.notes.push_back(each.title);
    if (of.doubtful != 0) {
        out.notes.push_back(fmt::format(
            "{} blocks came back or were given out although records say otherwise: records of them were lost",
            with_thousands(of.doubtful)));
    }
    const bool has_outside = std::any_of(of.devices.begin(), of.devices.end(), [](const auto& d) { return d.outside; });
    if (of.is_of_cuda) {
        out.notes.emplace_back(
            "no allocator reported: these are pieces of CUDA's own memory, as calls such as cudaMalloc had them; what "
            "was had before the recording is in no row (--report memory_pieces has them by the library that called)");
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
                  {"peak_step", none_unless(device->has_steps, highest.number)},
                  {"median_peak_bytes", device->steps[device->median].peak},
                  {"limit_bytes", device->limit},
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

columns_on_device<memory_row> use_columns(const memory_summary& of, bool was_killed) {
    using row = memory_row;
    const bool has_failure = !failure_text(of).empty();
    const auto any = [&](auto&& is) { return std::any_of(of.devices.begin(), of.devices.end(), is); };
    const bool has_growth = any([](const memory_device& device) { return device.growth > 0; });
    const bool has_steps = any([](const memory_device& device) { return device.has_steps; });
    return {{column_of_devices(of), device_of<on_device<row>>},
            {{"use", "use"}, [](const auto& line) { return to_string(line.item.use); }},
            {{"path", "born in"}, of_item(&row::path)},
            {{"phase", ""}, of_item(&row::phase)},
            {{"module", of.has_modules ? "module" : ""}, text_of_item(&row::module)},
            {{"line", of.has_lines ? "line" : "", quantity::text, 2}, text_of_item(&row::line)},
            {{"code", ""}, text_of_item(&row::code)},
            {{"failure_bytes", has_failure ? "at the error" : "", quantity::bytes}, at_failure(&row::at_failure)},
            {{"peak_bytes", "at peak", quantity::bytes}, of_item(&row::at_peak)},
            {{"median_bytes", has_steps ? "median step" : "", quantity::bytes, 3}, of_item(&row::at_median)},
            {{"end_bytes", was_killed && !has_failure ? "at the end" : "", quantity::bytes}, of_item(&row::at_end)},
            {{"peak_blocks", "blocks", quantity::count, 4}, of_item(&row::blocks_at_peak)},
            {{"churn_bytes", "churn", quantity::bytes, 5}, bytes_in_a_step(&row::churn)},
            {{"births", "births", quantity::mean_count, 6}, in_a_step(&row::births)},
            {{"growth_bytes", has_growth ? "growth" : "", quantity::bytes, 1},
             [](const auto& line) { return static_cast<std::int64_t>(line.item.growth); }}};
}

// Of a process that failed or was killed, by what was held then.
std::vector<on_device<memory_row>> rows_by_use(const memory_summary& of, bool was_killed) {
    std::vector<on_device<memory_row>> out;
    for (const memory_device& device : of.devices) {
        std::vector<const memory_row*> order;
        order.reserve(device.rows.size());
        for (const memory_row& row : device.rows) order.push_back(&row);
        if (!device.failures.empty() || was_killed) {
            const auto bytes = device.failures.empty() ? &memory_row::at_end : &memory_row::at_failure;
            std::stable_sort(order.begin(), order.end(),
                             [&](const memory_row* a, const memory_row* b) { return a->*bytes > b->*bytes; });
        }
        for (const memory_row* const row : order) out.push_back({device, *row});
    }
    return out;
}

table memory_table(const report_input& input, input_memory& memory) {
    const memory_summary& of = memory.summary();
    const bool was_killed = is_killed(input.data);
    table out = make_table("memory", "GPU memory, by use and place of birth", use_columns(of, was_killed),
                           rows_by_use(of, was_killed));
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
    out.shorten = largest_rows("use");
    add_totals(of, out);
    if (of.devices.empty()) {
        out.notes.push_back(no_allocation_text(input.data));
        add_jax_notes(input, out);
    } else {
        add_notes(input, memory, out);
    }
    return out;
}

}  // namespace

report_part memory_report(const report_input& input) {
    input_memory memory(input);
    return part_of(memory_table(input, memory));
}

report_part cuda_memory_report(const report_input& input) {
    input_memory memory(input);
    const memory_summary& found = memory.summary();
    const std::vector<cuda_memory_row> rows = cuda_memory_of(input, found);
    using row = cuda_memory_row;
    const bool has_several =
        std::any_of(rows.begin(), rows.end(), [&](const row& piece) { return piece.device != rows.front().device; });
    const auto bytes = [](std::uint64_t row::*member) {
        return [member](const row& piece) { return static_cast<std::int64_t>(piece.*member); };
    };
    const report_columns<row> columns = {
        {{"device", has_several ? "GPU" : "", quantity::identity}, &row::device},
        {{"kind", "kind"}, [](const row& piece) { return to_string(piece.kind); }},
        {{"caller", "called by"}, text_or_none(&row::caller)},
        {{"use", "for", quantity::text, 1},
         [](const row& piece) { return piece.is_of_allocator ? "PyTorch's allocator" : "itself"; }},
        {{"path", "born in"}, &row::path},
        {{"peak_bytes", "at peak", quantity::bytes}, bytes(&row::at_peak)},
        {{"end_bytes", "at the end", quantity::bytes, 3}, bytes(&row::at_end)},
        {{"most_bytes", "at most", quantity::bytes, 2}, bytes(&row::most)},
        {{"births", "pieces", quantity::count, 4}, &row::births},
        {{"births_in_steps", "in steps", quantity::count, 5}, &row::births_in_steps}};
    table out = make_table("memory_pieces", "CUDA's own memory, by the library that called CUDA", columns, rows);
    out.legend = {
        {"for", "for: what PyTorch's allocator had of CUDA is what it reserves; all else is outside of it."},
        {"at peak", "at peak: at the peak of the GPU's highest step; of the host's memory, of the fullest GPU's."}};
    out.shorten = largest_rows("kind");
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
    const auto line = [&](const jax_holder& holder) {
        return none_unless(!holder.file.empty(),
                           fmt::format("{}:{}", short_file(input.data, holder.file), holder.line));
    };
    const report_columns<jax_holder> columns = {
        {{"device", "device"}, &jax_holder::device},
        {{"kind", "kind"},
         [](const auto& holder) { return holder.has_memory ? holder.kind : holder.kind + " without memory"; }},
        {{"line", "line"}, line},
        {{"code", "code"}, text_or_none(&jax_holder::function)},
        {{"end_bytes", "bytes", quantity::bytes},
         [](const auto& holder) { return static_cast<std::int64_t>(holder.bytes); }},
        {{"end_count", "count", quantity::count}, &jax_holder::count}};
    table out = make_table("jax_memory", "What JAX had in memory when the recording ended", columns, found.holders);
    for (const jax_device_memory& each : found.devices) {
        if (!each.in_use || !out.totals.empty()) continue;
        out.totals = {{"in_use_bytes", each.in_use}, {"peak_bytes", each.peak}, {"limit_bytes", each.limit}};
    }
    out.legend = {{"line", "line: of the program's own code, where an array was made or a program compiled."}};
    out.shorten = largest_rows("kind");
    out.notes = jax_memory_lines(found);
    if (found.devices.empty() && found.holders.empty()) {
        out.notes.push_back(input.data.property("allocations") == "on"
                                ? "JAX was not asked: the program does not use it, or was not started by `prof run`"
                                : "JAX was not asked: `prof run --allocations on` does");
    }
    return part_of(std::move(out));
}

report_part memory_steps_report(const report_input& input) {
    input_memory memory(input);
    const memory_summary& found = memory.summary();
    using row = memory_step;
    const std::int64_t begin_ns = earliest_moment(input.data);
    const auto moment = [begin_ns](std::int64_t row::*ns) {
        return [=](const on_device<row>& step) { return step.item.*ns - begin_ns; };
    };
    const columns_on_device<row> columns = {
        {column_of_devices(found), device_of<on_device<row>>},
        {{"step", "step", quantity::identity}, of_item(&row::number)},
        {{"start_ns", "", quantity::moment_ns}, moment(&row::start_ns)},
        {{"peak_bytes", "peak", quantity::bytes}, of_item(&row::peak)},
        {{"peak_at_ns", "", quantity::moment_ns}, moment(&row::peak_ns)},
        {{"path", "in"}, of_item(&row::peak_path)},
        {{"module", found.has_modules ? "module" : ""}, text_of_item(&row::peak_module)},
        {{"reserved_bytes", "reserved", quantity::bytes}, of_item(&row::reserved)},
        {{"growth_bytes", "growth", quantity::bytes}, of_item(&row::growth)},
        {{"churn_bytes", "churn", quantity::bytes, 2}, of_item(&row::churn)},
        {{"births", "births", quantity::count, 3}, of_item(&row::births)},
        {{"segments", "reserving", quantity::count, 1}, of_item(&row::segments)}};
    table out = make_table("memory_steps", "GPU memory of each step", columns);
    for (const memory_device& device : found.devices) {
        if (!device.has_steps) continue;
        for (const memory_step& step : device.steps) out.rows.push_back(cells_of(columns, {device, step}));
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
    input_memory memory(input);
    const memory_summary& found = memory.summary();
    using row = memory_line;
    const columns_on_device<row> columns = {
        {column_of_devices(found), device_of<on_device<row>>},
        {{"line", "line"}, text_of_item(&row::line)},
        {{"code", "code"},
         [](const auto& line) { return line.item.line.empty() ? "(no line is known)" : line.item.code; }},
        {{"failure_bytes", failure_text(found).empty() ? "" : "at the error", quantity::bytes},
         at_failure(&row::at_failure)},
        {{"peak_bytes", "at peak", quantity::bytes}, of_item(&row::at_peak)},
        {{"median_bytes", "median step", quantity::bytes, 2}, of_item(&row::at_median)},
        {{"end_bytes", "", quantity::bytes}, of_item(&row::at_end)},
        {{"churn_bytes", "churn", quantity::bytes, 3}, bytes_in_a_step(&row::churn)},
        {{"births", "births", quantity::mean_count, 4}, in_a_step(&row::births)},
        {{"known_births", "", quantity::count}, of_item(&row::known)}};
    table out = make_table("memory_lines", "GPU memory, by the line that asked for it", columns);
    for (const memory_device& device : found.devices) {
        for (const memory_line& line : device.lines) out.rows.push_back(cells_of(columns, {device, line}));
    }
    out.legend = {{"line",
                   "line: of the program's own code. A thread records up to 800 stacks a second, of blocks of 1 MiB "
                   "and more first; the others have the line of blocks of the same place and size."},
                  {"churn", "churn, births: of blocks given out in a step."}};
    out.shorten = largest_rows("line");
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
    input_memory memory(input);
    const memory_summary& found = memory.summary();
    const std::vector<memory_finding> findings = memory.findings();
    using row = memory_finding;
    const report_columns<row> columns = {
        {column_of_devices(found), &row::device}, {{"finding", ""}, &row::rule},
        {{"title", "finding"}, &row::title},      {{"value", "", quantity::number}, &row::bytes},
        {{"path", ""}, text_or_none(&row::path)}, {{"module", ""}, text_or_none(&row::module)},
        {{"line", ""}, text_or_none(&row::line)}, {{"code", ""}, text_or_none(&row::code)},
        {{"advice", "try"}, &row::advice}};
    table out = make_table("memory_findings", "What to change about GPU memory", columns, findings);
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
    input_memory memory(input);
    const memory_summary& found = memory.summary();
    using row = checkpoint_advice;
    const auto whole_ns = [](double row::*ns) {
        return [ns](const row& module) { return static_cast<std::int64_t>(module.*ns); };
    };
    const report_columns<row> columns = {
        {column_of_devices(found), &row::device},
        {{"module", "module"}, &row::module},
        {{"class", "class", quantity::text, 3}, text_or_none(&row::class_name)},
        {{"calls", "calls", quantity::count, 2}, &row::calls},
        {{"saving_bytes", "saves", quantity::bytes}, &row::saving},
        {{"peak_bytes", "peak then", quantity::bytes}, &row::peak},
        {{"cost_ns", "costs", quantity::time_ns}, whole_ns(&row::cost_ns)},
        {{"held_bytes", "holds", quantity::bytes, 1}, &row::held},
        {{"output_bytes", "outputs", quantity::bytes, 1}, &row::outputs},
        {{"forward_gpu_ns", "GPU forward", quantity::time_ns, 4}, whole_ns(&row::gpu_ns)},
        {{"forward_host_ns", "host forward", quantity::time_ns, 5}, whole_ns(&row::host_ns)}};
    table out =
        make_table("memory_checkpoints", "Modules that could be checkpointed, by what that would save", columns);
    if (found.devices.empty()) {
        out.notes.push_back(no_allocation_text(input.data));
        return part_of(std::move(out));
    }
    const checkpoint_answer& answer = memory.checkpoints();
    out.rows = rows_of(columns, answer.modules);
    out.legend = {{"saves", "saves: of the highest step's peak, if each call of the module were checkpointed."},
                  {"costs", "costs: of a step, by replay with the module's forward once more before its backward."},
                  {"holds", "holds: what forward made in its calls, alive at the peak; outputs stay."}};
    if (!answer.reason.empty()) out.notes.push_back(answer.reason);
    if (std::any_of(answer.modules.begin(), answer.modules.end(), std::mem_fn(&row::waits_for_launches))) {
        out.notes.push_back(
            "a module whose forward takes the host longer than the GPU costs more than that where the GPU waits for "
            "launches: what a checkpoint itself does on the host is in no price");
    }
    if (answer.replayed < answer.steps) {
        out.notes.push_back(
            fmt::format("costs are by {} of {} steps", with_thousands(answer.replayed), with_thousands(answer.steps)));
    }
    return part_of(std::move(out));
}

}  // namespace prof
