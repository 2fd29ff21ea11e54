// SPDX-License-Identifier: Apache-2.0
#include "diagnose/finding_modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace prof {
namespace {

constexpr std::size_t most_sampled = 20'000;
constexpr std::size_t most_named = 3;
constexpr double least_share = 0.05;

class time_by_module {
public:
    time_by_module(const dependency_graph& graph, module_texts& modules) : graph_(graph), modules_(modules) {}

    void add(const event_change& change) {
        const host_event& event = graph_.events()[change.event];
        if (event.before != npos && change.gap_less_ns > 0) {
            const std::int64_t from_ns = graph_.events()[event.before].end_ns;
            add_at(event.thread, from_ns + (event.start_ns - from_ns) / 2, change.gap_less_ns);
        }
        const bool is_call_less = change.work_less_ns > 0 || !change.waits;
        if (event.call != npos && is_call_less) add_at(event.thread, event.start_ns, event.end_ns - event.start_ns);
    }

    void add(const op_change& change) {
        const gpu_op& op = graph_.data().ops[change.op];
        const std::int64_t less_ns =
            change.leaves_stream() ? op.end_ns - op.start_ns : change.less_ns + change.next_less_ns;
        if (less_ns > 0 && op.launch != npos) add_time(modules_.of_op(change.op), less_ns);
    }

    std::vector<std::string> largest() const {
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

private:
    // Where a thread is in no module, those of the thread for which it works.
    void add_at(std::uint32_t thread, std::int64_t time_ns, std::int64_t ns) {
        std::string module = modules_.at(thread, time_ns);
        if (module.empty()) module = modules_.at(graph_.home_of(thread), time_ns);
        add_time(std::move(module), ns);
    }

    void add_time(std::string module, std::int64_t ns) {
        if (ns <= 0) return;
        times_ns_[std::move(module)] += ns;
        total_ns_ += ns;
    }

    const dependency_graph& graph_;
    module_texts& modules_;
    std::map<std::string, std::int64_t> times_ns_;
    std::int64_t total_ns_ = 0;
};

template <typename TChange>
void add_all(const std::vector<TChange>& changes, time_by_module& to) {
    const std::size_t stride = changes.size() / most_sampled + 1;
    for (std::size_t i = 0; i < changes.size(); i += stride) to.add(changes[i]);
}

}  // namespace

std::vector<std::string> modules_of(const replay_changes& changes, const dependency_graph& graph,
                                    module_texts& modules) {
    if (!modules.is_recorded()) return {};
    time_by_module times(graph, modules);
    // A finding of the host also changes the operations that follow: that is the same time again.
    if (changes.events.empty()) {
        add_all(changes.ops, times);
    } else {
        add_all(changes.events, times);
    }
    return times.largest();
}

}  // namespace prof
