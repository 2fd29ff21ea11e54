// SPDX-License-Identifier: Apache-2.0
// Looks for long stretches in which the host runs code of its own while the GPU has no work left: Python between the
// launches, a lock, input and output. The place is the range in which it is. Without GPU work the host's code is the
// work, and what lies outside of the phases is looked for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_host_code(const rule_input& input) {
    return host_suspects(
        input,
        [&](const host_group& group) { return group.cause == idle_cause::host_code && !input.is_scattered(group); },
        [&](const host_group& group) { return input.place(group); });
}

constexpr advice_line host_code_advice[] = {
    {written_with::any,
     "Move it out of the step, into another thread or process, or let it run while the GPU computes (launch first, "
     "then log, save and prepare)",
     "move it out of the step, or launch GPU work before it"},
    {written_with::torch, "PyTorch: a range around parts of it (torch.cuda.nvtx.range) shows which part it is"},
    {written_with::jax, "JAX: jax.profiler.TraceAnnotation around parts of it shows which part it is"},
    {written_with::neither, "C++: PROF_RANGE around parts of it shows which part it is; perf shows the functions"},
};

constexpr advice_line host_code_advice_without_gpu[] = {
    {written_with::any,
     "Logging, metrics, saving: out of the loop, every N steps, or in another thread or process; what computes there "
     "is work and stays",
     "logging, metrics, saving: every N steps, or in a thread"},
    {written_with::torch,
     "PyTorch: a range around parts of it (libprof.range, torch.profiler.record_function) shows which part it is"},
    {written_with::neither,
     "C++: PROF_RANGE, Python: libprof.range around parts of it shows which part it is; perf shows the functions"},
};

constexpr advice_line host_code_advice_without_lines[] = {
    {written_with::torch, "py-spy shows the lines"},
    {written_with::jax, "py-spy shows the lines"},
};

std::string_view phase_of(std::string_view place) noexcept { return place.substr(0, place.find('/')); }

std::string why_not_host_code(const rule_input& input) {
    std::int64_t outside_ns = 0;
    for (const host_group& group : input.host) {
        if (group.cause == idle_cause::host_code && group.place == 0) outside_ns += group.tally.total_ns;
    }
    const double all_ns = input.step_ns * static_cast<double>(input.steps);
    return input.parts->why_unknown(input.used.has_jax, static_cast<double>(outside_ns) / std::max(all_ns, 1.0));
}

// How the optimizer's kernels were made, as far as their names tell it.
struct optimizer_kernels {
    bool are_fused = false;
    bool are_foreach = false;  // one launch for many tensors
};
optimizer_kernels optimizer_kernels_of(const timeline& data) {
    optimizer_kernels out;
    std::unordered_set<name_id> names;
    for (const kernel_record& kernel : data.kernels) names.insert(name_id(kernel.name));
    for (const name_id number : names) {
        const std::string_view name = data.name(number);
        for (const std::string_view fused : {"FusedAdam", "FusedSgd", "FusedAdagrad"}) {
            out.are_fused |= name.find(fused) != std::string_view::npos;
        }
        out.are_foreach |= name.find("multi_tensor_apply") != std::string_view::npos;
    }
    return out;
}

// "AdamW" of "optimizer/Optimizer.step#AdamW.step", as PyTorch names the range; "": it has no such name.
std::string_view optimizer_in(std::string_view place) noexcept {
    const std::string_view last = place.substr(place.find_last_of("/#") + 1);
    constexpr std::string_view call = ".step";
    if (!last.ends_with(call) || last.size() == call.size()) return {};
    return last.substr(0, last.size() - call.size());
}

// PyTorch 2.0 and later; what is on already is no advice.
place_advice advice_of_optimizer(const rule_input& input, std::string_view name) {
    const optimizer_kernels known = optimizer_kernels_of(input.data);
    constexpr std::array have_fused{std::string_view("Adam"), std::string_view("AdamW"), std::string_view("SGD"),
                                    std::string_view("Adagrad")};
    const bool can_be_fused = std::find(have_fused.begin(), have_fused.end(), name) != have_fused.end();
    if (can_be_fused && !known.are_fused) {
        const bool may_be_slow = input.parts == nullptr && !known.are_foreach;
        std::string brief = fmt::format("{}(…, fused=True){}", name, may_be_slow ? ", or foreach=True" : "");
        std::string text = fmt::format("PyTorch: {} updates many parameters with one launch", brief);
        return {std::move(brief), std::move(text)};
    }
    if (input.parts == nullptr && !known.are_fused && !known.are_foreach) {
        return {"foreach=True of the optimizer", "PyTorch: foreach=True updates many parameters with one launch"};
    }
    return {"torch.compile of the optimizer's step",
            "PyTorch: torch.compile of the optimizer's step, or a CUDA graph (capturable=True), leaves out its Python "
            "code; its kernels are for many parameters each"};
}

bool launches_in(const rule_input& input, std::string_view phase) {
    return std::any_of(input.host.begin(), input.host.end(), [&](const host_group& group) {
        return group.cause == idle_cause::launching && phase_of(input.place_path(group)) == phase;
    });
}

// What belongs to a step cannot be moved out of it.
std::optional<place_advice> advice_at_place(const rule_input& input, const std::string& place) {
    // As recorded, or as the program names its own ranges: "optimizer_step".
    const std::string_view phase = phase_of(place);
    const std::string_view optimizer = optimizer_in(place);
    const auto is_of = [&](std::string_view name) { return phase.find(name) != std::string_view::npos; };
    if (input.used.has_torch && (is_of("optim") || !optimizer.empty())) {
        return advice_of_optimizer(input, optimizer);
    }
    if (input.used.has_torch && is_of("zero_grad")) {
        if (launches_in(input, phase)) {
            return place_advice{"zero_grad(set_to_none=True)", "PyTorch: zero_grad(set_to_none=True) launches nothing"};
        }
        return place_advice{"a CUDA graph of the step, which leaves it out",
                            "PyTorch: it sets the gradient of each parameter to None, in Python; a CUDA graph of the "
                            "whole step leaves it out"};
    }
    if (input.used.has_torch && is_of("clip_grad")) {
        return optimizer_kernels_of(input.data).are_foreach
                   ? place_advice{"a CUDA graph or torch.compile around it",
                                  "PyTorch: its kernels are for many gradients each; a CUDA graph or torch.compile "
                                  "around it leaves out its Python code"}
                   : place_advice{"clip_grad_norm_(…, foreach=True)",
                                  "PyTorch: clip_grad_norm_(…, foreach=True) scales many gradients with one launch"};
    }
    for (const std::string_view kept : {"forward", "backward", "optim", "zero_grad", "clip_grad"}) {
        if (!is_of(kept)) continue;
        return place_advice{"ranges inside of it, which show the part",
                            "It belongs to the step: ranges inside of it show which part can be faster, or can wait"};
    }
    return {};
}

std::vector<std::string> advice_by_states(const thread_shares& did) {
    constexpr double much = 0.25, nearly_all = 0.75;
    std::vector<std::string> out;
    if (did.blocked >= much) {
        const std::string by = did.blocked_in.empty() ? std::string{} : ": " + did.blocked_in;
        out.push_back("The thread is blocked there, and computes nothing" + by +
                      ". Let another thread wait for it, ahead of the step that needs it");
    }
    if (did.waited >= much) {
        out.emplace_back(
            "The thread waits for a CPU there: fewer threads and workers on these cores (OMP_NUM_THREADS, "
            "num_workers), "
            "or more cores for the job");
    }
    if (did.ran >= nearly_all)
        out.emplace_back("The thread is at work there: less work, or work that is done elsewhere");
    return out;
}

}  // namespace

const rule host_code_rule{
    .name = "host_code",
    .purpose = "the host runs other code while the GPU has nothing to do",
    .needs = activity::launches,
    .needs_all_calls = true,
    .trust = confidence::high,
    .suspects = find_host_code,
    .title = "the host runs other code",
    .noun = "CPU code",
    .is_one_cause = false,
    .explains_any_step = false,
    .bound = "as if that code took no time",
    .advice = host_code_advice,
    .advice_at = advice_at_place,
    .advice_without_lines = host_code_advice_without_lines,
    .advice_for = advice_by_states,
    .asks_without_gpu = true,
    .advice_without_gpu = host_code_advice_without_gpu,
    .bound_without_gpu = "as if what the program does there took no time",
    .trust_without_gpu = confidence::medium,  // nothing shows that it is no work
    .why_not_without_gpu = why_not_host_code,
};

}  // namespace prof
