// SPDX-License-Identifier: Apache-2.0
#include "report/tables/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "report/makers.hpp"

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

std::unique_ptr<report_job> begin_processes_job(job_knowledge& /*shared*/) { return std::make_unique<processes_job>(); }

}  // namespace prof
