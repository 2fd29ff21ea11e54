// SPDX-License-Identifier: Apache-2.0
// Divides the time of one GPU into pieces in which the same operations run. A template over the consumer of the pieces.
//
// In each piece an operation represents each class: of those that run, the one that began first. Cost: constant for an
// operation, beside the memory for those that run at one time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "analysis/projection/op_class.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct covered_time {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;         // > start_ns
    std::array<op_id, 3> running{};  // by op_class: index into timeline::ops; npos: none runs

    op_id of(op_class which) const noexcept { return running[static_cast<std::size_t>(which)]; }
    bool is_idle() const noexcept {
        return std::all_of(running.begin(), running.end(), [](op_id op) { return op == npos; });
    }
};

template <typename TVisit>
class device_cover {
public:
    // Calls visit(covered_time) for pieces in order of time, without holes, from `begin_ns` on.
    device_cover(const timeline& data, std::int64_t begin_ns, TVisit visit)
        : data_(data), now_ns_(begin_ns), visit_(std::move(visit)) {}

    // REQUIRES: the operations of one device, in order of start_ns.
    void add(op_id op, op_class as) {
        advance(data_.ops[op].start_ns);
        running_[static_cast<std::size_t>(as)].push_back(op);
    }

    // To `end_ns`, or to the end of the last operation if that is later.
    void finish(std::int64_t end_ns) {
        for (const auto& queue : running_) {
            for (const op_id op : queue) end_ns = std::max(end_ns, data_.ops[op].end_ns);
        }
        advance(end_ns);
    }

private:
    void advance(std::int64_t until_ns) {
        while (now_ns_ < until_ns) {
            covered_time piece{.start_ns = now_ns_, .end_ns = until_ns};
            for (std::size_t i = 0; i < running_.size(); ++i) {
                auto& queue = running_[i];
                while (!queue.empty() && data_.ops[queue.front()].end_ns <= now_ns_) queue.pop_front();
                if (queue.empty()) continue;
                piece.running[i] = queue.front();
                piece.end_ns = std::min(piece.end_ns, data_.ops[queue.front()].end_ns);
            }
            visit_(piece);
            now_ns_ = piece.end_ns;
        }
    }

    const timeline& data_;
    std::int64_t now_ns_;
    TVisit visit_;
    std::array<std::deque<op_id>, 3> running_;  // by op_class, in order of their start
};

struct no_operation_visit {
    void operator()(op_id) const noexcept {}
};

// Walks the time of one GPU from `begin_ns` to `end_ns`, or to the end of its last operation if that is later. Calls
// piece(covered_time, the first operation that begins after it, or npos) in order of time, and operation(op) for each
// operation when all pieces before its start are done. A graph that was recorded as one operation computes.
template <typename TPiece, typename TOperation = no_operation_visit>
void walk_device(const timeline& data, const op_classifier& class_of, std::uint32_t device, std::int64_t begin_ns,
                 std::int64_t end_ns, TPiece&& piece, TOperation&& operation = {}) {
    op_id next = npos;
    device_cover cover(data, begin_ns, [&](const covered_time& covered) { piece(covered, next); });
    for (const op_id op : data.ops.ids()) {
        if (data.place_of(data.ops[op]).device != device) continue;
        next = op;
        cover.add(op, data.ops[op].kind == op_kind::graph ? op_class::compute : class_of(data.ops[op]));
        operation(op);
    }
    next = npos;
    cover.finish(end_ns);
}

}  // namespace prof
