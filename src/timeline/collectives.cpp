// SPDX-License-Identifier: Apache-2.0
#include "timeline/collectives.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "record/collective.hpp"
#include "timeline/launched_ops.hpp"
#include "timeline/nearly_sorted.hpp"

namespace prof {
namespace {

call_id call_of_launch(const timeline& out, const collective_collector::launch& of) {
    auto call = std::lower_bound(out.api_calls.begin(), out.api_calls.end(), of.start_ns,
                                 [](const timeline_api_call& each, std::int64_t ns) { return each.start_ns < ns; });
    for (; call != out.api_calls.end() && call->start_ns == of.start_ns; ++call) {
        if (call->correlation == of.correlation && call->thread == of.thread) {
            return call_id(call - out.api_calls.begin());
        }
    }
    return npos;
}

// Words of a newer libprof are no word.
template <typename TEnum>
TEnum known_word(TEnum value, TEnum last) noexcept {
    return value > last ? TEnum{} : value;
}

class collective_linking {
    using launch = collective_collector::launch;
    using launch_id = collective_collector::launch_id;
    using event = collective_collector::event;
    struct pending_call;
    using pending_id = row_index<pending_call>;

public:
    collective_linking(timeline& out, const row_table<launch>& launches) : out_(out), launches_(launches) {
        for (const launch_id i : launches.ids()) {
            const launch& each = launches[i];
            if (each.is_announced) {
                const auto [known, is_new] = by_group_.try_emplace(key(each.group, each.communicator), i);
                if (!is_new) known->second = npos;  // which of them is not known
            } else {
                unannounced_[each.thread].push_back(i);
            }
        }
    }

    void add_call(const event& of) {
        const packed_call packed = unpack_call(of.r.value);
        collective_call call;
        call.time_ns = of.time_ns;
        call.count = packed.count;
        call.type = known_word(packed.type, collective_type::f8_e5m2);
        call.bytes = packed.count * size_of(call.type);
        call.function = known_word(packed.function, collective_function::scatter);
        call.thread = of.thread;
        call.communicator = communicator_of(of.r.domain);
        const bool has_root =
            call.function == collective_function::broadcast || call.function == collective_function::reduce ||
            call.function == collective_function::gather || call.function == collective_function::scatter;
        if (has_root) call.root = static_cast<std::int32_t>(of.r.category);
        call.in_graph = (of.r.flags & collective_is_captured) != 0;
        const pending_id index = calls_.end_id();
        calls_.push_back({call, of.r.color, of.r.domain, npos, false});
        by_number_[of.r.name] = index;
    }

    void add_work(const event& of) {
        if ((of.r.flags & collective_ends_copies) != 0) return;
        const auto found = of.r.name == 0 ? by_number_.end() : by_number_.find(of.r.name);
        pending_id index = found == by_number_.end() ? npos : found->second;
        if (index != npos && calls_[index].communicator != of.r.domain) index = npos;
        const packed_work packed = unpack_work(of.r.category);
        if (index == npos) {
            // Its call's record was lost, or it is a part of an operation.
            index = calls_.end_id();
            collective_call call;
            call.time_ns = of.time_ns;
            call.thread = of.thread;
            call.communicator = communicator_of(of.r.domain);
            call.function = known_word(packed.function, collective_function::scatter);
            calls_.push_back({call, 0, of.r.domain, npos, false});
        }
        pending_call& to = calls_[index];
        to.call.channels = std::max(to.call.channels, packed.channels);
        if (to.has_work) return;  // another part of it, or a graph's replay
        to.has_work = true;
        to.launch = of.launch;
        to.call.algorithm = known_word(packed.algorithm, collective_algorithm::pat);
        to.call.protocol = known_word(packed.protocol, collective_protocol::simple);
        if (!to.call.in_graph) to.call.sequence = of.r.value;
        if ((of.r.flags & collective_is_p2p) != 0) to.call.peer = static_cast<std::int32_t>(of.r.color);
    }

    void finish() {
        place_without_work();
        std::unordered_map<graph_node_id, op_id> first_ops;  // by graph node
        for (const pending_call& each : calls_) {
            if (each.launch != npos && launches_[each.launch].graph_node != npos) {
                first_ops.emplace(launches_[each.launch].graph_node, npos);
            }
        }
        for (op_id op{0}; !first_ops.empty() && op < out_.ops.size(); ++op) {
            const auto found = first_ops.find(out_.ops[op].graph_node);
            if (found != first_ops.end() && found->second == npos) found->second = op;
        }
        for (pending_call& each : calls_) {
            collective_call& call = each.call;
            if (each.launch != npos) call.call = call_of_launch(out_, launches_[each.launch]);
            call.is_unplaced = call.call == npos;
            if (call.call != npos) {
                const graph_node_id node = launches_[each.launch].graph_node;
                const auto ops = ops_of(out_, out_.api_calls[call.call]);
                call.op = node != npos ? first_ops[node] : ops.empty() ? npos : ops.front();
            }
            out_.collectives.push_back(call);
        }
    }

private:
    struct pending_call {
        collective_call call;
        std::uint32_t group = 0;
        std::uint16_t communicator = 0;
        launch_id launch = npos;
        bool has_work = false;
    };
    static std::uint64_t key(std::uint32_t group, std::uint16_t communicator) noexcept {
        return std::uint64_t{group} << 16 | communicator;
    }
    communicator_id communicator_of(std::uint16_t number) const noexcept {
        return number < out_.communicators.size() ? communicator_id(number) : npos;
    }

    void place_without_work() {
        std::unordered_map<thread_id, std::size_t> next;  // by thread: which launch comes next
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            pending_call& each = calls_[i];
            if (each.launch != npos) continue;
            if (const auto of_group = by_group_.find(key(each.group, each.communicator)); of_group != by_group_.end()) {
                each.launch = of_group->second;
                continue;
            }
            if (each.has_work) continue;
            place_unannounced(i, next[each.call.thread]);
        }
    }

    void place_unannounced(std::size_t index, std::size_t& next) {
        pending_call& of = calls_[index];
        if (index > 0) {
            const pending_call& before = calls_[index - 1];
            const bool shares = before.call.thread == of.call.thread && before.group == of.group && of.group != 0 &&
                                before.communicator == of.communicator && !before.has_work;
            if (shares) {
                of.launch = before.launch;
                return;
            }
        }
        const auto launches = unannounced_.find(of.call.thread);
        if (launches == unannounced_.end()) return;
        const std::vector<launch_id>& list = launches->second;
        while (next < list.size() && launches_[list[next]].start_ns < of.call.time_ns) ++next;
        if (next == list.size()) return;
        for (std::size_t later = index + 1; later < calls_.size(); ++later) {
            const pending_call& other = calls_[later];
            if (other.call.time_ns > launches_[list[next]].start_ns) break;
            const bool is_next = other.call.thread == of.call.thread &&
                                 (other.group != of.group || other.communicator != of.communicator || of.group == 0);
            if (is_next) return;
        }
        of.launch = list[next++];
    }

    timeline& out_;
    const row_table<launch>& launches_;
    std::unordered_map<std::uint64_t, launch_id> by_group_;
    std::unordered_map<thread_id, std::vector<launch_id>> unannounced_;  // by thread
    std::unordered_map<std::uint32_t, pending_id> by_number_;            // the latest call of a number
    row_table<pending_call> calls_;                                      // in order of time
};

}  // namespace

void collective_collector::link(timeline& out) {
    if (events.empty()) return;
    std::stable_sort(events.begin(), events.end(),
                     [](const event& a, const event& b) { return a.time_ns < b.time_ns; });
    collective_linking links(out, launches);
    for (const event& each : events) {
        each.r.kind == record_kind::collective_call ? links.add_call(each) : links.add_work(each);
    }
    links.finish();
    std::stable_sort(out.collectives.begin(), out.collectives.end(),
                     [](const collective_call& a, const collective_call& b) { return a.time_ns < b.time_ns; });
}

void collective_walk::add(const record& r, std::int64_t ns) {
    is_used_ = true;
    if (r.kind == record_kind::collective_launch) {
        awaits_kernel_ = true;
        group_ = static_cast<std::uint32_t>(r.value);
        communicator_ = r.domain;
        announced_ = npos;
        return;
    }
    collective_collector::launch_id carrier = npos;
    if (r.kind == record_kind::collective_work) {
        awaits_kernel_ = false;
        if ((r.flags & collective_launched_before) != 0) {
            carrier = latest_;
        } else if (announced_ != npos && communicator_ == r.domain) {
            carrier = announced_;
        }
        copies_ = npos;
    }
    if ((r.flags & collective_begins_copies) != 0 && r.kind == record_kind::collective_work) {
        carrier = npos;
        copies_ = to_->events.end_id();
    }
    to_->events.push_back({r, ns, thread_, carrier});
}

void collective_walk::enter_call(const timeline_api_call& call, bool is_of_library, bool is_copy) {
    open_ = npos;
    const bool is_copy_wanted = is_copy && copies_ != npos;
    if (!is_of_library && !is_copy_wanted) return;
    open_ = to_->launches.end_id();
    collective_collector::launch added{.start_ns = call.start_ns, .correlation = call.correlation, .thread = thread_};
    if (is_copy_wanted) {
        added.is_announced = true;
        added.group = collective_collector::no_group;
        to_->events[copies_].launch = open_;
        copies_ = npos;
    } else {
        latest_ = open_;
        if (awaits_kernel_) {
            added.is_announced = true;
            added.group = group_;
            added.communicator = communicator_;
            announced_ = open_;
            awaits_kernel_ = false;
        }
    }
    to_->launches.push_back(added);
}

void collective_walk::add_node(graph_node_id node) noexcept {
    if (open_ != npos && to_->launches[open_].graph_node == npos) to_->launches[open_].graph_node = node;
}

void collective_walk::forget() noexcept {
    awaits_kernel_ = false;
    latest_ = announced_ = open_ = npos;
    copies_ = npos;
}

void take_communicator(timeline& out, std::uint64_t number, std::string_view text) {
    constexpr std::uint64_t most = 4096;
    if (number >= most) return;
    timeline_communicator found;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    const auto read = [&](auto& value, int base) {
        const auto [after, problem] = std::from_chars(at, end, value, base);
        if (problem != std::errc() || after == end || *after != ' ') return false;
        at = after + 1;
        return true;
    };
    if (!read(found.id, 16) || !read(found.ranks, 10) || !read(found.rank, 10) || !read(found.nodes, 10)) return;
    found.name.assign(at, end);
    if (out.communicators.size() <= number) out.communicators.resize(number + 1);
    out.communicators[number] = std::move(found);
}

void link_traced_collectives(timeline& out, std::vector<traced_collective> found) {
    if (found.empty()) return;
    std::unordered_map<std::uint64_t, std::uint32_t> by_correlation;
    for (std::uint32_t i = 0; i < found.size(); ++i) by_correlation.try_emplace(found[i].correlation, i);
    using identity = std::tuple<std::uint64_t, std::string, std::uint32_t, std::uint32_t>;
    std::map<identity, communicator_id> communicators;
    for (const op_id op : out.ops.ids()) {
        const auto of_op = by_correlation.find(out.ops[op].correlation);
        if (of_op == by_correlation.end()) continue;
        const traced_collective& traced = found[of_op->second];
        collective_call call = traced.call;
        call.op = op;
        call.call = out.ops[op].launch;
        call.time_ns = call.call == npos ? out.ops[op].start_ns : out.api_calls[call.call].start_ns;
        call.thread = call.call == npos ? npos : out.api_calls[call.call].thread;
        const timeline_communicator& of = traced.communicator;
        const auto [known, is_new] =
            communicators.try_emplace(identity(of.id, of.name, of.ranks, of.rank), out.communicators.end_id());
        if (is_new) out.communicators.push_back(of);
        call.communicator = known->second;
        out.collectives.push_back(call);
        by_correlation.erase(of_op);
    }
    std::stable_sort(out.collectives.begin(), out.collectives.end(),
                     [](const collective_call& a, const collective_call& b) { return a.time_ns < b.time_ns; });
}

}  // namespace prof
