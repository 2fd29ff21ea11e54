// SPDX-License-Identifier: Apache-2.0
#include "report/checkpoint_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "analysis/modules/module_finder.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "base/display_text.hpp"
#include "diagnose/added_work.hpp"
#include "memory/block_account.hpp"
#include "memory/checkpoint_savings.hpp"
#include "memory/forward_calls.hpp"
#include "record/memory.hpp"
#include "report/projected_timeline.hpp"

namespace prof {
namespace {

constexpr std::size_t most_modules = 12;  // of a device

std::vector<added_work> added_by(const std::vector<repeated_forward>& repeated) {
    std::vector<added_work> out;
    out.reserve(repeated.size());
    for (const repeated_forward& each : repeated) {
        out.push_back({each.thread, each.at_ns, each.host_ns, each.gpu_ns});
    }
    return out;
}

// Those that would save most on each device. Returns their savings, in the same order.
std::vector<checkpoint_saving> add_modules(checkpoint_answer& out, const memory_summary& of, const timeline& data,
                                           const block_account& account, const forward_calls& calls) {
    std::vector<checkpoint_saving> savings;
    for (const memory_device& device : of.devices) {
        if (!device.has_steps) continue;
        const memory_step& highest = device.steps[device.highest];
        const whole_step step{.start_ns = highest.start_ns, .end_ns = highest.end_ns};
        std::vector<checkpoint_saving> found = checkpoint_savings(
            data, account, calls, packed_device(device.kind, static_cast<std::uint8_t>(device.device)), step,
            highest.peak_event);
        if (found.size() > most_modules) found.resize(most_modules);
        for (const checkpoint_saving& each : found) {
            out.modules.push_back({.device = device.device,
                                   .module = calls.path(each.module),
                                   .class_name = calls.class_name(each.module),
                                   .calls = each.calls,
                                   .held = each.held,
                                   .outputs = each.outputs,
                                   .peak = each.peak,
                                   .saving = each.saving});
            savings.push_back(each);
        }
    }
    return savings;
}

}  // namespace

checkpoint_answer checkpoints_of(const report_input& input, const memory_summary& of) {
    checkpoint_answer out;
    const projected_timeline shown(input);
    const std::optional<step_time_subject> subject = step_time_of(shown, input);
    const bool has_steps = std::any_of(of.devices.begin(), of.devices.end(), [](const auto& d) { return d.has_steps; });
    if (!subject || !has_steps) {
        out.reason = "no steps were found";
        return out;
    }
    const timeline& data = subject->data;
    const forward_calls calls(data, subject->att, subject->original);
    if (calls.all().empty()) {
        out.reason = "no modules were recorded: " + std::string(what_records_modules(data));
        return out;
    }
    if (std::none_of(calls.all().begin(), calls.all().end(), [](const auto& call) { return call.has_backward(); })) {
        out.reason = "of no module's call the backward is known";
        return out;
    }
    const block_account account(data);
    const std::vector<checkpoint_saving> savings = add_modules(out, of, data, account, calls);
    if (savings.empty()) {
        out.reason = "no module would lower the peak by 1 % if it were checkpointed";
        return out;
    }
    const whole_steps counted = steps_that_count(data, subject->att, !subject->step_function.empty(), subject->scope);
    const whole_steps replayed = steps_to_replay(data, counted);
    std::vector<std::vector<added_work>> asked;
    for (std::size_t i = 0; i < savings.size(); ++i) {
        const std::vector<repeated_forward> repeated =
            repeated_forwards(data, account, calls, savings[i].module, replayed.steps);
        for (const repeated_forward& each : repeated) {
            out.modules[i].gpu_ns += static_cast<double>(each.gpu_ns) / static_cast<double>(replayed.steps.size());
            out.modules[i].host_ns += static_cast<double>(each.host_ns) / static_cast<double>(replayed.steps.size());
        }
        asked.push_back(added_by(repeated));
    }
    const added_times prices = price_of_added_work(data, subject->att, replayed, asked);
    out.steps = counted.steps.size();
    out.replayed = prices.steps;
    for (std::size_t i = 0; i < prices.longer_ns.size(); ++i) out.modules[i].cost_ns = prices.longer_ns[i];
    return out;
}

std::string checkpoint_text(const checkpoint_advice& of) {
    return fmt::format(
        "checkpointing {} ({} call{} a step) would lower the peak by {} to {}, and cost {:.3f} ms a step{}", of.module,
        of.calls, of.calls == 1 ? "" : "s", bytes_text(of.saving), bytes_text(of.peak), of.cost_ns / 1e6,
        of.waits_for_launches() ? " or more" : "");
}

}  // namespace prof
