// SPDX-License-Identifier: Apache-2.0
#include "timeline/walked_thread.hpp"

#include <fmt/format.h>

#include <functional>
#include <queue>
#include <utility>

#include "capture/payload.hpp"
#include "timeline/count_drops.hpp"

namespace prof {
walked_thread::walked_thread(thread_walk walk, capture_contents& contents, const name_doubles& doubles,
                             std::vector<record_run>::iterator first, std::vector<record_run>::iterator last)
    : walk_(std::move(walk)), contents_(&contents), doubles_(&doubles), run_(first), last_(last) {
    // Need not be 0, since the ring may have served other threads before.
    next_number_ = first->first_number;
}

void walked_thread::visit_open(timeline& out) {
    for (const std::size_t before = out.ranges.size(); run_ != last_ && run_->is_open; ++run_) {
        for (const record& r : run_->records) walk_.visit(r);
        for (std::size_t i = before; i < out.ranges.size(); ++i) out.ranges[i].open_at_start = true;
    }
    find_next();
    if (has_next()) next_ns_ = walk_.time_of(records_[at_]);
}

void walked_thread::find_next() {
    while (!has_next()) {
        records_ = {};
        at_ = 0;
        if (held_ != nullptr) held_->records = {};
        held_ = nullptr;
        if (run_ == last_) return;
        begin_run(*run_++);
    }
}

void walked_thread::begin_run(record_run& run) {
    held_ = &run;
    if (run.first_number > next_number_) {
        if (!may_leave_out(run)) {
            missing_ += run.first_number - next_number_;
            walk_.skip_hole();
        }
        next_number_ = run.first_number;
    }
    // The process may have died after writing a chunk and before moving the ring's tail. Then the ring has the same
    // records.
    const std::uint64_t seen = next_number_ - run.first_number;
    if (seen >= run.size()) return;
    records_ = records_of(run);
    at_ = static_cast<std::size_t>(seen);
    next_number_ = run.first_number + run.size();
    if (run.recovered) recovered_ += run.size() - seen;
}

// Records observed between two windows are not in the capture, except the first one and the next window's.
bool walked_thread::may_leave_out(const record_run& next) const {
    return walk_.outside_windows() && (next.recovered || next.size() == 0 || next.front().kind == record_kind::window);
}

std::span<const record> walked_thread::records_of(const record_run& run) {
    if (!run.stored) return run.records;
    buffer_.resize((run.stored->payload.bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
    const auto payload = std::as_writable_bytes(std::span{buffer_}).first(run.stored->payload.bytes);
    if (!contents_->reader->read_again(run.stored->payload, payload)) throw capture_has_changed{};
    const std::span<record> records{reinterpret_cast<record*>(buffer_.data() + 1), run.stored->count};
    doubles_->replace(records);
    return records;
}

void walked_thread::finish(timeline& out) {
    walk_.finish();
    out.quality.recovered_records += recovered_;
    if (missing_ != 0) {
        const timeline_thread& thread = out.threads[walk_.thread()];
        out.quality.damage.push_back(
            fmt::format("{} records of thread {} ({}) are missing; {} ranges open there were cut", missing_, thread.tid,
                        thread.name, walk_.counts().ranges_cut));
    }
    count_drops(out, to_string(drop_cause::pop_without_push), walk_.counts().pops_without_push);
    count_drops(out, "nested_too_deep", walk_.counts().nested_too_deep);
    count_drops(out, "unknown_parent", walk_.counts().unknown_parents);
}

void walk_in_order_of_time(timeline& out, std::vector<walked_thread>& threads) {
    using turn = std::pair<std::int64_t, std::size_t>;  // the time of its next record, thread
    std::priority_queue<turn, std::vector<turn>, std::greater<>> waiting;
    for (std::size_t i = 0; i < threads.size(); ++i) {
        threads[i].visit_open(out);
        if (threads[i].has_next()) waiting.emplace(threads[i].next_ns(), i);
    }
    while (!waiting.empty()) {
        const std::size_t thread = waiting.top().second;
        waiting.pop();
        const turn other = waiting.empty() ? turn{INT64_MAX, threads.size()} : waiting.top();
        threads[thread].visit_while(out, [&](std::int64_t next_ns) { return turn{next_ns, thread} < other; });
        if (threads[thread].has_next()) waiting.emplace(threads[thread].next_ns(), thread);
    }
    for (walked_thread& thread : threads) thread.finish(out);
}

}  // namespace prof
