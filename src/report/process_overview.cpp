// SPDX-License-Identifier: Apache-2.0
#include "report/process_overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "analysis/quality/capture_notes.hpp"
#include "analysis/quality/ending.hpp"
#include "base/display_text.hpp"

namespace prof {
namespace {

constexpr std::size_t most_unfolded = 2;  // processes that are alike stand in a line each up to this number

bool are_alike(const captured_process& a, const captured_process& b) {
    return a.ops == 0 && b.ops == 0 && a.rank == b.rank && a.program == b.program && a.host == b.host &&
           a.part == b.part && a.state == b.state && a.is_forked == b.is_forked;
}

std::string program_of(const captured_process& process) {
    return process.is_forked ? process.program + " (worker)" : process.program;
}

// One line for the processes of `group`, which is not empty.
table_row line_of(const std::vector<const captured_process*>& group) {
    captured_process sum = *group.front();
    for (std::size_t i = 1; i < group.size(); ++i) {
        sum.recorded_ns = std::max(sum.recorded_ns, group[i]->recorded_ns);
        sum.ranges += group[i]->ranges;
        sum.calls += group[i]->calls;
    }
    const bool is_one = group.size() == 1;
    std::string program = program_of(sum);
    if (!is_one) program = fmt::format("{} x {}", group.size(), program);
    return {sum.rank ? table_cell(*sum.rank) : table_cell(),
            is_one && sum.pid ? table_cell(*sum.pid) : table_cell(),
            std::move(program),
            sum.host,
            sum.recorded_ns,
            sum.ranges,
            sum.ops,
            sum.gpu_sum_ns,
            sum.part,
            sum.state};
}

// A process has several captures where each window has its own.
std::string overview_heading(std::span<const captured_process> processes) {
    std::set<std::pair<std::string, std::int64_t>> pids;
    for (const captured_process& process : processes) pids.emplace(process.host, process.pid.value_or(0));
    if (pids.size() == processes.size()) return fmt::format("{} processes", with_thousands(processes.size()));
    return fmt::format("{} captures of {} process{}", with_thousands(processes.size()), with_thousands(pids.size()),
                       pids.size() == 1 ? "" : "es");
}

// "" where the recording ended in good order.
std::string short_ending(const timeline& data) {
    const timeline_quality& quality = data.quality;
    if (quality.ended) return {};
    if (!quality.died) return quality.process == process_state::running ? "still runs" : "not closed";
    if (quality.how == 0) return ended_as_workers_do(data) ? "os._exit" : "os._exit or killed";
    if (quality.how >= exit_status_base) return fmt::format("status {}", quality.how - exit_status_base);
    const char* const name = sigabbrev_np(static_cast<int>(quality.how));
    return name == nullptr ? fmt::format("signal {}", quality.how) : fmt::format("SIG{}", name);
}

// Whether `a` does more of a rank's work than `b`. Loader workers may have more ranges than the program that forks
// them.
bool does_more(const captured_process& a, const captured_process& b) {
    return std::tuple(a.gpu_sum_ns, !a.is_forked, a.ranges) > std::tuple(b.gpu_sum_ns, !b.is_forked, b.ranges);
}

}  // namespace

captured_process process_of(const timeline& data) {
    captured_process out;
    out.program = data.property("name");
    if (out.program.empty()) out.program = "a process";
    out.host = data.property("hostname");
    out.rank = data.number("rank");
    out.pid = data.number("pid");
    out.recorded_ns = recorded_ns(data);
    out.ranges = data.ranges.size();
    out.calls = data.api_calls.size();
    out.ops = data.ops.size();
    out.gpu_sum_ns =
        std::accumulate(data.ops.begin(), data.ops.end(), std::int64_t{0},
                        [](std::int64_t sum, const gpu_op& op) { return sum + (op.end_ns - op.start_ns); });
    for (const device_record& device : data.devices) out.gpus.emplace_back(data.name(device.name));
    std::map<std::uint32_t, std::string> used;
    for (const std::uint32_t device : devices_of(data)) used.try_emplace(device);
    for (const device_record& device : data.devices) {
        const auto found = used.find(device.device);
        if (found != used.end()) found->second = data.name(device.name);
    }
    for (auto& [device, name] : used) out.used_gpus.push_back(std::move(name));
    out.part = windows_line(data);
    out.state = short_ending(data);
    const bool is_spawned = data.property("command").find(" from multiprocessing.") != std::string::npos;
    out.is_forked = is_spawned || data.properties.contains("forked_from");
    return out;
}

table process_overview(std::span<const captured_process> processes) {
    std::vector<std::vector<const captured_process*>> groups;
    for (const captured_process& process : processes) {
        const auto alike = std::find_if(groups.begin(), groups.end(),
                                        [&](const auto& group) { return are_alike(*group.front(), process); });
        if (alike == groups.end()) {
            groups.push_back({&process});
        } else {
            alike->push_back(&process);
        }
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a.front()->rank < b.front()->rank; });
    table out{"processes", overview_heading(processes), {}, {}, {}};
    out.columns = {{"rank", "rank", quantity::identity},
                   {"pid", "pid", quantity::identity},
                   {"program", "program", quantity::text},
                   {"host", "host", quantity::text, 3},
                   {"recorded_ns", "recorded", quantity::time_ns, 2},
                   {"ranges", "ranges", quantity::count},
                   {"ops", "GPU ops", quantity::count, 1},
                   {"gpu_sum_ns", "GPU", quantity::time_ns},
                   {"part", "part", quantity::text},
                   {"state", "ended", quantity::text, 1}};
    const auto hide = [&](std::size_t column, bool hidden) {
        if (hidden) out.columns[column].title.clear();
    };
    const auto all = [&](auto&& is) { return std::all_of(processes.begin(), processes.end(), is); };
    hide(0, all([&](const captured_process& process) { return process.rank == processes.front().rank; }));
    hide(3, all([&](const captured_process& process) { return process.host == processes.front().host; }));
    hide(6, all([](const captured_process& process) { return process.ops == 0; }));
    hide(7, all([](const captured_process& process) { return process.ops == 0; }));
    hide(8, all([](const captured_process& process) { return process.part.empty(); }));
    hide(9, all([](const captured_process& process) { return process.state.empty(); }));
    for (const auto& group : groups) {
        if (group.size() > most_unfolded) {
            out.rows.push_back(line_of(group));
            continue;
        }
        for (const captured_process* const one : group) out.rows.push_back(line_of({one}));
    }
    return out;
}

std::vector<bool> processes_with_tables(std::span<const captured_process> processes, std::size_t most) {
    // A rank's loader workers have its number, too.
    std::map<std::int64_t, std::size_t> main_of_rank;
    std::size_t largest = 0;
    for (std::size_t i = 0; i < processes.size(); ++i) {
        if (does_more(processes[i], processes[largest])) largest = i;
        if (!processes[i].rank) continue;
        const auto [main, is_new] = main_of_rank.try_emplace(*processes[i].rank, i);
        if (!is_new && does_more(processes[i], processes[main->second])) main->second = i;
    }
    std::vector<bool> out(processes.size());
    std::size_t count = 0;
    const auto choose = [&](std::size_t index) {
        if (count++ < most) out[index] = true;
    };
    if (main_of_rank.size() > 1) {
        for (const auto& [rank, main] : main_of_rank) choose(main);
        return out;
    }
    for (std::size_t i = 0; i < processes.size(); ++i) {
        if (processes[i].ops != 0) choose(i);
    }
    if (count == 0 && !processes.empty()) choose(largest);
    return out;
}

}  // namespace prof
