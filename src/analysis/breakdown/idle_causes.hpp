// SPDX-License-Identifier: Apache-2.0
// Why a GPU was idle: divides a gap between operations into pieces with one cause each. docs/reference/breakdown.md
// defines them. One thread; the cost of a gap is that of the host's calls and ranges within it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/graph_captures.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/breakdown/launching_places.hpp"
#include "timeline/timeline.hpp"

namespace prof {

enum class idle_cause : std::uint8_t {
    // The next operation had not been launched (launch-starved). What the launching thread did:
    host_code,   // nothing that was recorded, for more than launch_bound_ns between two of its calls, and not scattered
                 // (launching_places.hpp)
    launching,   // launches: it was in the call of a launch, or for a shorter time between two calls
    loader,      // it waited for a data loader
    compiling,   // it compiled
    capturing,   // it captured a CUDA graph
    allocating,  // it was in a call that allocates or frees memory
    latency,     // it had launched the operation less than latency_ns ago, in the gap
    // The same, but it was in a call that waits (blocked):
    waiting,        // for the GPU, although the GPU had nothing to do: the way back from the wait, or a host function
    pageable_copy,  // in a copy from or to pageable memory
    blocking_copy,  // in another copy that returns when it is complete
    // The next operation had been launched:
    queued,     // before the gap began, and it began within latency_ns: the GPU's own time between two operations
    other_gpu,  // an operation of another GPU ended less than latency_ns before it began
    // Residual:
    not_started,  // it was launched, and began later for a reason that was not recorded
    unknown,      // its launch was not recorded
};
inline constexpr std::size_t idle_cause_count = static_cast<std::size_t>(idle_cause::unknown) + 1;

enum class idle_group : std::uint8_t { starved, blocked, dependency, residual };
idle_group group_of(idle_cause cause) noexcept;
std::string_view to_string(idle_group group) noexcept;  // "launch-starved" …
std::string_view to_string(idle_cause cause) noexcept;  // "host code", "data loader" …, as programs read them
std::string_view word_for(idle_cause cause) noexcept;   // "CPU code", "launches" …, as the first screen has them

// Between two calls of one thread: up to this long, the thread launches one operation after another, and is merely
// slower than the GPU. PyTorch takes 5 to 50 µs for an operation.
inline constexpr std::int64_t launch_bound_ns = 100'000;
// A GPU begins an operation some microseconds after its launch, or after the one before it in its stream.
inline constexpr std::int64_t latency_ns = 50'000;

// A gap: one GPU without operations. An operation's index is npos where there is none.
struct idle_gap {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t device = 0;
    op_id next = npos;  // the first operation after it
};

struct idle_piece {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    idle_cause cause = idle_cause::unknown;
    call_id call = npos;      // in which the host was; index into api_calls
    range_id range = npos;    // the innermost in which the host was
    code_place_id place{};    // its place (code_places.hpp)
    thread_id thread = npos;  // of time in no call: whose code that is
};

class idle_causes {
public:
    // Where no operation follows, the thread that launched the last one is asked; if its launch is not known, that of
    // the steps is. The arguments must outlive it.
    idle_causes(const timeline& data, const attribution& att, const host_activity& host, code_places& where,
                const whole_steps& of);

    // Calls visit(idle_piece) for pieces that cover the gap, in order of time, without overlap.
    template <typename TVisit>
    void explain(const idle_gap& gap, TVisit&& visit) {
        pieces_.clear();
        divide(gap);
        for (const idle_piece& piece : pieces_) visit(piece);
    }

    // The call that waits in which the launching thread was when the gap began, so that nothing was queued any more;
    // npos: none.
    call_id drained_by(const idle_gap& gap) const;

    // The cause while the host is in this call, before the next launch.
    idle_cause cause_of_call(call_id call) const;

private:
    struct actors {
        thread_id thread = npos;  // which launched
        thread_id home = npos;    // for which it works; itself if for none
    };
    actors who(const idle_gap& gap) const;
    void divide(const idle_gap& gap);
    void before_launch(const actors& by, std::int64_t from_ns, std::int64_t to_ns);
    void in_no_call(const actors& by, std::int64_t from_ns, std::int64_t to_ns, std::int64_t whole_ns,
                    thread_id thread);
    void after_launch(const idle_gap& gap, std::int64_t from_ns);
    void add(std::int64_t from_ns, std::int64_t to_ns, idle_cause cause, call_id call, range_id range,
             thread_id thread = npos);
    bool captures(const actors& by, std::int64_t ns) const;
    bool copies_pageable(call_id call) const;
    code_place_id place_of(range_id range) const { return range == npos ? code_place_id() : where_.of(range); }
    bool another_gpu_ended(const idle_gap& gap) const;

    const timeline& data_;
    const attribution& att_;
    const host_activity& host_;
    code_places& where_;
    thread_id step_thread_;
    launching_places launching_;
    graph_captures graph_captures_;
    std::map<std::uint32_t, op_id> last_op_;  // by GPU
    bool has_other_gpus_ = false;
    std::vector<idle_piece> pieces_;
};

}  // namespace prof
