// SPDX-License-Identifier: Apache-2.0
#include "report/captured_process.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/breakdown/breakdown_steps.hpp"
#include "analysis/quality/capture_notes.hpp"
#include "analysis/quality/ending.hpp"

namespace prof {
namespace {

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
    for (const device_record& device : data.devices) out.gpus.emplace_back(data.name(name_id(device.name)));
    std::map<std::uint32_t, std::string> used;
    for (const std::uint32_t device : devices_of(data)) used.try_emplace(device);
    for (const device_record& device : data.devices) {
        const auto found = used.find(device.device);
        if (found != used.end()) found->second = data.name(name_id(device.name));
    }
    for (auto& [device, name] : used) out.used_gpus.push_back(std::move(name));
    out.part = windows_line(data);
    out.state = short_ending(data);
    const bool is_spawned = data.property("command").find(" from multiprocessing.") != std::string::npos;
    out.is_forked = is_spawned || data.properties.contains("forked_from");
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
