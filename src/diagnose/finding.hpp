// SPDX-License-Identifier: Apache-2.0
// What to change in a program, and how much shorter its steps could be: few findings, each with its price. Plain data,
// which diagnose() (diagnosis.hpp) makes.
//
// A price is a ceiling: the recorded dependencies are replayed with the cause gone (replay/replay.hpp), and with
// nothing in its place. Prices of several findings do not add up; `together_ns` is the price of all of them at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/breakdown/thread_states.hpp"

namespace prof {

enum class confidence : std::uint8_t { low, medium, high };
std::string_view to_string(confidence value) noexcept;

// A place that a finding is made of, with its own share of the cost.
struct finding_part {
    std::string what{};        // "cudaStreamSynchronize, forward/loss"
    std::int64_t cost_ns = 0;  // in all steps
    std::uint64_t count = 0;   // calls (a launch with the time before it), stretches or operations, in all steps
    std::int64_t longest_ns = 0;
    std::int64_t longest_at_ns = 0;  // on the timeline's clock
    std::string place{};  // the path of the ranges in which the host was, "forward/loss"; "": none, or GPU time
    // The line of the program, "train.py:57", with its function and what that had called, "train → Tensor.item"; "":
    // not known. Of a stretch between calls it is the line that ran, by samples, or the line of the next call.
    std::string line{};
    std::string code{};
    thread_shares did{};  // of the whole place, also where this is one of its lines
};

// What a line of the program costs, by one cause.
struct line_cost {
    std::string line{};  // "": the time whose line is not known
    std::string code{};
    std::string cause{};       // to_string(idle_cause)
    std::int64_t cost_ns = 0;  // in all steps
    std::uint64_t count = 0;
    std::uint64_t steps = 0;
    std::int64_t longest_ns = 0;
    std::int64_t longest_at_ns = 0;
    std::int64_t gain_ns = 0;  // of all steps: the price of its time in a finding; 0: it has none, or was not priced
    std::string stack{};       // one of the stacks, the outermost frame first
};

struct finding {
    std::string rule{};        // "synchronization"
    std::string title{};       // "the host waits for the GPU in cudaStreamSynchronize, in forward/loss"
    std::string noun{};        // what it is, in a few words: "the CPU waits for the GPU"
    std::int64_t cost_ns = 0;  // of all steps: how long it takes, wherever it lies
    std::int64_t gain_ns = 0;  // of all steps: by how much they would be shorter, at most
    std::uint64_t steps = 0;   // in so many of them
    confidence trust = confidence::medium;
    bool changes_results = false;       // what it advises changes the numbers that the program computes
    std::uint64_t places = 0;           // how many there are; `parts` has the dearest
    bool is_of_gpu = false;             // its places are kernels, copies or streams, and not the program's
    std::string bound{};                // what the price leaves out, or assumes
    std::vector<finding_part> parts{};  // dearest first
    thread_shares did{};
    // The modules with the most of the time that it would save, "GPT2.h.*.attn (62 %)"; empty: not in modules, or none
    // were recorded.
    std::vector<std::string> modules{};
    std::string brief_advice{};         // the first thing to try, in at most 60 characters; "": see `advice`
    std::vector<std::string> advice{};  // what to try, in the words of PyTorch, JAX or CUDA
    std::uint32_t bit = 0;              // of the finding in finding_set::findings
};

// What several findings would gain at once.
struct finding_set {
    std::uint32_t findings = 0;  // a bit for each (finding::bit)
    std::int64_t gain_ns = 0;    // of all steps
};

// A share of the critical path.
struct path_share {
    std::string kind{};    // "kernels", "host code"
    std::string where{};   // the phase of an operation, or the place on the host; "": outside ranges
    std::string module{};  // "GPT2.h.*.attn"; "": outside modules, or none were recorded
    std::int64_t total_ns = 0;
};

struct diagnosis {
    bool has_steps = false;           // else it is of all the time that was recorded, as one step
    std::uint64_t steps = 0;          // 0: nothing could be examined, and `not_looked` says why
    bool has_gpu_work = true;         // else it is of the thread with the steps, and the program used no GPU
    std::uint64_t warm_up = 0;        // steps left out before them
    double step_ns = 0;               // mean of their lengths (whole_step::length_ns), as in every report
    std::int64_t wall_ns = 0;         // their lengths added
    std::int64_t replayed_ns = 0;     // the replay without a change; about wall_ns
    std::int64_t together_ns = 0;     // the price of all findings at once
    double least_share = 0;           // of a step: what gains less is no finding,
    double least_ns = 0;              // which is so much: of the median step, or of the mean if that is shorter
    std::vector<finding> findings{};  // in the order of sort_findings()
    std::vector<finding_set> sets{};  // if diagnosis_options::wants_sets
    std::int64_t path_ns = 0;         // length of the critical path; about wall_ns
    std::int64_t unexplained_ns = 0;  // of the path: waits for a reason that was not recorded
    std::vector<path_share> path{};   // largest first; adds up to path_ns
    std::vector<line_cost> lines{};   // of the host's time; dearest first
    std::uint64_t stacks_left_out = 0;
    std::string no_lines{};  // why none are known; "": some are
    bool path_has_modules = false;
    std::string no_modules{};               // why the path has none; "": it has, or the program can have none
    std::string bound_by{};                 // "kernels (84 % of the critical path), most of all in backward"
    std::vector<std::string> looked{};      // rules that found nothing
    std::vector<std::string> remarks{};     // what limits the trust in the prices
    std::vector<std::string> not_looked{};  // "communication: …, because …" with the option that records it

    // Of a step.
    double per_step(std::int64_t total_ns) const noexcept {
        return steps == 0 ? 0 : static_cast<double>(total_ns) / static_cast<double>(steps);
    }
    double share_of(std::int64_t total_ns) const noexcept { return step_ns > 0 ? per_step(total_ns) / step_ns : 0; }
};

// As they are read: the sure ones first, dearest first, then those that are rough (of low confidence) or change
// results. The dearest of these comes third at the latest, if it would gain a twentieth of a step.
void sort_findings(diagnosis& of);

inline constexpr double default_least_share = 0.01;  // of a step: what would gain less is no finding

}  // namespace prof
