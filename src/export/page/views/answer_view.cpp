// SPDX-License-Identifier: Apache-2.0
// How long a step is, what the GPU does in it, and why not more.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/breakdown/step_breakdown.hpp"
#include "analysis/step_table/make_step_table.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "export/report/gain_words.hpp"
#include "export/report/screen/first_screen.hpp"
#include "report/time_answer.hpp"

namespace prof {
namespace {

constexpr std::size_t most_places = 12;  // of a cause
constexpr double much_of_step = 0.9;     // busy: then the GPU is the limit
constexpr double much_communication = 0.05;

struct idle_place {
    std::string text{};
    idle_cause cause = idle_cause::unknown;
    std::int64_t ns = 0;
    std::uint64_t pieces = 0;
    std::int64_t longest_ns = 0;
    std::string did{};  // what the thread did
};

// Where the host was, without the cause, which is its part's.
std::string place_text(const breakdown_row& row, const call_namer& call_name) {
    const std::string call = call_text(row, call_name);
    const idle_cause cause = row.cause;
    if (cause == idle_cause::loader || cause == idle_cause::latency || cause == idle_cause::queued ||
        cause == idle_cause::other_gpu || cause == idle_cause::not_started || cause == idle_cause::unknown) {
        return std::string(cause_words(cause));
    }
    const std::string place = place_name(row.part);
    return call.empty() ? place : call + ", " + place;
}

// By part, largest first; of one text, one place.
std::map<std::size_t, std::vector<idle_place>> idle_places(const page_input& input) {
    std::map<std::size_t, std::vector<idle_place>> out;
    const std::optional<step_breakdown> broken_down = breakdown_of(input.shown, input.report);
    if (!broken_down) return out;
    std::map<std::pair<idle_cause, std::string>, idle_place> places;
    for (const breakdown_row& row : broken_down->rows) {
        if (row.use != time_use::idle) continue;
        std::string text = place_text(row, input.report.call_name);
        idle_place& place = places[{row.cause, text}];
        place.text = std::move(text);
        place.cause = row.cause;
        place.ns += row.total_ns;
        place.pieces += row.pieces;
        place.longest_ns = std::max(place.longest_ns, row.longest_ns);
        if (place.did.empty()) place.did = shares_text(row.did);
    }
    for (auto& [key, place] : places) out[input.step.part_of(place.cause)].push_back(std::move(place));
    for (auto& [part, list] : out) {
        std::stable_sort(list.begin(), list.end(),
                         [](const idle_place& a, const idle_place& b) { return a.ns > b.ns; });
    }
    return out;
}

std::string_view wait_words(const page_part& part) noexcept {
    if (part.is_loader) return "it waits for the data loader";
    switch (*part.idle) {
        case step_column::launches:
            return "it waits for launches";
        case step_column::cpu_code:
            return "it waits for CPU code";
        case step_column::syncs:
            return "the CPU waits for it, and has launched nothing else";
        case step_column::unpinned_copies:
            return "it waits for copies from unpinned memory";
        case step_column::memory_calls:
            return "it waits for calls that allocate or free memory";
        case step_column::compilation:
            return "it waits for compilation";
        case step_column::short_gaps:
            return "it is in short gaps between operations that were launched in time";
        default:
            break;
    }
    return "it is idle for reasons that were not recorded";
}

struct figures {
    double busy_ns = 0;
    double communication_ns = 0;
    double idle_ns = 0;
    const page_part* largest_busy = nullptr;
    const page_part* largest_idle = nullptr;
};

figures figures_of(const page_step& step) {
    figures out;
    for (const page_part& part : step.parts) {
        const double ns = step.of_part(part.total_ns);
        const auto take = [&](const page_part*& largest) {
            if (largest == nullptr || part.total_ns > largest->total_ns) largest = &part;
        };
        if (part.idle) {
            out.idle_ns += ns;
            take(out.largest_idle);
        } else {
            out.busy_ns += ns;
            if (part.kind == "communication") out.communication_ns += ns;
            if (part.kind == "busy" || part.kind == "host") take(out.largest_busy);
        }
    }
    return out;
}

bool communicates(const page_step& step, const figures& of) { return of.communication_ns > 0.01 * step.step_ns; }

// Of what the heading says that it works, or is busy.
bool is_nearly_always_busy(const page_step& step, const figures& of) {
    return of.busy_ns - (communicates(step, of) ? of.communication_ns : 0) > much_of_step * step.step_ns;
}

std::string sentence_of(const page_input& input, const figures& of) {
    const page_step& step = input.step;
    if (!input.answer || !input.answer->where || input.answer->where->rows.empty()) {
        return "Nothing that takes time was recorded.";
    }
    const std::string length = step.sentence(step.step_ns);
    if (!step.has_gpu) {
        if (!step.has_steps) return fmt::format("{} were recorded. No work on a GPU is in it.", length);
        return fmt::format("A step takes {} on the CPU. No work on a GPU was recorded.", length);
    }
    const bool is_apart = communicates(step, of);
    const double working_ns = of.busy_ns - (is_apart ? of.communication_ns : 0);
    return fmt::format("{} {}{}. The GPU {} for {} of it, {}.", step.has_steps ? "A step takes" : "The recording is",
                       length, step.has_steps ? "" : " long", is_apart ? "works" : "is busy", step.sentence(working_ns),
                       sentence_share(step.step_ns > 0 ? working_ns / step.step_ns : 0));
}

// What the rest of the step is, the larger first, where it communicates much.
std::string communication_and_idle(const page_step& step, const figures& of) {
    const std::string communicates =
        fmt::format("For {} more it does nothing but communicate", step.sentence(of.communication_ns));
    if (of.largest_idle == nullptr || !(of.idle_ns > much_communication * step.step_ns)) return communicates + ".";
    const double ns = step.of_part(of.largest_idle->total_ns);
    std::string idle = fmt::format("it is idle for {}", step.sentence(of.idle_ns));
    idle += fmt::format(": for {} of that {} ({})", ns > 0.5 * of.idle_ns ? "most" : "the largest part",
                        wait_words(*of.largest_idle), step.sentence(ns));
    if (of.idle_ns <= of.communication_ns) return communicates + ", and " + idle + ".";
    idle.front() = 'I';
    return idle + ". " + communicates + ".";
}

std::string reason(const page_step& step, const figures& of) {
    if (of.communication_ns > much_communication * step.step_ns) return communication_and_idle(step, of);
    if (is_nearly_always_busy(step, of)) {
        std::string out = "It is busy almost all the time, so that a much faster step needs less work on it";
        if (of.largest_busy == nullptr) return out + ".";
        const double ns = step.of_part(of.largest_busy->total_ns);
        return fmt::format("{}; {} of that work is in {} ({}).", out,
                           ns > 0.5 * of.busy_ns ? "most" : "the largest part", of.largest_busy->name,
                           step.sentence(ns));
    }
    if (of.largest_idle == nullptr) return {};
    const double ns = step.of_part(of.largest_idle->total_ns);
    return fmt::format("For {} of {} {} ({} of {}).", ns > 0.5 * of.idle_ns ? "most" : "the largest part",
                       communicates(step, of) ? "the time in which it is idle," : "the rest",
                       wait_words(*of.largest_idle), step.sentence(ns), step.sentence(of.idle_ns));
}

// Without GPU work.
std::string host_reason(const page_step& step, const figures& of) {
    if (of.largest_busy == nullptr || of.largest_busy->total_ns == 0 || !(step.step_ns > 0)) return {};
    const double ns = step.of_part(of.largest_busy->total_ns);
    return fmt::format("The CPU spends {} of it in {} ({}, {}). The times below are the CPU's, by phase.",
                       ns > 0.5 * step.step_ns ? "most" : "the largest part", of.largest_busy->name, step.sentence(ns),
                       sentence_share(ns / step.step_ns));
}

std::string first_gain(const page_input& input, bool is_busy) {
    if (input.findings == nullptr) return {};
    if (input.findings->findings.empty()) {
        return fmt::format("Nothing that libprof looks for would shorten a step by {} or more.",
                           sentence_share(input.findings->least_share));
    }
    const finding& first = input.findings->findings.front();
    const double left_ns = std::max(input.step.step_ns - input.findings->per_step(first.gain_ns), 0.0);
    if (is_busy) {
        return fmt::format("The first change to try would still save {} at best: {}.",
                           input.step.sentence(input.findings->per_step(first.gain_ns)),
                           action_of(first, input.findings->has_gpu_work));
    }
    return fmt::format("The first change to try: {}. That would leave a step of {} at best.",
                       action_of(first, input.findings->has_gpu_work), input.step.sentence(left_ns));
}

// Of which process of a job all this is, and who waits for it.
std::string member_sentence(const page_input& input) {
    if (input.job == nullptr) return {};
    std::string verdict = job_verdict(input);
    if (verdict.empty()) {
        std::vector<const report_document*> documents;
        for (const report_document& each : *input.job) documents.push_back(&each);
        verdict = figures_of_job(documents, input.copies()).verdict;
    }
    const captured_process& member = (*input.job)[input.shown_member].capture.process;
    const std::string which = member.rank ? fmt::format("rank {}", *member.rank) : "one process";
    return fmt::format("{}. All figures here but those of the job are of {}.",
                       verdict.empty() ? fmt::format("The job has {} processes", input.job->size()) : verdict, which);
}

page_table budget(const page_input& input, const std::map<std::size_t, std::vector<idle_place>>& places) {
    const page_step& step = input.step;
    page_table out{.caption = "What a step consists of"};
    out.columns = {{"part"}, {fmt::format("{} a step", step.unit.name), true}, {"of the step", true}};
    const auto share = [&](double ns) { return sentence_share(step.step_ns > 0 ? ns / step.step_ns : 0); };
    // Each part has a row, the smallest ones together.
    std::vector<std::size_t> small;
    double small_ns = 0;
    for (std::size_t index = 0; index < step.parts.size(); ++index) {
        const double ns = step.of_part(step.parts[index].total_ns);
        if (step.parts[index].total_ns == 0 || ns >= 0.0005 * step.step_ns) continue;
        small.push_back(index);
        small_ns += ns;
    }
    for (std::size_t index = 0; index < step.parts.size(); ++index) {
        const page_part& part = step.parts[index];
        const double ns = step.of_part(part.total_ns);
        if (part.total_ns == 0 || (ns < 0.0005 * step.step_ns && small.size() > 1)) continue;
        out.rows.push_back({part.idle ? "idle: " + part.name : part.name, step.text(ns), share(ns)});
        if (!part.idle) continue;
        const auto found = places.find(index);
        if (found == places.end()) continue;
        constexpr std::size_t most_rows = 4;
        double rest_ns = ns;
        std::size_t rest = found->second.size();
        for (const idle_place& place : found->second) {
            const double place_ns = step.of_part(place.ns);
            const bool is_small = place_ns < 0.005 * step.step_ns || found->second.size() - rest == most_rows;
            if (is_small && (rest > 1 || rest == found->second.size())) break;
            rest_ns -= place_ns;
            --rest;
            const std::string did = place.did.empty() ? "" : "; the thread " + place.did + ", by samples";
            out.rows.push_back({"— " + page_label(place.text + did), step.text(place_ns), share(place_ns)});
        }
        if (rest != 0 && rest != found->second.size()) {
            out.rows.push_back({fmt::format("— others ({})", rest), step.text(rest_ns), share(rest_ns)});
        }
    }
    if (small.size() > 1) {
        out.rows.push_back({fmt::format("others ({})", small.size()), step.text(small_ns), share(small_ns)});
    }
    out.sums = {step.has_steps ? "whole step" : "whole recording", step.text(step.step_ns), "100 %"};
    return out;
}

}  // namespace

page_view make_answer_view(const page_input& input) {
    const page_step& step = input.step;
    const figures of = figures_of(step);
    page_view out{.name = "answer", .heading = sentence_of(input, of), .link = "Answer"};
    page_json& data = out.data = page_json::object();
    data["sentence"] = out.heading;
    if (std::string text = step.has_gpu ? reason(step, of) : host_reason(step, of); !text.empty()) {
        out.lead.push_back(std::move(text));
    }
    if (std::string text = first_gain(input, step.has_gpu && is_nearly_always_busy(step, of)); !text.empty())
        out.lead.push_back(std::move(text));
    if (std::string text = member_sentence(input); !text.empty()) out.lead.push_back(std::move(text));
    data["lead"] = out.lead;
    data["has_steps"] = step.has_steps;
    data["devices"] = step.has_gpu ? static_cast<std::uint64_t>(step.devices) : 0;
    data["step_ns"] = step.whole_ns(step.step_ns);
    data["busy_ns"] = step.whole_ns(step.has_gpu ? of.busy_ns : 0);
    data["communication_ns"] = step.whole_ns(of.communication_ns);
    data["idle_ns"] = step.whole_ns(of.idle_ns);
    if (input.answer == nullptr || !input.answer->where) return out;
    data["by_gpu"] = input.answer->where->by_gpu;
    data["host_ns"] = step.whole_ns(step.cpu(input.answer->where->cpu_ns));
    data["steps"] = step.has_steps ? input.answer->where->steps : 0;
    if (const std::optional<step_figures>& figures = input.answer->step) {
        data["warm_up"] = figures->warm_up;
        data["what"] = what_a_step_is(*figures);
        data["median_ns"] = step.whole_ns(figures->median_ns);
        data["min_ns"] = figures->min_ns;
        data["max_ns"] = figures->max_ns;
        out.details = fmt::format("Mean of {} steps, {}; the median is {}, the shortest {}, the longest {}.",
                                  figures->steps, what_a_step_is(*figures), step.with_unit(figures->median_ns),
                                  step.text(static_cast<double>(figures->min_ns)),
                                  step.text(static_cast<double>(figures->max_ns)));
    }
    const std::map<std::size_t, std::vector<idle_place>> places = idle_places(input);
    page_json& parts = data["parts"] = page_json::array();
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
        const page_part& part = step.parts[i];
        if (part.total_ns == 0) continue;
        page_json of_part{{"part", i}, {"ns", step.whole_ns(step.of_part(part.total_ns))}};
        if (const auto found = part.idle ? places.find(i) : places.end(); found != places.end()) {
            of_part["place_count"] = found->second.size();
            page_json& list = of_part["places"] = page_json::array();
            for (std::size_t p = 0; p < std::min(found->second.size(), most_places); ++p) {
                const idle_place& place = found->second[p];
                list.push_back({{"text", page_label(place.text)},
                                {"cause", static_cast<int>(place.cause)},
                                {"ns", step.whole_ns(step.of_part(place.ns))},
                                {"pieces", static_cast<double>(place.pieces) / step.count},
                                {"longest_ns", place.longest_ns}});
                if (!place.did.empty()) list.back()["did"] = page_label(place.did);
            }
        }
        parts.push_back(std::move(of_part));
    }
    if (const std::optional<run_parts>& run = input.answer->run) {
        data["run"] = {{"recorded_ns", run->recorded_ns}, {"startup_ns", run->startup_ns},
                       {"warm_up_ns", run->warm_up_ns},   {"steps_ns", run->steps_ns},
                       {"between_ns", run->between_ns},   {"end_ns", run->end_ns}};
    }
    out.blocks.emplace_back(budget(input, places));
    return out;
}

}  // namespace prof
