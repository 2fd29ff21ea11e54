// SPDX-License-Identifier: Apache-2.0
#include "memory/checkpoint_savings.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace prof {
namespace {

constexpr std::uint64_t least_share = 100;  // of the peak: its hundredth part

// What one call made, as far as it matters after its end.
struct call_memory {
    std::uint32_t call = npos;
    std::vector<std::uint32_t> blocks{};  // that were born in it; indices into the account's
    std::uint64_t given_up = 0;           // bytes that are made again
    std::uint64_t held = 0;               // bytes alive at the peak
    std::uint64_t outputs = 0;            // of these, what stays
    std::uint64_t most_inside = 0;        // bytes alive at once while it ran, of what it made
};

// Whether the block came back with a node of the call, in the step that ends at `step_end_ns`.
bool is_given_back(const timeline& data, const forward_calls& calls, const memory_block_life& block, std::uint32_t call,
                   std::int64_t step_end_ns) {
    if (block.death == npos || !block.end_was_seen) return false;
    const memory_event& end = data.memory[block.death];
    if (end.time_ns < calls.all()[call].backward_ns || end.time_ns >= step_end_ns) return false;
    return calls.is_within(calls.whose_node_at(end.thread, end.time_ns), call);
}

class step_memory {
public:
    step_memory(const timeline& data, const block_account& account, const forward_calls& calls, std::uint16_t device,
                const whole_step& step, std::uint32_t peak)
        : data_(data), account_(account), calls_(calls), step_(step), peak_(peak) {
        for (std::uint32_t i = 0; i < data.memory.size(); ++i) {
            const memory_event& each = data.memory[i];
            if (each.device != device || !each.has_totals || each.time_ns >= step.end_ns) continue;
            if (each.time_ns < step.start_ns) {
                before_ = each.allocated;
            } else {
                events_.push_back(i);
            }
        }
        const std::vector<memory_block_life>& blocks = account.blocks();
        for (std::uint32_t i = 0; i < blocks.size(); ++i) {
            const memory_event& birth = data.memory[blocks[i].birth];
            if (blocks[i].device != device || birth.time_ns < step.start_ns || birth.time_ns >= step.end_ns) continue;
            for (std::uint32_t call = calls.at(birth.thread, birth.time_ns); call != npos;
                 call = calls.all()[call].around) {
                if (is_of_step(call)) born_in_[call].push_back(i);
            }
        }
    }

    std::vector<checkpoint_saving> savings() {
        std::map<std::uint32_t, std::vector<std::uint32_t>> by_module;
        for (const auto& [call, blocks] : born_in_) {
            if (!calls_.is_repeated_within(call)) by_module[calls_.all()[call].module].push_back(call);
        }
        const std::uint64_t peak = highest(before_, {});
        std::vector<checkpoint_saving> out;
        for (const auto& [module, calls] : by_module) {
            checkpoint_saving of{.module = module};
            std::vector<call_memory> made;
            for (const std::uint32_t call : calls) {
                made.push_back(memory_of(call));
                of.held += made.back().held;
                of.outputs += made.back().outputs;
                of.calls += made.back().given_up != 0 ? 1 : 0;
            }
            if (of.held < peak / least_share) continue;
            of.peak = highest(before_, made);
            of.saving = peak - std::min(peak, of.peak);
            if (of.saving >= std::max<std::uint64_t>(peak / least_share, 1)) out.push_back(of);
        }
        std::stable_sort(out.begin(), out.end(),
                         [](const checkpoint_saving& a, const checkpoint_saving& b) { return a.saving > b.saving; });
        return out;
    }

private:
    bool is_of_step(std::uint32_t call) const {
        const forward_call& of = calls_.all()[call];
        return of.has_backward() && of.start_ns >= step_.start_ns && of.backward_ns < step_.end_ns;
    }
    std::int64_t end_of(const memory_block_life& block) const {
        return block.death == npos ? INT64_MAX : data_.memory[block.death].time_ns;
    }

    // What comes back with a node of the call's was made for that, and a checkpoint makes it again. What comes back
    // with a node of another call's, or later, is what the call returned; where nothing does, the block that was born
    // last is taken for it, as that of relu(linear(x)), of which both relu and what follows need it.
    call_memory memory_of(std::uint32_t index) const {
        const forward_call& call = calls_.all()[index];
        call_memory out{.call = index, .blocks = born_in_.at(index)};
        std::vector<std::pair<std::uint32_t, std::int64_t>> changes;  // event, bytes
        std::uint32_t last_inner = npos;
        bool has_output = false;
        const std::int64_t first_node_ns = calls_.next_node_ns(call.end_ns);
        const auto is_at_peak = [&](const memory_block_life& block) { return block.is_alive_after(peak_); };
        for (const std::uint32_t each : out.blocks) {
            const memory_block_life& block = account_.blocks()[each];
            changes.emplace_back(block.birth, static_cast<std::int64_t>(block.bytes));
            if (end_of(block) < call.end_ns) {
                changes.emplace_back(block.death, -static_cast<std::int64_t>(block.bytes));
                continue;
            }
            if (is_at_peak(block)) out.held += block.bytes;
            if (is_given_back(data_, calls_, block, index, step_.end_ns)) {
                out.given_up += block.bytes;
                last_inner = each;
            } else {
                has_output = has_output || end_of(block) >= first_node_ns;
                if (is_at_peak(block)) out.outputs += block.bytes;
            }
        }
        if (!has_output && last_inner != npos) {
            const memory_block_life& block = account_.blocks()[last_inner];
            out.given_up -= block.bytes;
            if (is_at_peak(block)) out.outputs += block.bytes;
        }
        std::sort(changes.begin(), changes.end());
        std::int64_t alive = 0;
        for (const auto& [event, bytes] : changes) {
            alive += bytes;
            out.most_inside = std::max(out.most_inside, static_cast<std::uint64_t>(std::max<std::int64_t>(alive, 0)));
        }
        return out;
    }

    // The most that is allocated in the step, if between a call's end and its backward what it gives up is not there.
    // When its backward begins, its forward runs again beside what is there then.
    std::uint64_t highest(std::uint64_t before, const std::vector<call_memory>& made) const {
        struct edge {
            std::int64_t time_ns = 0;
            const call_memory* of = nullptr;
            bool is_backward = false;
        };
        std::vector<edge> edges;
        for (const call_memory& each : made) {
            if (each.given_up == 0) continue;
            edges.push_back({calls_.all()[each.call].end_ns, &each, false});
            edges.push_back({calls_.all()[each.call].backward_ns, &each, true});
        }
        std::stable_sort(edges.begin(), edges.end(),
                         [](const edge& a, const edge& b) { return a.time_ns < b.time_ns; });
        std::uint64_t allocated = before;
        std::uint64_t most = before;
        std::uint64_t gone = 0;
        auto next = edges.begin();
        const auto pass_until = [&](std::int64_t ns) {
            for (; next != edges.end() && next->time_ns <= ns; ++next) {
                if (!next->is_backward) {
                    gone += next->of->given_up;
                    continue;
                }
                most = std::max(most, allocated - std::min(allocated, gone) + next->of->most_inside);
                gone -= next->of->given_up;
            }
        };
        for (const std::uint32_t event : events_) {
            pass_until(data_.memory[event].time_ns);
            allocated = data_.memory[event].allocated;
            most = std::max(most, allocated - std::min(allocated, gone));
        }
        pass_until(INT64_MAX);
        return most;
    }

    const timeline& data_;
    const block_account& account_;
    const forward_calls& calls_;
    const whole_step& step_;
    std::uint32_t peak_;
    std::uint64_t before_ = 0;                                     // allocated when the step began
    std::vector<std::uint32_t> events_;                            // of the device in the step
    std::map<std::uint32_t, std::vector<std::uint32_t>> born_in_;  // by call: blocks
};

// The part of a call that is done again.
struct repeated_part {
    std::uint32_t call = npos;
    std::int64_t step_end_ns = 0;
    bool has_output = false;             // a block that is not given back with a node of the call's
    std::int64_t last_inner_ns = -1;     // the birth of the last one that is; -1: of none
    std::vector<std::int64_t> births{};  // of blocks
    std::vector<std::pair<std::int64_t, std::int64_t>> launches{};  // when, and how long the GPU took

    // Until the next block is asked for, behind the first launch after the last inner one: what fills that is done
    // again.
    std::int64_t end_ns(const forward_call& of) const {
        if (last_inner_ns < 0 || !has_output) return of.end_ns;
        const auto filled = std::find_if(launches.begin(), launches.end(),
                                         [&](const auto& each) { return each.first >= last_inner_ns; });
        if (filled == launches.end()) return of.end_ns;
        const auto next = std::upper_bound(births.begin(), births.end(), filled->first);
        return next == births.end() ? of.end_ns : std::min(*next, of.end_ns);
    }
};

}  // namespace

std::vector<checkpoint_saving> checkpoint_savings(const timeline& data, const block_account& account,
                                                  const forward_calls& calls, std::uint16_t device,
                                                  const whole_step& step, std::uint32_t peak) {
    if (peak == npos) return {};
    return step_memory(data, account, calls, device, step, peak).savings();
}

std::vector<repeated_forward> repeated_forwards(const timeline& data, const block_account& account,
                                                const forward_calls& calls, std::uint32_t module,
                                                const std::vector<whole_step>& steps) {
    std::vector<repeated_part> parts;
    std::unordered_map<std::uint32_t, std::size_t> index_of;  // by call
    for (std::uint32_t i = 0; i < calls.all().size(); ++i) {
        const forward_call& call = calls.all()[i];
        if (call.module != module || !call.has_backward() || calls.is_repeated_within(i)) continue;
        const auto after = std::partition_point(steps.begin(), steps.end(),
                                                [&](const whole_step& each) { return each.start_ns <= call.start_ns; });
        if (after == steps.begin() || call.backward_ns >= (after - 1)->end_ns) continue;
        index_of[i] = parts.size();
        parts.push_back({.call = i, .step_end_ns = (after - 1)->end_ns});
    }
    if (parts.empty()) return {};
    const auto part_at = [&](thread_id thread, std::int64_t ns) -> repeated_part* {
        std::uint32_t call = calls.at(thread, ns);
        while (call != npos && !index_of.contains(call)) call = calls.all()[call].around;
        return call == npos ? nullptr : &parts[index_of[call]];
    };
    for (const memory_block_life& block : account.blocks()) {
        const memory_event& birth = data.memory[block.birth];
        repeated_part* const part = part_at(birth.thread, birth.time_ns);
        if (part == nullptr) continue;
        part->births.push_back(birth.time_ns);
        const forward_call& call = calls.all()[part->call];
        const std::int64_t death_ns = block.death == npos ? INT64_MAX : data.memory[block.death].time_ns;
        if (is_given_back(data, calls, block, part->call, part->step_end_ns)) {
            part->last_inner_ns = birth.time_ns;
        } else if (death_ns >= calls.next_node_ns(call.end_ns)) {
            part->has_output = true;
        }
    }
    for (const gpu_op& op : data.ops) {
        if (op.launch == npos) continue;
        const timeline_api_call& launch = data.api_calls[op.launch];
        repeated_part* const part = part_at(launch.thread, launch.start_ns);
        if (part != nullptr) part->launches.emplace_back(launch.start_ns, op.end_ns - op.start_ns);
    }
    std::vector<repeated_forward> out;
    for (repeated_part& part : parts) {
        std::sort(part.launches.begin(), part.launches.end());
        std::sort(part.births.begin(), part.births.end());
        const forward_call& call = calls.all()[part.call];
        const std::int64_t end_ns = part.end_ns(call);
        repeated_forward& of =
            out.emplace_back(repeated_forward{call.backward_thread, call.backward_ns, end_ns - call.start_ns, 0});
        for (const auto& [launch_ns, gpu_ns] : part.launches) of.gpu_ns += launch_ns < end_ns ? gpu_ns : 0;
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const repeated_forward& a, const repeated_forward& b) { return a.at_ns < b.at_ns; });
    return out;
}

}  // namespace prof
