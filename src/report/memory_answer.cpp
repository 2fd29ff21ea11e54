// SPDX-License-Identifier: Apache-2.0
#include "report/memory_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "record/memory.hpp"
#include "report/jax_memory.hpp"
#include "report/projected_timeline.hpp"

namespace prof {
namespace {

constexpr std::size_t most_uses = 4;    // in a sentence
constexpr std::size_t most_places = 3;  // likewise

using row_bytes = std::int64_t memory_row::*;

std::uint64_t peak_of(const memory_device& of) { return of.steps.empty() ? 0 : of.steps[of.highest].peak; }

std::string place_text(const std::string& path, const std::string& module) {
    if (module.empty()) return path.empty() ? "outside ranges" : path;
    return path.empty() ? module : fmt::format("{} ({})", module, path);
}

// Of C++ code without debug information there is no line, and its function stands for it.
std::string with_line(std::string place, const std::string& line, const std::string& code) {
    if (line.empty()) return place;
    const std::size_t colon = line.rfind(':');
    const bool has_number = colon != std::string::npos && colon + 1 < line.size() &&
                            line.find_first_not_of("0123456789", colon + 1) == std::string::npos;
    return fmt::format("{} at {}", place, has_number || code.empty() ? line : code);
}

// "activations 61 %, parameters 20 %"
std::string uses_text(const memory_device& of, row_bytes bytes) {
    std::map<memory_use, std::int64_t> by_use;
    std::int64_t total = 0;
    for (const memory_row& row : of.rows) {
        by_use[row.use] += row.*bytes;
        total += row.*bytes;
    }
    std::vector<std::pair<std::int64_t, memory_use>> order;
    order.reserve(by_use.size());
    for (const auto& [use, sum] : by_use) order.emplace_back(sum, use);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string out;
    for (std::size_t i = 0; i < order.size() && i < most_uses && total > 0; ++i) {
        const double share = static_cast<double>(order[i].first) / static_cast<double>(total);
        if (share < 0.005) break;
        out += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", to_string(order[i].second), 100 * share);
    }
    return out;
}

// "activations 2.10 GB of GPT2.h.*.mlp (forward), ..."
std::string holders_text(const memory_device& of, row_bytes bytes) {
    std::vector<const memory_row*> order;
    for (const memory_row& row : of.rows) {
        if (row.*bytes > 0) order.push_back(&row);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](const memory_row* a, const memory_row* b) { return a->*bytes > b->*bytes; });
    std::string out;
    for (std::size_t i = 0; i < order.size() && i < most_places; ++i) {
        const memory_row& row = *order[i];
        out += fmt::format("{}{} {}", i == 0 ? "" : ", ", to_string(row.use),
                           bytes_text(static_cast<std::uint64_t>(row.*bytes)));
        if (!row.path.empty() || !row.module.empty()) {
            out += " of " + with_line(place_text(row.path, row.module), row.line, row.code);
        }
    }
    if (order.size() > most_places) out += fmt::format(", {} more", order.size() - most_places);
    return out;
}

std::string limit_text(const memory_device& of) { return of.limit ? " of " + bytes_text(*of.limit) : std::string(); }

memory_call call_kind(const call_namer& names, const timeline_api_call& call) {
    const std::string name = names(call);
    if (name.starts_with("cudaMalloc") || name.starts_with("cuMemAlloc")) return memory_call::allocates;
    if (name.starts_with("cudaFree") || name.starts_with("cuMemFree")) return memory_call::frees;
    return memory_call::other;
}

// The device of the last failure, and that failure.
std::pair<const memory_device*, const memory_failure*> last_failure(const memory_summary& of) {
    std::pair<const memory_device*, const memory_failure*> out{nullptr, nullptr};
    for (const memory_device& device : of.devices) {
        if (device.failures.empty()) continue;
        const memory_failure& last = device.failures.back();
        if (out.second == nullptr || last.time_ns >= out.second->time_ns) out = {&device, &last};
    }
    return out;
}

void add_growth(const memory_device& of, bool is_of_cuda, std::vector<memory_finding>& out) {
    for (const memory_row& row : of.rows) {
        if (row.growth <= 0) continue;
        out.push_back(
            {.device = of.device,
             .rule = "memory_growth",
             .title = fmt::format("memory grows by {} a step, by blocks that are born in {} and stay",
                                  bytes_text(static_cast<std::uint64_t>(row.growth)),
                                  with_line(place_text(row.path, row.module), row.growth_line, row.growth_code)),
             .bytes = row.growth,
             .path = row.path,
             .module = row.module,
             .line = row.growth_line,
             .code = row.growth_code,
             .advice = is_of_cuda ? "give it back, or have it once and use it again in each step"
                                  : "a tensor is kept from step to step there, as by a list of losses: keep "
                                    "loss.item() or loss.detach(), and drop what is not needed"});
    }
}

void add_fragmentation(const memory_device& of, std::vector<memory_finding>& out) {
    constexpr double much = 0.2;
    constexpr std::uint64_t least = std::uint64_t{32} << 20;
    if (!of.failures.empty()) {
        const memory_failure& last = of.failures.back();
        const std::uint64_t unused = last.reserved - std::min(last.reserved, last.allocated);
        if (unused >= last.asked && last.asked != 0) {
            out.push_back({.device = of.device,
                           .rule = "memory_fragmentation",
                           .title = fmt::format("memory ran out although {} of what was reserved were not in use, more "
                                                "than the {} asked for: no piece of it was large enough",
                                                bytes_text(unused), bytes_text(last.asked)),
                           .bytes = static_cast<double>(unused),
                           .path = last.path,
                           .module = last.module,
                           .line = last.line,
                           .code = last.code,
                           .advice = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"});
            return;
        }
    }
    if (of.steps.empty()) return;
    const auto reserved = static_cast<double>(peak_of(of) + of.unused_at_peak);
    if (of.unused_at_peak < least || static_cast<double>(of.unused_at_peak) < much * reserved) return;
    out.push_back(
        {.device = of.device,
         .rule = "memory_fragmentation",
         .title = fmt::format("{} of what the allocator has reserved are in no use at the peak ({:.0f} %)",
                              bytes_text(of.unused_at_peak), 100 * static_cast<double>(of.unused_at_peak) / reserved),
         .bytes = static_cast<double>(of.unused_at_peak),
         .advice = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and sizes that do not change from step "
                   "to step"});
}

void add_segments(const memory_device& of, std::vector<memory_finding>& out) {
    if (!of.has_steps) return;
    std::uint64_t segments = 0, bytes = 0, in_steps = 0;
    for (const memory_step& step : of.steps) {
        segments += step.segments;
        bytes += step.segment_bytes;
        in_steps += step.segments != 0 ? 1 : 0;
    }
    // Of a few steps the warm-up is not known to be over.
    if (in_steps < 2 || 4 * in_steps < of.steps.size()) return;
    out.push_back({.device = of.device,
                   .rule = "memory_allocation",
                   .title = fmt::format("the allocator reserves more memory of the driver in {} of {} steps, {} times, "
                                        "which makes the host wait",
                                        in_steps, of.steps.size(), segments),
                   .bytes = static_cast<double>(bytes),
                   .advice = "no torch.cuda.empty_cache() in the loop, and sizes that do not change; "
                             "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"});
}

void add_retries(const memory_device& of, std::vector<memory_finding>& out) {
    if (of.retries == 0) return;
    out.push_back({.device = of.device,
                   .rule = "memory_retries",
                   .title = fmt::format("{} times the GPU was full, and the allocator gave cached memory back to the "
                                        "driver and asked again",
                                        with_thousands(of.retries)),
                   .bytes = static_cast<double>(of.retries),
                   .advice = "a smaller batch, or checkpointing, so that the peak is below the limit"});
}

}  // namespace

namespace {

// Calls what(data, att, options) with what reports on memory are of.
template <typename TWhat>
void with_subject(const report_input& input, TWhat&& what) {
    const projected_timeline shown(input);
    const std::optional<step_time_subject> of = step_time_of(shown, input);
    if (!of) return;
    memory_options options{.step_function = of->step_function, .scope = of->scope, .original = &of->original};
    if (input.call_name) {
        options.call_kind = [&input](const timeline_api_call& call) { return call_kind(input.call_name, call); };
    }
    what(of->data, of->att, options);
}

}  // namespace

const memory_summary& input_memory::summary() {
    if (kept_.summary) return *kept_.summary;
    kept_.summary.emplace();
    with_subject(input_, [&](const timeline& data, const attribution& att, const memory_options& options) {
        if (!data.memory.empty()) kept_.summary = measure_memory(data, att, options);
    });
    return *kept_.summary;
}

const checkpoint_answer& input_memory::checkpoints() {
    if (!kept_.checkpoints) kept_.checkpoints = checkpoints_of(input_, summary());
    return *kept_.checkpoints;
}

std::vector<memory_finding> input_memory::findings() { return memory_findings(summary(), checkpoints()); }

std::vector<cuda_memory_row> cuda_memory_of(const report_input& input, const memory_summary& of) {
    std::vector<cuda_memory_row> out;
    with_subject(input, [&](const timeline& data, const attribution& att, const memory_options& options) {
        out = cuda_memory_rows(data, att, options, of);
    });
    return out;
}

std::string known_outside_text(const std::vector<cuda_memory_row>& rows, std::uint32_t device) {
    std::map<std::string, std::uint64_t> by_caller;
    for (const cuda_memory_row& row : rows) {
        if (row.device != device || !is_of_gpu(row.kind) || row.is_of_allocator || row.at_peak == 0) continue;
        by_caller[row.caller.empty() ? "callers that are not known" : row.caller] += row.at_peak;
    }
    std::vector<std::pair<std::uint64_t, std::string>> order;
    for (const auto& [caller, bytes] : by_caller) order.emplace_back(bytes, caller);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::string out;
    for (std::size_t i = 0; i < order.size() && i < most_places; ++i) {
        out += fmt::format("{}{} by {}", i == 0 ? "" : ", ", bytes_text(order[i].first), order[i].second);
    }
    if (order.size() > most_places) out += fmt::format(", {} more", order.size() - most_places);
    return out;
}

std::string peak_text(const memory_summary& of) {
    const memory_device* const device = fullest(of);
    if (device == nullptr || device->steps.empty()) return {};
    const memory_step& highest = device->steps[device->highest];
    std::string out = bytes_text(highest.peak) + limit_text(*device);
    if (device->growth > 0) {
        out += fmt::format(" and {} more each step", bytes_text(static_cast<std::uint64_t>(device->growth)));
    }
    if (of.devices.size() > 1) out += fmt::format(", GPU {}", device->device);
    if (device->has_steps) out += fmt::format(", step {}", highest.number);
    const std::string place = place_text(highest.peak_path, highest.peak_module);
    out += place == "outside ranges" ? ", outside ranges" : ", in " + place;
    if (const std::string uses = uses_text(*device, &memory_row::at_peak); !uses.empty()) out += ": " + uses;
    return terminal_safe(out);
}

std::string failure_text(const memory_summary& of) {
    const auto [device, failure] = last_failure(of);
    if (failure == nullptr) return {};
    std::string out = fmt::format("out of GPU memory in {}: {} were asked for, with {} allocated",
                                  with_line(place_text(failure->path, failure->module), failure->line, failure->code),
                                  bytes_text(failure->asked), bytes_text(failure->allocated));
    if (!of.is_of_cuda) out += fmt::format(" and {} reserved", bytes_text(failure->reserved));
    if (device->limit) out += fmt::format(", of a GPU with {}", bytes_text(*device->limit));
    if (device->outside && device->outside->at_failure) {
        const std::uint64_t elsewhere = *device->outside->at_failure;
        out += fmt::format(", {} of them in use outside the allocator", bytes_text(elsewhere));
        const bool would_fit = failure->reserved + elsewhere + failure->asked <= device->outside->total;
        if (would_fit) out += ", so that it would have fit: a limit of the program's, or memory that others had then";
    }
    if (const std::string uses = uses_text(*device, &memory_row::at_failure); !uses.empty()) {
        out += fmt::format("; alive were {}: {}", uses, holders_text(*device, &memory_row::at_failure));
    }
    std::size_t count = 0;
    for (const memory_device& each : of.devices) count += each.failures.size();
    if (count > 1) out += fmt::format("; it is the last of {} such errors", count);
    return out + " (--report memory has all)";
}

std::string end_text(const memory_summary& of) {
    const memory_device* device = nullptr;
    for (const memory_device& each : of.devices) {
        if (device == nullptr || each.end_allocated > device->end_allocated) device = &each;
    }
    if (device == nullptr || device->end_allocated == 0) return {};
    const std::string reserved =
        of.is_of_cuda ? std::string() : fmt::format(" and {} reserved", bytes_text(device->end_reserved));
    return fmt::format("at its end {} of GPU memory{} were allocated{}: {}: {} (--report memory has all)",
                       bytes_text(device->end_allocated), limit_text(*device), reserved,
                       uses_text(*device, &memory_row::at_end), holders_text(*device, &memory_row::at_end));
}

// "found nothing" and "could not look" are two sentences.
std::string no_allocation_text(const timeline& data) {
    if (data.property("allocations") != "on") return "no allocation was recorded: `prof run --allocations on` does";
    const bool saw_calls = data.property("cuda_memory") == "on";  // older captures did not
    if (data.property("allocator") == "pytorch") {
        return saw_calls ? "PyTorch's allocator was observed, and gave out no memory; nor had a call of CUDA any"
                         : "PyTorch's allocator was observed, and gave out no memory: the program does not use it, or "
                           "chose cudaMallocAsync, which does not report";
    }
    return std::string(
               "no allocation was recorded: PyTorch's caching allocator was not in the program when CUDA "
               "began") +
           (saw_calls ? ", and no call of CUDA had memory since" : "");
}

bool is_killed(const timeline& data) {
    return data.quality.died || (!data.quality.ended && data.quality.process == process_state::gone);
}

namespace {

// Of the modules that would save about as much as the one that saves most, the one that costs least; null: none would
// save a tenth of the peak.
const checkpoint_advice* best_checkpoint(const memory_device& of, const checkpoint_answer& checkpoints) {
    constexpr double least = 0.1;   // of the peak
    constexpr double nearly = 0.9;  // of the most
    const checkpoint_advice* best = nullptr;
    std::uint64_t most = 0;
    for (const checkpoint_advice& each : checkpoints.modules) {
        if (each.device == of.device) most = std::max(most, each.saving);
    }
    for (const checkpoint_advice& each : checkpoints.modules) {
        if (each.device != of.device || static_cast<double>(each.saving) < nearly * static_cast<double>(most)) continue;
        if (best == nullptr || each.cost_ns < best->cost_ns) best = &each;
    }
    const bool is_much =
        best != nullptr && static_cast<double>(best->saving) >= least * static_cast<double>(peak_of(of));
    return is_much ? best : nullptr;
}

void add_checkpoint(const memory_device& of, const checkpoint_answer& checkpoints, std::vector<memory_finding>& out) {
    const checkpoint_advice* const best = best_checkpoint(of, checkpoints);
    if (best == nullptr) return;
    out.push_back({.device = of.device,
                   .rule = "memory_checkpoint",
                   .title = checkpoint_text(*best),
                   .bytes = static_cast<double>(best->saving),
                   .module = best->module,
                   .advice = "torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False) where it is called, if "
                             "memory is short or a larger batch is worth it (--report memory_checkpoints has others)"});
}

void add_failure(const memory_device& of, bool is_of_cuda, const checkpoint_answer& checkpoints,
                 std::vector<memory_finding>& out) {
    if (of.failures.empty()) return;
    const memory_failure& last = of.failures.back();
    const checkpoint_advice* const best = best_checkpoint(of, checkpoints);
    out.push_back(
        {.device = of.device,
         .rule = "out_of_memory",
         .title = fmt::format("memory ran out in {}: {} were asked for, with {} {}",
                              with_line(place_text(last.path, last.module), last.line, last.code),
                              bytes_text(last.asked), bytes_text(last.reserved), is_of_cuda ? "allocated" : "reserved"),
         .bytes = static_cast<double>(last.asked),
         .path = last.path,
         .module = last.module,
         .line = last.line,
         .code = last.code,
         .advice = best == nullptr ? "a smaller batch, or checkpointing of what holds most (--report memory)"
                                   : "a smaller batch, or checkpointing of " + best->module});
}

}  // namespace

std::vector<memory_finding> memory_findings(const memory_summary& of, const checkpoint_answer& checkpoints) {
    std::vector<memory_finding> out;
    for (const memory_device& device : of.devices) {
        add_failure(device, of.is_of_cuda, checkpoints, out);
        add_growth(device, of.is_of_cuda, out);
        if (of.is_of_cuda) continue;
        add_fragmentation(device, out);
        add_segments(device, out);
        add_retries(device, out);
        add_checkpoint(device, checkpoints, out);
    }
    return out;
}

void add_memory(report_document& document, const report_input& input) {
    const jax_memory jax = jax_memory_of(input.data);
    if (const std::string error = jax_error_text(jax, input.data); !error.empty()) {
        document.capture.warnings.insert(document.capture.warnings.begin(), error);
    }
    const std::vector<memory_event>& events = input.data.memory;
    if (events.empty()) return;
    const bool has_answer = std::any_of(document.parts.begin(), document.parts.end(), [](const report_part& part) {
        return block_in<answer_block>(part) != nullptr;
    });
    const bool has_failed = std::any_of(events.begin(), events.end(),
                                        [](const memory_event& each) { return each.kind == memory_kind::failed; });
    if (!has_answer && !has_failed && !is_killed(input.data)) return;  // as reports that programs ask for one by one
    input_memory memory(input);
    const memory_summary& found = memory.summary();
    // JAX's allocator has most of a GPU in one piece, which says nothing of the program.
    std::string peak = found.is_of_cuda ? jax_peak_text(jax) : std::string();
    if (peak.empty()) peak = peak_text(found);
    for (report_part& part : document.parts) {
        if (auto* const answer = block_in<answer_block>(part)) answer->memory = peak;
    }
    if (const std::string failure = failure_text(found); !failure.empty()) {
        document.capture.warnings.insert(document.capture.warnings.begin(), failure);
    } else if (is_killed(input.data)) {
        if (const std::string end = end_text(found); !end.empty()) document.capture.facts.push_back(end);
    }
}

}  // namespace prof
