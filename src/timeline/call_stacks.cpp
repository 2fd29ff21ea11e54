// SPDX-License-Identifier: Apache-2.0
#include "timeline/call_stacks.hpp"

#include <algorithm>
#include <tuple>

namespace prof {
namespace {

constexpr std::uint32_t index_mask = 0xFFFF;
constexpr std::size_t most_frames = 64;  // of a stack in a damaged capture

}  // namespace

stack_id stack_collector::index_of(timeline& out, const std::vector<code_line>& frames, std::uint32_t depth) {
    std::uint64_t hash = depth;
    for (const code_line& each : frames) {
        hash = (hash ^ (std::uint64_t{each.name} << 32 | each.line)) * 0x9E37'79B9'7F4A'7C15U;
        hash ^= hash >> 29;
    }
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto each = first; each != last; ++each) {
        const code_stack& known = out.code_stacks[each->second];
        const auto begin = out.code_lines.begin() + known.first;
        if (known.depth == depth && std::equal(begin, begin + known.count, frames.begin(), frames.end())) {
            return each->second;
        }
    }
    const stack_id index = out.code_stacks.end_id();
    out.code_stacks.push_back(
        {static_cast<std::uint32_t>(out.code_lines.size()), static_cast<std::uint32_t>(frames.size()), depth});
    out.code_lines.insert(out.code_lines.end(), frames.begin(), frames.end());
    by_hash_.emplace(hash, index);
    return index;
}

void stack_collector::link(timeline& out) {
    const auto is_before = [](const timeline_api_call& call, std::int64_t ns) { return call.start_ns < ns; };
    const auto call_of = [&](std::int64_t start_ns, std::uint64_t correlation, thread_id thread) -> call_id {
        auto call = std::lower_bound(out.api_calls.begin(), out.api_calls.end(), start_ns, is_before);
        for (; call != out.api_calls.end() && call->start_ns == start_ns; ++call) {
            if (call->correlation == correlation && call->thread == thread) {
                return call_id(call - out.api_calls.begin());
            }
        }
        return npos;
    };
    for (const found& each : found_) {
        const call_id call = call_of(each.call_start_ns, each.correlation, each.thread);
        if (call != npos) out.call_stacks.push_back({call, each.stack, each.role, each.position});
    }
    std::sort(out.call_stacks.begin(), out.call_stacks.end(), [](const call_stack& a, const call_stack& b) {
        return std::tie(a.call, a.role, a.position) < std::tie(b.call, b.role, b.position);
    });
    for (const auto& [start_ns, r, thread] : accounts_) {
        const call_id call = call_of(start_ns, r.value, thread);
        if (call == npos || r.category == 0) continue;
        const std::uint32_t ran = r.color & UINT16_MAX;
        const std::uint32_t waited = std::min(r.color >> 16, UINT16_MAX - ran);
        out.call_accounts.push_back(
            {call, r.category, name_id(r.name), static_cast<std::uint16_t>(ran), static_cast<std::uint16_t>(waited)});
    }
    std::sort(out.call_accounts.begin(), out.call_accounts.end(),
              [](const call_account& a, const call_account& b) { return a.call < b.call; });
}

bool stack_walk::is_next(const record& r) const noexcept {
    return !frames_.empty() && r.kind == record_kind::code_line && r.value == correlation_ &&
           role_of_line(r.flags) == role_ && (r.category & index_mask) > frames_.back().index;
}

void stack_walk::add(const record& r, timeline& out) {
    if (frames_.empty()) {
        correlation_ = r.value;
        role_ = role_of_line(r.flags);
        depth_ = r.category >> 16;
        position_ = role_ == stack_role::during ? r.domain : 0;
        if (role_ <= stack_role::before) out.quality.stacks_left_out += r.domain;
    }
    if (frames_.size() == most_frames || role_ > stack_role::caller) return;
    frames_.push_back({.name = name_id(r.name),
                       .line = r.color,
                       .index = static_cast<std::uint16_t>(r.category & index_mask),
                       .is_library = (r.flags & library_line) != 0,
                       .is_native = (r.flags & native_line) != 0});
}

stack_id stack_walk::take(timeline& out) {
    if (frames_.empty()) return npos;
    const stack_id index = to_->index_of(out, frames_, depth_);
    frames_.clear();
    return index;
}

void stack_walk::finish(timeline& out, thread_id thread, std::int64_t call_start_ns) {
    const stack_id stack = take(out);
    if (stack != npos) to_->add({call_start_ns, correlation_, thread, stack, role_, position_});
}

const code_line* own_line(const timeline& data, stack_id stack) noexcept {
    const std::span<const code_line> lines = lines_of(data, stack);
    const auto found = std::find_if(lines.begin(), lines.end(), [](const code_line& each) { return !each.is_library; });
    if (found != lines.end()) return &*found;
    return lines.empty() ? nullptr : &lines.front();
}

const code_line* outer_line(const timeline& data, stack_id stack) noexcept {
    const code_line* out = own_line(data, stack);
    bool is_in_library = false;
    std::uint32_t next = 0;
    for (const code_line& each : lines_of(data, stack)) {
        // Frames that were not recorded are a library's, or lie around an own one.
        if (each.is_library || each.index != next) is_in_library = true;
        next = each.index + 1U;
        if (each.is_library) continue;
        if (is_in_library) out = &each;
        is_in_library = false;
    }
    return out;
}

std::span<const call_stack> stacks_of_call(const timeline& data, call_id call, stack_role role) noexcept {
    const auto is_before = [](const call_stack& each, const std::tuple<call_id, stack_role>& wanted) {
        return std::tuple{each.call, each.role} < wanted;
    };
    const auto first =
        std::lower_bound(data.call_stacks.begin(), data.call_stacks.end(), std::tuple{call, role}, is_before);
    auto end = first;
    while (end != data.call_stacks.end() && end->call == call && end->role == role) ++end;
    return {first, end};
}

const call_stack* stack_of_call(const timeline& data, call_id call, stack_role role) noexcept {
    const std::span<const call_stack> found = stacks_of_call(data, call, role);
    return found.empty() ? nullptr : &found.front();
}

const call_account* account_of_call(const timeline& data, call_id call) noexcept {
    const auto found = std::lower_bound(data.call_accounts.begin(), data.call_accounts.end(), call,
                                        [](const call_account& each, call_id wanted) { return each.call < wanted; });
    return found != data.call_accounts.end() && found->call == call ? &*found : nullptr;
}

}  // namespace prof
