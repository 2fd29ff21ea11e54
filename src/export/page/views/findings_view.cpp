// SPDX-License-Identifier: Apache-2.0
// What to change, what each change would gain, and sets of them together. The view is part of the answer.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "export/report/gain_words.hpp"
#include "report/capture_diagnosis.hpp"

namespace prof {
namespace {

constexpr std::size_t most_findings = 40;

page_json place_json(const finding_part& of, const diagnosis& in, std::int64_t begin_ns) {
    return {{"what", page_label(of.what)},
            {"place", page_label(place_name(of.place))},
            {"path", page_label(of.place)},
            {"line", page_label(of.line)},
            {"code", page_label(of.code)},
            {"cost_ns", std::llround(in.per_step(of.cost_ns))},
            {"count", static_cast<double>(of.count) / static_cast<double>(std::max<std::uint64_t>(in.steps, 1))},
            {"longest_ns", of.longest_ns},
            {"at_ns", of.longest_at_ns - begin_ns}};
}

// With the names of places that the first screen has.
std::string shown_title(const finding& of) {
    std::string out = of.title;
    for (const finding_part& part : of.parts) {
        const std::size_t at = part.place.empty() ? std::string::npos : out.find(part.place);
        if (at != std::string::npos) out.replace(at, part.place.size(), place_name(part.place));
    }
    return out;
}

// The idle time of the causes that the finding is about, a step: what goes at once if they go. None: of a rule that is
// about no cause of idle time.
std::optional<double> direct_idle_ns(const finding& of, const page_step& step) {
    const auto column = [&]() -> std::optional<step_column> {
        if (of.rule == "launch_bound") return step_column::launches;
        if (of.rule == "host_code" || of.rule == "data_loader") return step_column::cpu_code;
        if (of.rule == "synchronization" || of.rule == "blocking_copies") return step_column::syncs;
        if (of.rule == "pageable_copies") return step_column::unpinned_copies;
        if (of.rule == "allocation") return step_column::memory_calls;
        if (of.rule == "compilation" || of.rule == "graph_capture") return step_column::compilation;
        return {};
    }();
    if (!column || !step.has_gpu) return {};
    double out = 0;
    for (const page_part& part : step.parts) {
        if (part.idle == column) out += step.of_part(part.total_ns);
    }
    return out;
}

// Why a gain is larger than the idle time of its cause; "": it is not.
std::string beyond_text(const finding& of, const diagnosis& in, const page_step& step) {
    constexpr double much = 0.01;  // of a step
    const std::optional<double> direct_ns = direct_idle_ns(of, step);
    if (!direct_ns || in.per_step(of.gain_ns) - *direct_ns < much * step.step_ns) return {};
    constexpr std::string_view sooner =
        "the CPU gets on sooner, so that the GPU has work earlier in a later part of the step";
    if (step.unit.quanta(*direct_ns) == 0)
        return fmt::format("The GPU is not idle for this cause directly: {}", sooner);
    return fmt::format("That is more than the {} for which the GPU is idle for this cause: {}",
                       step.with_unit(*direct_ns), sooner);
}

// Names of phases stand before words that have them, too.
std::string without_repetition(std::string text) {
    constexpr std::string_view twice = "data loader loader";
    if (const std::size_t at = text.find(twice); at != std::string::npos) text.replace(at, twice.size(), "data loader");
    return text;
}

page_json finding_json(const finding& of, const page_input& input, const diagnosis& in) {
    const std::int64_t begin_ns = input.report.data.start_ns;
    const bool is_rough = of.trust == confidence::low || of.changes_results;
    page_json places = page_json::array();
    for (const finding_part& part : of.parts) places.push_back(place_json(part, in, begin_ns));
    std::string action = action_of(of, in.has_gpu_work);
    action.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(action.front())));
    return {{"rule", of.rule},
            {"action", page_sentence(action)},
            {"title", page_sentence(without_repetition(shown_title(of)))},
            {"noun", page_sentence(of.noun)},
            {"gain_ns", std::llround(in.per_step(of.gain_ns))},
            {"share", in.share_of(of.gain_ns)},
            {"cost_ns", std::llround(in.per_step(of.cost_ns))},
            {"steps", of.steps},
            {"confidence", to_string(of.trust)},
            {"group", is_rough ? "rough" : "sure"},
            {"changes_results", of.changes_results},
            {"bound", page_sentence(of.bound)},
            {"beyond", beyond_text(of, in, input.step)},
            {"places", std::move(places)},
            {"place_count", of.places},
            {"modules", page_texts(of.modules)},
            {"brief", page_sentence(of.brief_advice)},
            {"advice", page_texts(of.advice)}};
}

// What rules are called and look for, by name.
std::string purpose_of_rule(const std::string& name) {
    for (const rule_description& each : diagnosis_rules()) {
        if (each.name == name) return std::string(each.purpose);
    }
    return name;
}

// "launch_bound, communication: there was no GPU work", as a sentence for each cause.
std::vector<std::string> by_cause(const std::vector<std::string>& not_looked) {
    std::vector<std::string> out;
    for (const std::string& text : not_looked) {
        const std::size_t colon = text.find(": ");
        std::vector<std::string> causes;
        for (std::size_t at = 0; colon != std::string::npos && at < colon;) {
            const std::size_t end = std::min(text.find(", ", at), colon);
            const std::string name = text.substr(at, end - at);
            std::string purpose = purpose_of_rule(name);
            if (purpose == name) break;
            causes.push_back(std::move(purpose) + text.substr(colon));
            at = end + 2;
        }
        const bool has_all =
            !causes.empty() &&
            static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon), ',')) +
                    1 ==
                causes.size();
        if (has_all) {
            out.insert(out.end(), causes.begin(), causes.end());
        } else {
            out.push_back(text);
        }
    }
    return out;
}

// The bits of a set, by the place of each finding in the list.
std::optional<std::uint32_t> mask_of(const finding_set& set, const std::vector<finding>& list, std::size_t shown) {
    std::uint32_t out = 0;
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < shown; ++i) {
        if (list[i].bit == 0 || (set.findings & list[i].bit) == 0) continue;
        out |= std::uint32_t{1} << i;
        found |= list[i].bit;
    }
    if (found != set.findings) return {};
    return out;
}

}  // namespace

std::string action_of(const finding& of, bool has_gpu) {
    if (!has_gpu && of.rule == "host_code") return "make the CPU code of the step shorter";
    constexpr std::pair<std::string_view, std::string_view> actions[] = {
        {"data_loader", "have the next batch ready"},
        {"synchronization", "let the CPU run ahead instead of waiting for the GPU"},
        {"pageable_copies", "copy from page-locked memory"},
        {"blocking_copies", "copy without waiting for the copy"},
        {"small_copies", "copy at once what is copied in pieces"},
        {"allocation", "allocate no memory within a step"},
        {"compilation", "compile before the steps"},
        {"graph_capture", "capture CUDA graphs before the steps"},
        {"host_code", "take other CPU code out of the way of launches"},
        {"launch_bound", "launch fewer kernels, or many by one call"},
        {"communication", "hide communication behind computing"},
        {"copy_overlap", "copy while the GPU computes"},
        {"precision", "let matrix products use the tensor cores"},
        {"serial_streams", "let kernels of several streams run side by side"},
        {"uneven_steps", "find what holds up the few long steps"},
    };
    const auto* const found =
        std::find_if(std::begin(actions), std::end(actions), [&](const auto& each) { return each.first == of.rule; });
    if (found != std::end(actions)) return std::string(found->second);
    return of.noun.empty() ? of.title : "look at " + of.noun;
}

page_view make_findings_view(const page_input& input) {
    page_view out{.name = "findings", .data = page_json::object()};
    if (input.findings == nullptr) {
        out.why = input.no_findings;
        out.data["why"] = out.why;
        return out;
    }
    const diagnosis& of = *input.findings;
    const std::size_t shown = std::min(of.findings.size(), most_findings);
    constexpr std::size_t most_with_bits = 31;
    page_json& list = out.data["list"] = page_json::array();
    for (std::size_t i = 0; i < shown; ++i) list.push_back(finding_json(of.findings[i], input, of));
    page_json& sets = out.data["sets"] = page_json::array();
    for (const finding_set& set : of.sets) {
        const auto mask = mask_of(set, of.findings, std::min(shown, most_with_bits));
        if (mask) sets.push_back({*mask, std::llround(of.per_step(set.gain_ns))});
    }
    const bool has_all = shown < most_with_bits && of.sets.size() + 1 == std::size_t{1} << shown;
    out.data["is_complete"] = has_all;
    out.data["together_ns"] = std::llround(of.per_step(of.together_ns));
    out.data["step_ns"] = std::llround(of.step_ns);
    out.data["steps"] = of.steps;
    out.data["sampled"] = input.diagnosed.sampled();
    out.data["least_share"] = of.least_share;
    std::vector<std::string> looked;
    looked.reserve(of.looked.size());
    for (const std::string& name : of.looked) looked.push_back(purpose_of_rule(name));
    out.data["looked"] = page_texts(looked);
    out.data["not_looked"] = page_texts(by_cause(of.not_looked));
    out.data["remarks"] = page_texts(of.remarks);

    const page_step& step = input.step;
    if (shown == 0) return out;
    const priced_changes changes = priced_changes_of(of);
    std::string heading = "What to change. Gains of several do not add up";
    if (shown > 1) {
        heading += fmt::format("; all together a step would be shorter by {} at most",
                               step.with_unit(of.per_step(of.together_ns)));
    }
    out.blocks.emplace_back(page_paragraph{heading + "."});
    page_list items{.is_ordered = true};
    for (std::size_t i = 0; i < shown; ++i) {
        constexpr std::size_t widest = 200;
        std::string text =
            fmt::format("{} a step ({}), at best: {}", step.with_unit(of.per_step(of.findings[i].gain_ns)),
                        sentence_share(of.share_of(of.findings[i].gain_ns)), gain_text(changes.dearest[i], widest));
        if (!of.findings[i].brief_advice.empty()) text += ". Try " + of.findings[i].brief_advice;
        if (!of.findings[i].parts.empty() && !of.findings[i].parts.front().line.empty()) {
            text += ". The dearest place: " + of.findings[i].parts.front().line;
        }
        if (const std::string beyond = beyond_text(of.findings[i], of, step); !beyond.empty()) text += ". " + beyond;
        items.items.push_back(page_sentence(text));
    }
    out.blocks.emplace_back(std::move(items));
    return out;
}

}  // namespace prof
