// SPDX-License-Identifier: Apache-2.0
// Looks for compilation in the steps: torch.compile and XLA compile again for each new shape, type or flag.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/display_text.hpp"
#include "base/text.hpp"
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_compilation(const rule_input& input) {
    return host_suspects(
        input, [](const host_group& group) { return group.cause == idle_cause::compiling; },
        [&](const host_group& group) { return input.place(group); });
}

// What torch.compile says about functions that it compiled again, most often first. A line: the function, its line in
// the source, how often, and why (hooks/torch/python/prof_phases.py).
std::vector<std::string> recompilations(const rule_input& input) {
    struct recompiled {
        std::string function;
        std::string why;  // the first time
        std::uint64_t count = 0;
    };
    constexpr std::size_t most = 3;
    constexpr std::size_t longest = 160;
    std::vector<recompiled> found;
    for (const std::string_view line : split(input.data.property("text.torch_recompilations"), '\n')) {
        std::array<std::string_view, 4> cells{};
        std::size_t filled = 0;
        for (const std::string_view cell : split(line, '\t')) {
            if (filled < cells.size()) cells[filled++] = cell;
        }
        const auto& [name, number, times, why] = cells;
        std::uint64_t count = 0;
        std::from_chars(times.data(), times.data() + times.size(), count);
        if (count == 0 || why.empty()) continue;
        std::string function = number == "0" ? std::string(name) : fmt::format("{}, line {},", name, number);
        auto same = std::find_if(found.begin(), found.end(),
                                 [&](const recompiled& other) { return other.function == function; });
        if (same == found.end()) same = found.insert(found.end(), {std::move(function), std::string(why)});
        same->count += count;
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const recompiled& a, const recompiled& b) { return a.count > b.count; });
    std::vector<std::string> out;
    for (std::size_t i = 0; i < std::min(found.size(), most); ++i) {
        out.push_back(fmt::format("PyTorch compiled {} again {} time{}, because of {}", found[i].function,
                                  found[i].count, found[i].count == 1 ? "" : "s", shortened(found[i].why, longest)));
    }
    return out;
}

constexpr advice_line compilation_advice[] = {
    {written_with::torch,
     "PyTorch: TORCH_LOGS=recompiles names the reason; mark_dynamic or dynamic=True for sizes that change; pad to few "
     "shapes",
     "TORCH_LOGS=recompiles names the reason"},
    {written_with::jax,
     "JAX: jax_log_compiles shows what is compiled, jax_explain_cache_misses why; pad to few shapes; static arguments "
     "that change compile again",
     "jax_explain_cache_misses names the reason"},
};

}  // namespace

const rule compilation_rule{
    .name = "compilation",
    .purpose = "a compiler runs in the steps",
    .needs = activity::launches,
    .trust = confidence::high,
    .suspects = find_compilation,
    .title = "a compiler runs in the steps",
    .noun = "compilation",
    .is_one_cause = true,
    .explains_any_step = true,
    .bound = "as if everything were compiled before",
    .advice = compilation_advice,
    .recorded_advice = recompilations,
    .asks_without_gpu = true,
    .advice_without_gpu = compilation_advice,
};

}  // namespace prof
