// SPDX-License-Identifier: Apache-2.0
#include "timeline/thread_walk.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "record/label.hpp"
#include "record/memory.hpp"
#include "record/record_traits.hpp"

namespace prof {
namespace {

// Operators outside any other operator are recognised by their namespace, since a program's own names may contain "::"
// too.
bool has_operator_namespace(std::string_view name) noexcept {
    constexpr std::array known = std::to_array<std::string_view>({
        "aten",
        "autograd",
        "torch",
        "prim",
        "prims",
        "quantized",
        "c10d",
        "c10d_functional",
        "_c10d_functional",
        "profiler",
        "inductor",
        "symm_mem",
        "torchvision",
        "torchaudio",
        "fbgemm",
        "xformers",
        "flash_attn",
    });
    const std::size_t end = name.find("::");
    return end != std::string_view::npos && std::find(known.begin(), known.end(), name.substr(0, end)) != known.end();
}

}  // namespace

thread_walk::thread_walk(timeline& out, start_end_events& events, graph_node_events& nodes,
                         std::vector<stream_sync>& syncs, stack_collector& stacks, collective_collector& collectives,
                         const parent_places& parents, const tick_clock& clock, thread_id thread)
    : out_(&out),
      events_(&events),
      nodes_(&nodes),
      syncs_(&syncs),
      parents_(&parents),
      clock_(&clock),
      thread_(thread),
      open_(out.open_nodes),
      torch_open_(out.torch_nodes),
      collectives_(collectives, thread),
      stack_(stacks) {
    has_operators_ = out.property("pytorch") == "ops" || !out.property("modules").empty();
}

void thread_walk::visit(const record& r, std::int64_t ns) {
    now_ns_ = ns;
    if (stack_.has_frames() && !stack_.is_next(r)) finish_stack();
    switch (r.kind) {
        case record_kind::range_push:
            open_range(r);
            break;
        case record_kind::range_pop:
            close_range(r);
            break;
        case record_kind::range_start:
            if (!outside_windows_) start_range(r);
            break;
        case record_kind::range_end:
            if (!outside_windows_) events_->ends.push_back({r.value, now_ns_, thread_});
            break;
        case record_kind::mark:
            if (!outside_windows_) add_mark(r);
            break;
        case record_kind::payload:
            if (last_started_ != npos) {
                out_->ranges[last_started_].payload = r.value;
                out_->ranges[last_started_].payload_kind = static_cast<payload_type>(r.flags);
            }
            break;
        case record_kind::api_enter:
            enter_api(r);
            break;
        case record_kind::api_exit:
            exit_api(r);
            break;
        case record_kind::graph_node:
            add_graph_node(r);
            break;
        case record_kind::graph_clone:
            nodes_->add_copy(r.value, now_ns_, original_node(r));
            if (latest_node_ != npos && r.value == latest_node_id_ && r.flags != replaces_what_it_was) {
                out_->graph_nodes[latest_node_].graph = 0;
            }
            break;
        case record_kind::parent_here:
            note_parent(r);
            break;
        case record_kind::adopt_push:
            begin_adoption(r);
            break;
        case record_kind::adopt_pop:
            end_adoption();
            break;
        case record_kind::window:
            enter_window(r);
            break;
        case record_kind::stream_sync:
            if (!outside_windows_) add_sync(r);
            break;
        case record_kind::code_line:
            if (!outside_windows_) stack_.add(r, *out_);
            break;
        case record_kind::thread_time:
            if (!outside_windows_) stack_.add_account(r, thread_, now_ns_);
            break;
        case record_kind::collective_call:
        case record_kind::collective_launch:
        case record_kind::collective_work:
            if (!outside_windows_) collectives_.add(r, now_ns_);
            break;
        case record_kind::memory_block:
        case record_kind::memory_totals:
        case record_kind::out_of_memory:
        case record_kind::gpu_memory:
            if (!outside_windows_) add_memory(r);
            break;
        case record_kind::graph_node_gone:
        case record_kind::none:
            break;
    }
    entered_ = r.kind == record_kind::api_enter ? r.value : 0;
    if (r.kind != record_kind::range_start) last_started_ = npos;
    if (traits_of(r.kind).role != record_role::memory) latest_memory_ = npos;
}

range_id thread_walk::add_range(const record& r, range_style style) {
    timeline_range range;
    range.start_ns = now_ns_;
    range.name = name_id(r.name);
    range.thread = thread_;
    if (static_cast<payload_type>(r.flags) == payload_type::torch_sequence) {
        range.sequence = static_cast<std::int64_t>(std::uint64_t{r.color} << 32 | r.category);
    } else if (!is_torch(static_cast<payload_type>(r.flags))) {
        range.color = r.color;
        range.category = r.category;
    }
    range.domain = r.domain;
    range.style = style;
    out_->ranges.push_back(range);
    return out_->ranges.last_id();
}

std::size_t thread_walk::nesting_limit() const noexcept {
    constexpr std::size_t copies_for_all = 1U << 20;
    constexpr std::size_t copies_a_range = 16;
    const bool many_copies = out_->open_nodes.size() > copies_for_all + copies_a_range * out_->ranges.size();
    return many_copies ? shallow_nesting : deepest_nesting;
}

void thread_walk::open_range(const record& r) {
    const std::size_t limit = nesting_limit();
    if (std::max(open_.size() + operators_open_, torch_open_.size()) >= limit) {
        set_aside(std::min(outermost_kept, limit / 2));
    }
    const range_id index = add_range(r, outside_windows_ ? range_style::graph_context : range_style::push_pop);
    timeline_range& range = out_->ranges[index];
    range.payload = r.value;
    range.payload_kind = static_cast<payload_type>(r.flags);
    range.end_thread = thread_;
    if (is_of_modules(range.domain)) return open_module(index);
    range.is_operator = is_operator(range, static_cast<torch_scope>(r.category));
    if (outside_windows_) range.sequence = -1;  // it has no backward node in the recording
    if (is_phase(range)) leave_optimizer();
    if (is_phase(range) && is_work(range)) latest_work_ = index;
    range.parent = open_.innermost();
    if (range.is_operator && torch_open_.innermost() != npos) {
        // The later of the two; npos + 1 is 0, so "none" counts as earlier than any range.
        range.parent = range.parent + 1 > torch_open_.innermost() + 1 ? range.parent : torch_open_.innermost();
    }
    if (range.parent == npos) {
        range.works_for = works_for();
    } else {
        range.works_for = out_->ranges[range.parent].works_for;
        range.depth = out_->ranges[range.parent].depth + 1;
    }
    if (is_torch(range.payload_kind)) torch_open_.push(index);
    if (range.is_operator) {
        ++operators_open_;
    } else if (is_phase(range) && out_->name(range.name) == "step" && range.category != annotation_witness) {
        open_step(index);
    } else {
        open_.push(index);
    }
}

bool thread_walk::is_of_modules(std::uint16_t domain) const {
    return domain < out_->domains.size() && out_->domains[domain].name == module_domain;
}

void thread_walk::open_module(range_id index) {
    timeline_range& range = out_->ranges[index];
    range.is_module = true;
    range.parent = open_.innermost();
    range.depth = static_cast<std::uint32_t>(modules_open_.size());
    modules_open_.push_back(index);
}

void thread_walk::close_module(const record& r) {
    if (modules_open_.empty()) {
        if (!outside_windows_) ++counts_.pops_without_push;
        return;
    }
    timeline_range& range = out_->ranges[modules_open_.back()];
    modules_open_.pop_back();
    range.end_ns = now_ns_;
    if (static_cast<payload_type>(r.flags) == payload_type::u64) range.sequence = static_cast<std::int64_t>(r.value);
}

// Sets aside all but the `kept` outermost ranges.
void thread_walk::set_aside(std::size_t kept) {
    std::vector<range_id> ranges;
    for (; open_.size() > kept; open_.remove(open_.size() - 1)) ranges.push_back(open_.range_at(open_.size() - 1));
    for (; torch_open_.size() > kept; torch_open_.remove(torch_open_.size() - 1)) {
        const range_id range = torch_open_.range_at(torch_open_.size() - 1);
        if (!out_->ranges[range].is_operator) continue;  // it is in open_ too
        ranges.push_back(range);
        --operators_open_;
    }
    std::sort(ranges.begin(), ranges.end());  // order of opening
    for (const range_id range : ranges) set_aside_[out_->ranges[range].domain].push_back(range);
    counts_.nested_too_deep += ranges.size();
}

// The latest range of the domain that is set aside; npos if none.
range_id thread_walk::latest_set_aside(std::uint16_t domain) const {
    if (set_aside_.empty()) return npos;
    const auto found = set_aside_.find(domain);
    return found == set_aside_.end() || found->second.empty() ? npos : found->second.back();
}

bool thread_walk::is_operator(const timeline_range& range, torch_scope scope) const {
    if (!has_operators_ || !is_torch(range.payload_kind)) return false;
    if (range.sequence >= 0) return true;
    if (scope == torch_scope::function || scope == torch_scope::user) return scope == torch_scope::function;
    const std::string_view name = out_->name(range.name);
    const range_id around = torch_open_.innermost();
    if (around == npos || !out_->ranges[around].is_operator) return has_operator_namespace(name);
    if (name.find("::") != std::string_view::npos) return true;
    // PyTorch's `detach` is inside `aten::detach`.
    constexpr std::string_view prefix = "aten::";
    const std::string_view outer = out_->name(out_->ranges[around].name);
    return outer.substr(0, prefix.size()) == prefix && outer.substr(prefix.size()) == name;
}

// If the range that a pop of the default domain closes is an operator, closes it and returns true.
bool thread_walk::close_operator() {
    if (operators_open_ == 0) return false;
    const range_id innermost = torch_open_.innermost();
    if (innermost == npos || !out_->ranges[innermost].is_operator) return false;
    if (const range_id aside = latest_set_aside(0); aside != npos && aside > innermost) return false;
    // Indexes grow with time: ranges opened later in this domain are closed first.
    for (std::size_t position = open_.size(); position-- > 0 && open_.range_at(position) > innermost;) {
        if (out_->ranges[open_.range_at(position)].domain == 0) return false;
    }
    out_->ranges[innermost].end_ns = now_ns_;
    torch_open_.remove(torch_open_.size() - 1);
    --operators_open_;
    return true;
}

void thread_walk::close_range(const record& r) {
    if (r.domain == 0 && close_operator()) return;
    if (is_of_modules(r.domain)) return close_module(r);
    const range_id aside = latest_set_aside(r.domain);
    for (std::size_t position = open_.size(); position-- > 0;) {
        const range_id index = open_.range_at(position);
        if (out_->ranges[index].domain != r.domain) continue;
        if (aside != npos && aside > index) break;  // the range that is set aside was opened later
        if (joins_first_step(position)) ++position;
        end_by_pop(index, r);
        open_.remove(position);
        if (torch_open_.innermost() == index) torch_open_.remove(torch_open_.size() - 1);
        return;
    }
    if (aside != npos) {
        end_by_pop(aside, r);
        set_aside_[r.domain].pop_back();
        if (torch_open_.innermost() == aside) torch_open_.remove(torch_open_.size() - 1);
    } else if (!outside_windows_) {
        ++counts_.pops_without_push;
    }
}

void thread_walk::end_by_pop(range_id index, const record& r) {
    timeline_range& range = out_->ranges[index];
    range.end_ns = now_ns_;
    if (static_cast<payload_type>(r.flags) == payload_type::bytes && range.payload_kind == payload_type::none) {
        range.payload = r.value;
        range.payload_kind = payload_type::bytes;
    }
}

void thread_walk::start_range(const record& r) {
    last_started_ = add_range(r, range_style::start_end);
    events_->starts.push_back({r.value, last_started_});
}

void thread_walk::add_mark(const record& r) {
    const bool has_sequence = static_cast<payload_type>(r.flags) == payload_type::torch_sequence;
    out_->marks.push_back({.time_ns = now_ns_,
                           .payload = r.value,
                           .name = name_id(r.name),
                           .thread = thread_,
                           .color = has_sequence ? 0 : r.color,
                           .category = has_sequence ? 0 : r.category,
                           .domain = r.domain,
                           .payload_kind = static_cast<payload_type>(r.flags)});
}

void thread_walk::enter_api(const record& r) {
    const bool begins_graph_capture = r.flags == static_cast<std::uint8_t>(api_class::begins_graph_capture);
    if (begins_graph_capture) out_->capture_begins.push_back({now_ns_, thread_});
    if (outside_windows_) return;
    timeline_api_call call;
    call.start_ns = now_ns_;
    call.correlation = r.value;
    call.thread = thread_;
    call.kernel_name = name_id(r.name);
    call.cbid = r.category;
    call.open = open_.head();
    call.open_on_thread = open_.head_on_thread();
    call.works_for = works_for();
    if (r.flags <= static_cast<std::uint8_t>(api_class::begins_graph_capture)) {
        call.kind = static_cast<api_class>(r.flags);
    }
    call.torch_open = torch_open_.head();
    if (r.domain <= static_cast<std::uint16_t>(api_domain::runtime)) call.domain = static_cast<api_domain>(r.domain);
    if (collectives_.is_used() || !out_->communicators.empty()) {
        const bool is_launch = call.kind == api_class::launch;
        collectives_.enter_call(call, is_launch && r.name != 0 && is_of_nccl(name_id(r.name)),
                                is_launch && r.name == 0);
    }
    if (r.color != 0) nodes_->launches.push_back({now_ns_, r.value, r.color});
    // A call that does not return (one left by longjmp) stays until a call around it returns.
    constexpr std::size_t most_open_calls = 16;
    if (open_calls_.size() == most_open_calls) open_calls_.erase(open_calls_.begin());
    ++calls_;
    open_calls_.push_back(out_->api_calls.end_id());
    out_->api_calls.push_back(call);
}

bool thread_walk::is_of_nccl(name_id symbol) {
    const auto [known, is_new] = nccl_symbols_.try_emplace(symbol, false);
    if (is_new) known->second = out_->name(symbol).find("nccl") != std::string_view::npos;
    return known->second;
}

void thread_walk::add_sync(const record& r) {
    const auto kind = static_cast<sync_kind>(r.flags);
    if (r.flags > static_cast<std::uint8_t>(sync_kind::host_stream)) return;
    const bool is_host = kind == sync_kind::host_event || kind == sync_kind::host_stream;
    if (is_host && entered_ == 0) return;  // the record of its call was lost
    syncs_->push_back({now_ns_, r.value, synced_stream(r), is_host ? entered_ : 0, thread_, calls_, kind});
}

void thread_walk::add_memory(const record& r) {
    if (r.kind == record_kind::gpu_memory) {
        if (latest_birth_ == npos) return;
        const memory_event& of = out_->memory[latest_birth_];
        if (of.device != r.domain || !of.has_totals) return;
        out_->gpu_memory.push_back({of.time_ns, r.value, whole(r.name, r.color), of.reserved, of.device});
        return;
    }
    if (r.kind == record_kind::memory_totals) {
        if (latest_memory_ == npos) return;
        memory_event& of = out_->memory[latest_memory_];
        of.allocated = r.value;
        of.reserved = whole(r.name, r.color);
        of.has_totals = true;
        latest_memory_ = npos;
        return;
    }
    if (is_own_memory(r.domain)) return add_own_memory(r);
    const memory_change change = unpacked(r);
    const bool is_failure = r.kind == record_kind::out_of_memory;
    const bool totals_follow = is_failure || (r.flags & memory_totals_follow) != 0;
    latest_birth_ = change.is_freed && !is_failure ? npos : out_->memory.end_id();
    latest_birth_key_ = r.value;
    latest_own_ = npos;
    latest_memory_ = totals_follow ? out_->memory.end_id() : npos;
    memory_event of = event_of(r, change);
    of.allocated = totals_follow ? 0 : change.allocated;
    of.reserved = totals_follow ? 0 : change.reserved;
    of.has_totals = !totals_follow;
    out_->memory.push_back(of);
}

memory_event thread_walk::event_of(const record& r, const memory_change& change) const {
    const bool is_failure = r.kind == record_kind::out_of_memory;
    return {.time_ns = now_ns_,
            .address = is_failure ? 0 : change.address,
            .bytes = is_failure ? r.value : change.bytes,
            .thread = thread_,
            .open = open_.head(),
            .torch_open = torch_open_.head(),
            .works_for = works_for(),
            .device = r.domain,
            .kind = is_failure        ? memory_kind::failed
                    : change.is_freed ? memory_kind::freed
                                      : memory_kind::allocated};
}

// What came back is known by its address, and its bytes are found when all threads were walked (cuda_memory.hpp).
void thread_walk::add_own_memory(const record& r) {
    latest_birth_ = npos;
    latest_birth_key_ = r.value;
    latest_own_ = out_->cuda_memory.end_id();
    out_->cuda_memory.push_back({.of = event_of(r, unpacked(r))});
}

// The next record is that of the call, and the one before is that of the block.
void thread_walk::finish_stack() {
    if (stack_.role() == stack_role::birth || stack_.role() == stack_role::caller) {
        const bool is_caller = stack_.role() == stack_role::caller;
        const stack_id stack = stack_.take(*out_);
        if (stack == npos || latest_birth_key_ != stack_.correlation()) return;
        if (latest_own_ != npos && is_caller) {
            out_->cuda_memory[latest_own_].caller = out_->code_lines[out_->code_stacks[stack].first].name;
        } else if (latest_own_ != npos) {
            out_->cuda_memory[latest_own_].of.stack = stack;
        } else if (latest_birth_ != npos && !is_caller) {
            out_->memory[latest_birth_].stack = stack;
        }
        return;
    }
    std::int64_t start_ns = now_ns_;
    if (stack_.role() == stack_role::call) {
        const auto call = std::find_if(open_calls_.rbegin(), open_calls_.rend(), [&](call_id each) {
            return out_->api_calls[each].correlation == stack_.correlation();
        });
        if (call != open_calls_.rend()) start_ns = out_->api_calls[*call].start_ns;
    }
    stack_.finish(*out_, thread_, start_ns);
}

void thread_walk::exit_api(const record& r) {
    for (std::size_t i = open_calls_.size(); i-- > 0;) {
        timeline_api_call& call = out_->api_calls[open_calls_[i]];
        if (call.correlation != r.value) continue;
        call.end_ns = now_ns_;
        open_calls_.resize(i);
        return;
    }
}

void thread_walk::add_graph_node(const record& r) {
    nodes_->add_node(r.value, now_ns_, out_->graph_nodes.end_id());
    out_->graph_nodes.push_back({.created_ns = now_ns_,
                                 .thread = thread_,
                                 .open = open_.head(),
                                 .works_for = works_for(),
                                 .graph = static_cast<std::uint32_t>(r.value >> 32),
                                 .outside_windows = outside_windows_});
    latest_node_ = out_->graph_nodes.last_id();
    latest_node_id_ = r.value;
    collectives_.add_node(latest_node_);
    if (!open_calls_.empty()) out_->api_calls[open_calls_.back()].is_captured = true;
}

void thread_walk::note_parent(const record& r) {
    work_parent& parent = out_->work_parents[parents_->at(r.value)];
    parent = {.time_ns = now_ns_,
              .thread = thread_,
              .open = open_.head(),
              .works_for = works_for(),
              .outside_windows = outside_windows_};
}

// A place that is not in the capture changes nothing: the work counts as this thread's own.
void thread_walk::begin_adoption(const record& r) {
    const auto known = parents_->find(r.value);
    if (known == parents_->end()) {
        if (!outside_windows_) ++counts_.unknown_parents;
        adoptions_.push_back({works_for(), false});
        return;
    }
    adoptions_.push_back({known->second, true});
    open_.raise_floor();
}

void thread_walk::end_adoption() noexcept {
    if (adoptions_.empty()) return;  // its push is missing
    if (adoptions_.back().has_floor) open_.lower_floor();
    adoptions_.pop_back();
}

void thread_walk::skip_hole() {
    const std::size_t cut = end_open([&](timeline_range& range) { range.end_ns = now_ns_; });
    counts_.ranges_cut += cut;
    latest_birth_ = npos;
    forget_open();
}

// The pops in the time without recording are unknown, so everything open ended with the previous window. Ranges that
// were only observed end here, since the thread did nothing in between.
void thread_walk::enter_window(const record& r) {
    if (outside_windows_) {
        end_open([&](timeline_range& range) { range.end_ns = now_ns_; });
    } else {
        finish();
    }
    forget_open();
    outside_windows_ = is_observed_only(r.value);
}

void thread_walk::forget_open() noexcept {
    open_.clear();
    adoptions_.clear();
    torch_open_.clear();
    operators_open_ = 0;
    modules_open_.clear();
    set_aside_.clear();
    last_started_ = npos;
    open_calls_.clear();
    collectives_.forget();
}

void thread_walk::finish() {
    if (stack_.has_frames()) finish_stack();
    end_open([](timeline_range& range) { range.end_ns = never_ended; });
}

template <typename TEnd>
std::size_t thread_walk::end_open(TEnd&& end) {
    const auto end_range = [&](range_id index) {
        out_->ranges[index].open_at_end = true;
        end(out_->ranges[index]);
    };
    for (std::size_t i = 0; i < open_.size(); ++i) end_range(open_.range_at(i));
    for (std::size_t i = 0; i < torch_open_.size(); ++i) {
        if (out_->ranges[torch_open_.range_at(i)].is_operator) end_range(torch_open_.range_at(i));
    }
    std::for_each(modules_open_.begin(), modules_open_.end(), end_range);
    std::size_t count = open_.size() + operators_open_ + modules_open_.size();
    for (const auto& [domain, ranges] : set_aside_) {
        std::for_each(ranges.begin(), ranges.end(), end_range);
        count += ranges.size();
    }
    return count;
}

}  // namespace prof
