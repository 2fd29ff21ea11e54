// SPDX-License-Identifier: Apache-2.0
#include "diagnose/finding_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace prof {
namespace {

constexpr std::size_t most_named = 3;
constexpr double least_share = 0.05;

}  // namespace

void finding_modules::add_event(const event_change& change, const dependency_graph& graph, module_texts& modules) {
    const host_event& event = graph.events()[change.event];
    if (event.before != npos && change.gap_less_ns > 0) {
        const std::int64_t from_ns = graph.events()[event.before].end_ns;
        add_at(graph, modules, event.thread, from_ns + (event.start_ns - from_ns) / 2, change.gap_less_ns);
    }
    const bool is_call_less = change.work_less_ns > 0 || !change.waits;
    if (event.call != npos && is_call_less) {
        add_at(graph, modules, event.thread, event.start_ns, event.end_ns - event.start_ns);
    }
}

void finding_modules::add_op(const op_change& change, const dependency_graph& graph, module_texts& modules) {
    const gpu_op& op = graph.data().ops[change.op];
    const std::int64_t less_ns =
        change.leaves_stream() ? op.end_ns - op.start_ns : change.less_ns + change.next_less_ns;
    if (less_ns > 0 && op.launch != npos) add_time(modules.of_op(change.op), less_ns);
}

// Where a thread is in no module, those of the thread for which it works.
void finding_modules::add_at(const dependency_graph& graph, module_texts& modules, thread_id thread,
                             std::int64_t time_ns, std::int64_t ns) {
    const std::string& own = modules.at(thread, time_ns);
    add_time(own.empty() ? modules.at(graph.home_of(thread), time_ns) : own, ns);
}

void finding_modules::add_time(const std::string& module, std::int64_t ns) {
    if (ns <= 0) return;
    times_ns_[module] += ns;
    total_ns_ += ns;
}

void finding_modules::add(const replay_changes& changes, const dependency_graph& graph, module_texts& modules,
                          std::size_t most_sampled) {
    if (!modules.is_recorded()) return;
    const auto stride_of = [&](std::size_t count) { return count / most_sampled + 1; };
    const std::size_t event_stride = stride_of(changes.events.size());
    for (std::size_t i = 0; i < changes.events.size(); i += event_stride) add_event(changes.events[i], graph, modules);
    // A finding of the host also changes the operations that follow: that is the same time again.
    if (!changes.events.empty()) return;
    const std::size_t op_stride = stride_of(changes.ops.size());
    for (std::size_t i = 0; i < changes.ops.size(); i += op_stride) add_op(changes.ops[i], graph, modules);
}

std::vector<std::string> finding_modules::largest() const {
    std::vector<std::pair<std::int64_t, std::string>> named;
    for (const auto& [module, ns] : times_ns_) {
        if (!module.empty()) named.emplace_back(ns, module);
    }
    std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::int64_t in_modules_ns = 0;
    for (const auto& [ns, module] : named) in_modules_ns += ns;
    std::vector<std::string> out;
    if (2 * in_modules_ns < total_ns_) return out;
    for (const auto& [ns, module] : named) {
        const double share = static_cast<double>(ns) / static_cast<double>(total_ns_);
        if (share < least_share || out.size() == most_named) break;
        out.push_back(fmt::format("{} ({:.0f} %)", module, 100 * share));
    }
    return out;
}

}  // namespace prof
