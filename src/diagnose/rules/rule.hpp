// SPDX-License-Identifier: Apache-2.0
// What a rule of the diagnosis is. Each has a file of its own in this folder, and a row in rules.cpp.
//
// A rule chooses groups of host or GPU time that have one root cause, and says what they are and what may help. It
// computes no price: diagnosis.cpp replays the steps without the groups. A group belongs to one rule, so that no time
// is counted twice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/launching_places.hpp"
#include "analysis/projection/call_names.hpp"
#include "analysis/projection/used_frameworks.hpp"
#include "diagnose/finding.hpp"
#include "diagnose/gpu_time.hpp"
#include "diagnose/host_parts.hpp"
#include "diagnose/host_time.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "record/activities.hpp"

namespace prof {

enum class written_with : std::uint8_t { any, torch, jax, neither };
struct advice_line {
    written_with whom;  // programs for which it is
    std::string_view text;
    std::string_view brief{};  // for one line of a narrow screen; "": it is not for that
};
// Of one place, in the stead of a rule's advice for any program.
struct place_advice {
    std::string brief{};           // "": none
    std::string text{};            // "": that of the rule
    bool replaces_briefs = false;  // in the stead of all lines that are for a narrow screen
};

// Groups are those of all steps, without changes: which group belongs to which rule is decided for all steps at once,
// and what would change is then found part by part (replay_changes are as long as the part).
struct rule_input {
    const timeline& data;
    const code_places& where;
    const launching_places& launching;
    const std::vector<host_group>& host;
    const std::vector<gpu_group>& gpu;
    std::uint64_t steps = 0;
    double pinned_rate = 0;  // to the device; pinned_rate()
    frameworks used{};
    call_namer call_name{};
    // What the thread with the steps does where there is no GPU work; null: there is.
    const host_parts* parts = nullptr;
    double step_ns = 0;  // the mean step
    // Whether a rule that was asked before has a finding.
    std::function<bool(std::string_view)> is_found{};

    // "in forward/loss"; "outside ranges".
    std::string place(code_place_id number) const;
    // The same of a group, which without GPU work may be "outside phases, after optimizer".
    std::string place(const host_group& group) const;
    // "forward/loss"; "" outside ranges; "after optimizer" of a program without GPU work.
    std::string place_path(const host_group& group) const;
    // "cudaStreamSynchronize"; "cudaStreamSynchronize in aten::item", if an operator of PyTorch's makes the call.
    std::string call(const host_group& group) const;
    // Small copies in one direction at one place, at least least_pieces of them in a step. Copies to the host are not
    // if it waits for each: it needs each value before it goes on.
    bool is_in_pieces(const host_group& group) const noexcept;
    // Host code that is many short stretches rather than few long ones (launching_places.hpp).
    bool is_scattered(const host_group& group) const noexcept;
};
inline constexpr std::uint64_t least_pieces = 16;
inline constexpr std::uint64_t small_copy_bytes = 65'536;  // CUDA handles pageable copies up to this size differently

// A place with the flaw: groups of the host or of the GPU, as indices.
struct suspect {
    std::string what{};
    step_tally tally{};
    bool is_of_gpu = false;
    std::vector<std::uint32_t> groups{};
    std::string place{};  // of host time: the path of ranges; "": in none. Of GPU time "", since it has no one place
};

struct rule {
    std::string_view name;
    std::string_view purpose;
    activity needs;  // what must have been recorded
    // Beside it all calls that may take long, so that time between calls is the host's own.
    bool needs_all_calls = false;
    confidence trust;
    std::vector<suspect> (*suspects)(const rule_input& input);
    // "the host waits for the GPU": a finding's title without its place.
    std::string_view title;
    std::string_view noun;  // what it is, as the cause of a gain: "launches"
    bool is_one_cause;      // all places have one root cause, and are one finding
    bool
        explains_any_step;  // a finding even if it matters in a single step; others are rather the uneven steps' reason
    std::string_view bound;  // what its price leaves out
    std::span<const advice_line> advice;
    // None, or null: the rule's advice holds at this place.
    std::optional<place_advice> (*advice_at)(const rule_input& input, const std::string& place) = nullptr;
    // More, where the lines of the program are not known.
    std::span<const advice_line> advice_without_lines{};
    // What changes beside the groups' own time, in a part of the steps. Null: nothing.
    void (*complete)(const rule_input& input, const dependency_graph& graph, replay_changes& changes) = nullptr;
    bool asks_others = false;  // by is_found: it is asked when the others have their findings
    // Comes before the advice: what was recorded of the cause. Null: nothing.
    std::vector<std::string> (*recorded_advice)(const rule_input& input) = nullptr;
    // The same, by what the thread did. REQUIRES: that is known. Null: nothing.
    std::vector<std::string> (*advice_for)(const thread_shares& did) = nullptr;
    // It goes by kernels' names, which a CUDA graph that was recorded as one operation hides.
    bool goes_by_kernels = false;
    // Host code without GPU work, too; with advice of its own.
    bool asks_without_gpu = false;
    std::span<const advice_line> advice_without_gpu{};
    std::string_view bound_without_gpu{};
    confidence trust_without_gpu = confidence::high;  // at most
    // Why the host's time does not show it without GPU work; "": it does. Null: it does.
    std::string (*why_not_without_gpu)(const rule_input& input) = nullptr;
    bool changes_results = false;  // what it advises changes the numbers that the program computes
};

// What to try at a place, and of it what fits into one line; "": nothing does.
struct chosen_advice {
    std::vector<std::string> all{};
    std::string brief{};
};
chosen_advice advice_of(const rule& asked, const rule_input& input, const std::string& place);

// A suspect for each group of host time that `is_meant` accepts.
template <typename TIsMeant, typename TWhat>
std::vector<suspect> host_suspects(const rule_input& input, TIsMeant&& is_meant, TWhat&& what) {
    std::vector<suspect> out;
    for (std::uint32_t i = 0; i < input.host.size(); ++i) {
        const host_group& group = input.host[i];
        if (is_meant(group)) out.push_back({what(group), group.tally, false, {i}, input.place_path(group)});
    }
    return out;
}

template <typename TIsMeant>
std::vector<suspect> gpu_suspects(const rule_input& input, TIsMeant&& is_meant) {
    std::vector<suspect> out;
    for (std::uint32_t i = 0; i < input.gpu.size(); ++i) {
        const gpu_group& group = input.gpu[i];
        if (is_meant(group)) out.push_back({group.name, group.tally, true, {i}});
    }
    return out;
}

std::span<const rule> all_rules() noexcept;

// A file each.
extern const rule data_loader_rule;
extern const rule synchronization_rule;
extern const rule pageable_copies_rule;
extern const rule blocking_copies_rule;
extern const rule small_copies_rule;
extern const rule allocation_rule;
extern const rule compilation_rule;
extern const rule graph_capture_rule;
extern const rule host_code_rule;
extern const rule launch_bound_rule;
extern const rule communication_rule;
extern const rule copy_overlap_rule;
extern const rule precision_rule;
extern const rule serial_streams_rule;

}  // namespace prof
