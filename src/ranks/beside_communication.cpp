// SPDX-License-Identifier: Apache-2.0
#include "ranks/beside_communication.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace prof {
namespace {

constexpr std::size_t least_alone = 3;
// The most that the upper quartile of the durations alone may be, by the lower one. Where they differ more, the length
// of the work alone is not known.
constexpr double most_spread = 1.25;

// What an operation does: a kernel or a copy, and its record without times.
std::uint64_t kind_of_work(const gpu_op& op) {
    return std::uint64_t{static_cast<std::uint8_t>(op.kind)} << 32 | op.detail;
}

struct shared_time {
    std::int64_t ns = 0;
    std::size_t collective = 0;  // that which has most of it
};

class slowing {
public:
    slowing(const timeline& data, std::span<const running_collective> collectives)
        : data_(data), collectives_(collectives), out_(collectives.size()) {
        std::int64_t latest_ns = INT64_MIN;
        for (const running_collective& each : collectives) {
            latest_ns = std::max(latest_ns, each.end_ns);
            latest_end_ns_.push_back(latest_ns);
        }
    }

    // REQUIRES: in the order of their stream.
    void add(std::uint32_t op) {
        std::vector<std::uint32_t>& last = latest_[data_.ops[op].place];
        last.push_back(op);
        if (last.size() < 3) return;
        take(last[0], last[1], last[2]);
        last.erase(last.begin());
    }

    std::vector<std::int64_t> run() {
        for (const instance& each : beside_) {
            const std::int64_t alone_ns = alone(each.key);
            if (alone_ns == 0) continue;
            const gpu_op& op = data_.ops[each.op];
            alone_work& of = alone_[each.key];
            of.longer_ns += std::min(op.end_ns - op.start_ns - alone_ns, each.of.ns);
            of.beside_ns += each.of.ns;
        }
        // In proportion to the time beside collectives, so that an instance keeps what it differs by chance.
        for (const instance& each : beside_) {
            const alone_work& of = alone_[each.key];
            if (of.beside_ns == 0) continue;
            out_[each.of.collective] +=
                std::llround(static_cast<double>(each.of.ns) * static_cast<double>(of.longer_ns) /
                             static_cast<double>(of.beside_ns));
        }
        return std::move(out_);
    }

private:
    using work_key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // the operation, and its neighbours
    struct instance {
        std::uint32_t op = npos;
        std::uint32_t key = 0;
        shared_time of{};
    };

    void take(std::uint32_t before, std::uint32_t op, std::uint32_t after) {
        const gpu_op& of = data_.ops[op];
        const work_key key{kind_of_work(of), kind_of_work(data_.ops[before]), kind_of_work(data_.ops[after])};
        const auto [known, is_new] = keys_.try_emplace(key, static_cast<std::uint32_t>(alone_.size()));
        if (is_new) alone_.emplace_back();
        const shared_time found = shared_with(of.start_ns, of.end_ns);
        if (found.ns == 0) {
            alone_[known->second].durations_ns.push_back(of.end_ns - of.start_ns);
        } else {
            beside_.push_back({op, known->second, found});
        }
    }

    // Several collectives that run at once count once.
    shared_time shared_with(std::int64_t start_ns, std::int64_t end_ns) const {
        shared_time out;
        const auto first = std::partition_point(latest_end_ns_.begin(), latest_end_ns_.end(),
                                                [&](std::int64_t each) { return each <= start_ns; });
        std::int64_t covered_ns = start_ns;
        std::int64_t most_ns = 0;
        for (auto i = static_cast<std::size_t>(first - latest_end_ns_.begin());
             i < collectives_.size() && collectives_[i].begin_ns < end_ns; ++i) {
            const std::int64_t to_ns = std::min(end_ns, collectives_[i].end_ns);
            const std::int64_t ns = to_ns - std::max(covered_ns, collectives_[i].begin_ns);
            if (ns <= 0) continue;
            out.ns += ns;
            covered_ns = to_ns;
            if (ns > most_ns) {
                most_ns = ns;
                out.collective = i;
            }
        }
        return out;
    }

    // The median duration; 0: not known.
    std::int64_t alone(std::uint32_t key) {
        alone_work& of = alone_[key];
        std::vector<std::int64_t>& all = of.durations_ns;
        if (of.is_known || all.size() < least_alone) return of.median_ns;
        of.is_known = true;
        std::sort(all.begin(), all.end());
        const auto low = static_cast<double>(all[all.size() / 4]);
        const auto high = static_cast<double>(all[all.size() - 1 - all.size() / 4]);
        if (high <= most_spread * low) of.median_ns = all[(all.size() - 1) / 2];
        return of.median_ns;
    }

    struct alone_work {
        std::vector<std::int64_t> durations_ns{};
        std::int64_t median_ns = 0;
        bool is_known = false;
        std::int64_t longer_ns = 0;  // of the instances beside collectives: what they took longer,
        std::int64_t beside_ns = 0;  // and how long they ran beside them
    };

    const timeline& data_;
    std::span<const running_collective> collectives_;
    std::vector<std::int64_t> latest_end_ns_;                               // by collective: of those up to it
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> latest_;  // by place: up to three operations
    std::map<work_key, std::uint32_t> keys_;                                // index into alone_
    std::vector<alone_work> alone_;
    std::vector<instance> beside_;
    std::vector<std::int64_t> out_;
};

}  // namespace

std::vector<std::int64_t> slowing_ns(const timeline& data, const op_classifier& class_of, std::uint32_t device,
                                     std::span<const running_collective> collectives, std::int64_t from_ns,
                                     std::int64_t to_ns) {
    if (collectives.empty()) return {};
    slowing found(data, collectives);
    for (std::uint32_t op = 0; op < data.ops.size(); ++op) {
        const gpu_op& of = data.ops[op];
        if (of.start_ns < from_ns || of.start_ns >= to_ns || of.kind == op_kind::graph) continue;
        if (data.place_of(of).device != device || class_of(of) == op_class::communication) continue;
        found.add(op);
    }
    return found.run();
}

}  // namespace prof
