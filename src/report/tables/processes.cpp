// SPDX-License-Identifier: Apache-2.0
#include "report/tables/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "report/makers.hpp"
#include "report/report_column.hpp"

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
captured_process together(const std::vector<const captured_process*>& group) {
    captured_process sum = *group.front();
    sum.program = program_of(sum);
    if (group.size() == 1) return sum;
    sum.program = fmt::format("{} x {}", group.size(), sum.program);
    sum.pid.reset();
    for (std::size_t i = 1; i < group.size(); ++i) {
        sum.recorded_ns = std::max(sum.recorded_ns, group[i]->recorded_ns);
        sum.ranges += group[i]->ranges;
        sum.calls += group[i]->calls;
    }
    return sum;
}

report_columns<captured_process> overview_columns(std::span<const captured_process> processes) {
    const auto titled_if_any = [&](const char* title, auto&& is) {
        return std::any_of(processes.begin(), processes.end(), is) ? title : "";
    };
    const auto has_other_rank = [&](const auto& process) { return process.rank != processes.front().rank; };
    const auto has_other_host = [&](const auto& process) { return process.host != processes.front().host; };
    const auto has_ops = [](const auto& process) { return process.ops != 0; };
    return {{{"rank", titled_if_any("rank", has_other_rank), quantity::identity}, &captured_process::rank},
            {{"pid", "pid", quantity::identity}, &captured_process::pid},
            {{"program", "program"}, &captured_process::program},
            {{"host", titled_if_any("host", has_other_host), quantity::text, 3}, &captured_process::host},
            {{"recorded_ns", "recorded", quantity::time_ns, 2}, &captured_process::recorded_ns},
            {{"ranges", "ranges", quantity::count}, &captured_process::ranges},
            {{"ops", titled_if_any("GPU ops", has_ops), quantity::count, 1}, &captured_process::ops},
            {{"gpu_sum_ns", titled_if_any("GPU", has_ops), quantity::time_ns}, &captured_process::gpu_sum_ns},
            {{"part", titled_if_any("part", [](const auto& process) { return !process.part.empty(); })},
             &captured_process::part},
            {{"state", titled_if_any("ended", [](const auto& process) { return !process.state.empty(); }),
              quantity::text, 1},
             &captured_process::state}};
}

// A process has several captures where each window has its own.
std::string overview_heading(std::span<const captured_process> processes) {
    // Containers may number their processes alike.
    std::set<std::tuple<std::string, std::int64_t, std::optional<std::int64_t>>> pids;
    for (const captured_process& process : processes) {
        pids.emplace(process.host, process.pid.value_or(0), process.rank);
    }
    if (pids.size() == processes.size()) {
        return fmt::format("{} process{}", with_thousands(pids.size()), pids.size() == 1 ? "" : "es");
    }
    return fmt::format("{} captures of {} process{}", with_thousands(processes.size()), with_thousands(pids.size()),
                       pids.size() == 1 ? "" : "es");
}

class processes_job final : public report_job {
public:
    void add(const report_input& /*input*/, const capture_heading& heading) override {
        processes_.push_back(heading.process);
    }
    report_part finish() override { return part_of(processes_table(processes_)); }

private:
    std::vector<captured_process> processes_;
};

}  // namespace

table processes_table(std::span<const captured_process> processes) {
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
    std::vector<captured_process> rows;
    for (const auto& group : groups) {
        if (group.size() > most_unfolded) {
            rows.push_back(together(group));
        } else {
            for (const captured_process* const one : group) rows.push_back(together({one}));
        }
    }
    return make_table("processes", overview_heading(processes), overview_columns(processes), rows);
}

std::unique_ptr<report_job> begin_processes_job(job_knowledge& /*shared*/) { return std::make_unique<processes_job>(); }

}  // namespace prof
