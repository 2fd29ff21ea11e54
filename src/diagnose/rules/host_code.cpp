// SPDX-License-Identifier: Apache-2.0
// Looks for long stretches in which the host runs code of its own while the GPU has no work left: Python between the
// launches, a lock, input and output. The place is the range in which it is. Without GPU work the host's code is the
// work, and what lies outside of the phases is looked for.
#include <algorithm>

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
    {written_with::torch,
     "PyTorch: a range around parts of it (torch.cuda.nvtx.range) shows which part it is; py-spy shows the lines"},
    {written_with::jax,
     "JAX: jax.profiler.TraceAnnotation around parts of it shows which part it is; py-spy shows the lines"},
    {written_with::neither, "C++: PROF_RANGE around parts of it shows which part it is; perf shows the functions"},
};

constexpr advice_line host_code_advice_without_gpu[] = {
    {written_with::any,
     "Logging, metrics, saving: out of the loop, every N steps, or in another thread or process; what computes there "
     "is work and stays",
     "logging, metrics, saving: every N steps, or in a thread"},
    {written_with::torch,
     "PyTorch: a range around parts of it (libprof.range, torch.profiler.record_function) shows which part it is; "
     "py-spy shows the lines"},
    {written_with::neither,
     "C++: PROF_RANGE, Python: libprof.range around parts of it shows which part it is; perf and py-spy show more"},
};

std::string why_not_host_code(const rule_input& input) {
    std::int64_t outside_ns = 0;
    for (const host_group& group : input.host) {
        if (group.cause == idle_cause::host_code && group.place == 0) outside_ns += group.tally.total_ns;
    }
    const double all_ns = input.step_ns * static_cast<double>(input.steps);
    return input.parts->why_unknown(input.used.has_jax, static_cast<double>(outside_ns) / std::max(all_ns, 1.0));
}

// Forward, backward and the optimizer cannot be moved out of a step.
std::string brief_of_host_code(const rule_input& input, const std::string& place) {
    const std::string phase = place.substr(0, place.find('/'));
    if (phase == "optimizer" && input.used.has_torch) return "AdamW(…, fused=True), or foreach=True";
    if (phase == "zero_grad") return "zero_grad(set_to_none=True)";
    if (phase == "forward" || phase == "backward" || phase == "optimizer") {
        return "ranges inside of it, which show the part";
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
    .brief_at = brief_of_host_code,
    .advice_for = advice_by_states,
    .asks_without_gpu = true,
    .advice_without_gpu = host_code_advice_without_gpu,
    .bound_without_gpu = "as if what the program does there took no time",
    .trust_without_gpu = confidence::medium,  // nothing shows that it is no work
    .why_not_without_gpu = why_not_host_code,
};

}  // namespace prof
