// SPDX-License-Identifier: Apache-2.0
#include "analysis/hta/bandwidth.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/statistics.hpp"

namespace prof {
namespace {

struct direction_walk {
    direction_bandwidth found;
    busy_time busy;
    std::vector<std::pair<std::int64_t, double>> changes;  // moment, GB/s
};

std::string direction_of(const std::string& name) {
    if (name.starts_with("Memset")) return "Memset";
    if (!name.starts_with("Memcpy")) return "Memcpy Unknown";
    constexpr std::size_t length_of_direction = 11;  // "Memcpy HtoD"
    return name.substr(0, length_of_direction);
}

void take_points(direction_walk& walk) {
    std::stable_sort(walk.changes.begin(), walk.changes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    double rate = 0;
    for (const auto& [moment_ns, change] : walk.changes) {
        rate += change;
        if (rate > 0) walk.found.points.add(rate);
    }
}

}  // namespace

std::vector<direction_bandwidth> measure_bandwidth(const hta_input& input, hta_scope scope) {
    const timeline& data = input.data;
    const scope_rows rows(input, scope);
    std::map<std::string, direction_walk> walks;
    for (const gpu_op& op : data.ops) {
        if (!is_transfer(op.kind) || !rows.has(op)) continue;
        std::string name = direction_of(input.op_name(op));
        direction_walk& walk = walks[name];
        if (walk.found.operations == 0) walk.found.name = std::move(name);
        const std::uint64_t bytes = data.transfers[op.detail].bytes;
        const std::int64_t ns = op.end_ns - op.start_ns;
        // Bytes per nanosecond are 10^9 bytes per second. HTA gives an operation without length one microsecond.
        const double rate = ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(ns);
        walk.changes.emplace_back(op.start_ns, rate);
        walk.changes.emplace_back(ns == 0 ? op.end_ns + 1000 : op.end_ns, -rate);
        walk.busy.add(0, op.start_ns, op.end_ns);
        ++walk.found.operations;
        add_saturating(walk.found.bytes, bytes);
    }
    std::vector<direction_bandwidth> out;
    for (auto& [name, walk] : walks) {
        take_points(walk);
        walk.found.busy_ns = walk.busy.total_ns();
        out.push_back(std::move(walk.found));
    }
    return out;
}

}  // namespace prof
