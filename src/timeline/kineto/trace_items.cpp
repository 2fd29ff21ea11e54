// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_items.hpp"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "record/stack_bounds.hpp"
#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

// Older traces have whole microseconds, cut off and not rounded, at the beginning and in the duration. So a range may
// seem to end this much after the range that contains it.
constexpr std::int64_t rounding_ns = 2'000;

constexpr std::int64_t long_trace_launch_ns = 1'000'000;
constexpr std::size_t most_frames_of_trace = 48;

constexpr bool is_nested(trace_item_kind kind) noexcept {
    return kind == trace_item_kind::range || kind == trace_item_kind::torch_op || kind == trace_item_kind::module;
}

// Ranges before what happens in them. Of two that begin together the longer contains the other; of two alike, the
// earlier in the trace.
bool comes_before(const trace_item& a, const trace_item& b) noexcept {
    if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
    if (is_nested(a.kind) != is_nested(b.kind)) return is_nested(a.kind);
    return is_nested(a.kind) && a.end_ns > b.end_ns;
}

// Makes the ranges of each domain a tree. What overlaps by the error of rounding is cut; a range that overlaps by more
// becomes process-wide, and an operator is left out.
class nesting {
public:
    nesting(std::vector<trace_item>& items, item_counts& counts) : items_(items), counts_(counts) {}

    void run() {
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (is_nested(items_[i].kind)) place(i);
        }
    }

private:
    void place(std::size_t index) {
        trace_item& item = items_[index];
        // An operator is not of the program's ranges, but lies in them and they in it: one domain.
        std::vector<std::size_t>& open = open_[item.domain];
        while (!open.empty()) {
            trace_item& around = items_[open.back()];
            const bool has_ended = around.end_ns <= item.start_ns;
            if (!has_ended && item.end_ns <= around.end_ns) break;
            if (!has_ended && item.end_ns - around.end_ns <= rounding_ns) {
                item.end_ns = around.end_ns;
                break;
            }
            if (!has_ended && around.end_ns - item.start_ns > rounding_ns) return demote(item);
            around.end_ns = std::min(around.end_ns, item.start_ns);
            open.pop_back();
        }
        open.push_back(index);
    }

    void demote(trace_item& item) {
        if (item.kind == trace_item_kind::range) {
            ++counts_.overlapping_ranges;
            item.kind = trace_item_kind::range_start;
        } else {
            ++(item.kind == trace_item_kind::module ? counts_.overlapping_modules : counts_.overlapping_ops);
            item.kind = trace_item_kind::left_out;
        }
    }

    std::vector<trace_item>& items_;
    item_counts& counts_;
    std::unordered_map<std::uint16_t, std::vector<std::size_t>> open_;
};

class record_writer {
public:
    record_writer(const std::vector<trace_item>& items, const trace_stacks& stacks, std::uint64_t& next_range_id,
                  item_counts& counts)
        : items_(items), stacks_(stacks), next_range_id_(next_range_id), counts_(counts) {
        out_.reserve(2 * items.size());
    }

    std::vector<record> run() {
        for (std::uint32_t i = 0; i < items_.size(); ++i) {
            end_until(items_[i].start_ns);
            begin(i);
        }
        end_until(INT64_MAX);
        return std::move(out_);
    }

private:
    struct open_item {
        std::int64_t end_ns = 0;
        std::uint32_t item = 0;
        std::uint64_t range_id = 0;

        // The queue's top is what ends first; of what ends together, what began last.
        friend bool operator<(const open_item& a, const open_item& b) noexcept {
            return a.end_ns != b.end_ns ? a.end_ns > b.end_ns : a.item < b.item;
        }
    };

    record& add(record_kind kind, std::int64_t ns, std::uint32_t domain) {
        out_.push_back(
            {.ticks = static_cast<std::uint64_t>(ns), .domain = static_cast<std::uint16_t>(domain), .kind = kind});
        return out_.back();
    }

    void begin(std::uint32_t index) {
        const trace_item& item = items_[index];
        switch (item.kind) {
            case trace_item_kind::range:
            case trace_item_kind::torch_op:
            case trace_item_kind::module:
                add_range(record_kind::range_push, item);
                return end_later(index);
            case trace_item_kind::call:
                return begin_call(index);
            case trace_item_kind::mark:
                add_range(record_kind::mark, item);
                return;
            case trace_item_kind::range_start:
                return start(index);
            case trace_item_kind::range_end:
                add(record_kind::range_end, item.start_ns, 0).value = item.value;
                return;
            case trace_item_kind::left_out:
                return;
        }
    }

    record& add_range(record_kind kind, const trace_item& item) {
        record& r = add(kind, item.start_ns, item.domain);
        r.name = item.name;
        r.value = item.value;
        r.flags = item.flags;
        if (item.sequence >= 0 && item.kind != trace_item_kind::module) {
            r.flags = static_cast<std::uint8_t>(payload_type::torch_sequence);
            r.category = static_cast<std::uint32_t>(item.sequence);
            r.color = static_cast<std::uint32_t>(static_cast<std::uint64_t>(item.sequence) >> 32);
        } else if (is_torch(static_cast<payload_type>(item.flags))) {
            r.category = static_cast<std::uint32_t>(item.kind == trace_item_kind::torch_op ? torch_scope::function
                                                                                           : torch_scope::user);
        }
        return r;
    }

    void begin_call(std::uint32_t index) {
        const trace_item& item = items_[index];
        if (item.value != 0) {
            for (const open_item& other : open_calls_) {
                if (items_[other.item].value == item.value && other.end_ns >= item.start_ns) {
                    ++counts_.inner_calls;
                    return;
                }
            }
        }
        add_stacks_before(item);
        record& r = add(record_kind::api_enter, item.start_ns, item.domain);
        r.value = item.value;
        r.name = item.name;
        r.category = item.cbid;
        r.flags = item.flags;
        // A node of its own graph: no operation has this id.
        if (item.is_captured) add(record_kind::graph_node, item.start_ns, 0).value = ++captured_node_;
        if (!item.has_ended) return;
        constexpr std::size_t most_nested = 16;
        std::erase_if(open_calls_, [&](const open_item& other) { return other.end_ns < item.start_ns; });
        if (open_calls_.size() < most_nested) open_calls_.push_back({item.end_ns, index});
        end_later(index);
    }

    void add_stacks_before(const trace_item& item) {
        const std::int64_t from_ns = called_until_ns_;
        called_until_ns_ = from_ns == INT64_MAX ? item.end_ns : std::max(from_ns, item.end_ns);
        if (stacks_.is_empty() || from_ns >= item.start_ns - stack_before_call_ns) return;
        for (const std::int64_t sixths : {1, 3, 5}) {
            add_stack(item, stack_role::during, item.start_ns, from_ns + (item.start_ns - from_ns) / 6 * sixths,
                      static_cast<std::uint16_t>(UINT16_MAX / 6 * sixths));
        }
        add_stack(item, stack_role::before, item.start_ns, item.start_ns, 0);
    }

    void add_stack_of(const trace_item& item, std::int64_t end_ns) {
        const bool launches = item.flags == static_cast<std::uint8_t>(api_class::launch);
        if (end_ns - item.start_ns <= (launches ? long_trace_launch_ns : stack_of_call_ns)) return;
        add_stack(item, stack_role::call, end_ns, item.start_ns, 0);
    }

    // The stack of this call, or of a moment before it.
    void add_stack(const trace_item& item, stack_role role, std::int64_t written_ns, std::int64_t of_ns,
                   std::uint16_t position) {
        std::uint32_t depth = 0;
        stacks_.find(of_ns, most_frames_of_trace, running_, depth);
        depth = std::min<std::uint32_t>(depth, UINT16_MAX);
        for (std::uint32_t i = 0; i < running_.size(); ++i) {
            record& r = add(record_kind::code_line, written_ns, position);
            r.value = item.value;
            r.name = running_[i]->name;
            r.category = i | depth << 16;
            r.flags = static_cast<std::uint8_t>(static_cast<unsigned>(role) |
                                                (running_[i]->is_library ? unsigned{library_line} : 0U));
        }
    }

    // A range that overlaps others of its thread ends there, too; another one has its end from the trace.
    void start(std::uint32_t index) {
        const trace_item& item = items_[index];
        const bool has_id = item.value != 0;
        add_range(record_kind::range_start, item).value = has_id ? item.value : ++next_range_id_;
        if (!has_id) open_.push({item.end_ns, index, next_range_id_});
    }

    void end_later(std::uint32_t index) {
        if (items_[index].has_ended) open_.push({items_[index].end_ns, index, 0});
    }

    void end_until(std::int64_t ns) {
        for (; !open_.empty() && open_.top().end_ns <= ns; open_.pop()) {
            const auto& [end_ns, index, range_id] = open_.top();
            const trace_item& item = items_[index];
            if (item.kind == trace_item_kind::call) {
                add_stack_of(item, end_ns);
                add(record_kind::api_exit, end_ns, item.domain).value = item.value;
            } else if (item.kind == trace_item_kind::range_start) {
                add(record_kind::range_end, end_ns, 0).value = range_id;
            } else {
                record& pop = add(record_kind::range_pop, end_ns, item.domain);
                if (item.kind != trace_item_kind::module || item.sequence < 0) continue;
                pop.value = static_cast<std::uint64_t>(item.sequence);
                pop.flags = static_cast<std::uint8_t>(payload_type::u64);
            }
        }
    }

    const std::vector<trace_item>& items_;
    const trace_stacks& stacks_;
    std::uint64_t& next_range_id_;
    item_counts& counts_;
    std::vector<const trace_stacks::function*> running_;  // of one stack
    std::int64_t called_until_ns_ = INT64_MAX;            // when the calls so far had returned; none: INT64_MAX
    std::vector<record> out_;
    std::priority_queue<open_item> open_;
    std::vector<open_item> open_calls_;
    std::uint64_t captured_node_ = std::uint64_t{UINT32_MAX} << 32;
};

}  // namespace

void put_in_order(std::vector<trace_item>& items, item_counts& counts) {
    sort_nearly_sorted(items, comes_before);
    nesting(items, counts).run();
}

std::vector<record> records_of(const std::vector<trace_item>& items, const trace_stacks& stacks,
                               std::uint64_t& next_range_id, item_counts& counts) {
    return record_writer(items, stacks, next_range_id, counts).run();
}

}  // namespace prof
