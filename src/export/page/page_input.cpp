// SPDX-License-Identifier: Apache-2.0
#include "export/page/page_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "analysis/step_table/make_step_table.hpp"
#include "analysis/step_table/step_cells.hpp"
#include "base/apportioned.hpp"
#include "export/page/page_text.hpp"
#include "export/report/screen/screen_table.hpp"

namespace prof {
namespace {

constexpr std::size_t most_phases = 8;

std::string colour_of_phase(std::string_view name, step_row_kind kind) {
    if (kind == step_row_kind::rest) return "other";
    constexpr std::pair<std::string_view, std::string_view> known[] = {
        {"forward", "forward"}, {"backward", "backward"},     {"optimizer", "optimizer"}, {"Optimizer", "optimizer"},
        {"data", "data"},       {"evaluation", "evaluation"}, {"recompute", "recompute"}, {"train_step", "a"},
    };
    for (const auto& [begin, colour] : known) {
        if (name.starts_with(begin)) return std::string(colour);
    }
    return {};
}

// In the order of a step: data, forward, backward, what follows; others by size.
int rank_of(const page_part& part) {
    constexpr std::string_view order[] = {"data", "forward", "recompute", "backward", "optimizer"};
    for (int i = 0; i < 5; ++i) {
        if (part.colour == order[i]) return i;
    }
    return part.colour == "other" ? 100 : 50;
}

page_part part_of_row(const step_series& from, const std::vector<screen_node>& tree, bool has_steps) {
    step_table_row row;
    row.name = from.name;
    row.kind = from.kind;
    page_part out{.key = "phase:" + page_label(page_name(from.name)), .by_step = from.ns};
    out.name = shown_row_name(row, has_steps);
    out.colour = colour_of_phase(from.name, from.kind);
    // As the first screen calls it: "optimizer: AdamW.step".
    const auto same = std::find_if(tree.begin(), tree.end(), [&](const screen_node& node) {
        return node.own_name == out.name && node.figures.kind == from.kind;
    });
    if (same != tree.end()) out.name = same->name;
    out.name = page_label(out.name);
    out.total_ns = std::accumulate(from.ns.begin(), from.ns.end(), std::int64_t{0});
    return out;
}

// The largest keep their own place; the others are one.
void fold_small(std::vector<page_part>& parts, std::string_view kind) {
    std::stable_sort(parts.begin(), parts.end(),
                     [](const page_part& a, const page_part& b) { return a.total_ns > b.total_ns; });
    if (parts.size() > most_phases) {
        page_part rest{.key = "phase:(others)", .name = "others", .colour = "other"};
        rest.by_step.resize(parts.front().by_step.size());
        for (std::size_t i = most_phases - 1; i < parts.size(); ++i) {
            rest.total_ns += parts[i].total_ns;
            for (std::size_t s = 0; s < rest.by_step.size(); ++s) rest.by_step[s] += parts[i].by_step[s];
        }
        parts.resize(most_phases - 1);
        parts.push_back(std::move(rest));
    }
    constexpr std::string_view free_colours[] = {"a", "b", "c"};
    std::size_t used = 0;
    for (page_part& part : parts) {
        part.kind = kind;
        if (part.colour.empty()) part.colour = used < std::size(free_colours) ? free_colours[used++] : "other";
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const page_part& a, const page_part& b) { return rank_of(a) < rank_of(b); });
}

std::string idle_key(step_column use) {
    switch (use) {
        case step_column::launches:
            return "launches";
        case step_column::cpu_code:
            return "cpu_code";
        case step_column::syncs:
            return "syncs";
        case step_column::unpinned_copies:
            return "unpinned_copies";
        case step_column::memory_calls:
            return "memory_calls";
        case step_column::compilation:
            return "compilation";
        case step_column::short_gaps:
            return "short_gaps";
        default:
            return "other";
    }
}

}  // namespace

std::int64_t page_step::whole_ns(double ns) const noexcept {
    constexpr double most = 9e15;  // of damaged captures
    return std::llround(std::clamp(ns, -most, most));
}

std::size_t page_step::part_of(idle_cause cause) const noexcept {
    const step_column use = column_of_cause(cause);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].idle == use && parts[i].is_loader == (cause == idle_cause::loader)) return i;
    }
    return SIZE_MAX;
}

std::string page_step::sentence(double ns) const {
    const auto [name, unit_ns] = unit_of_step(step_ns);
    const double value = ns / unit_ns;
    const int decimals = std::abs(value) >= 99.95    ? 0
                         : std::abs(value) >= 9.995  ? 1
                         : std::abs(value) >= 0.9995 ? 2
                                                     : 3;
    return fmt::format("{:.{}f} {}", value, decimals, name == "us" ? "µs" : name);
}

page_step make_page_step(const page_input& of) {
    page_step out;
    if (of.answer == nullptr || !of.answer->where || !of.subject) return out;
    const step_table& where = *of.answer->where;
    out.has_steps = where.has_steps;
    out.has_gpu = where.devices != 0;
    out.count = static_cast<double>(std::max<std::uint64_t>(where.steps, 1));
    out.devices = std::max<std::uint32_t>(where.devices, 1);
    out.step_ns = out.has_gpu ? out.gpu(where.wall_ns) : out.cpu(where.cpu_ns);
    out.unit = screen_unit::for_step(out.step_ns);
    if (out.unit.name == "us") out.unit.name = "µs";  // here no terminal shows it
    constexpr std::size_t longest = 44;               // as on a wide screen
    const std::vector<screen_node> named = screen_tree(where, {.longest = longest});
    out.tree = screen_tree(where, {.joins = false});
    step_cells cells;
    const step_time_subject& subject = *of.subject;
    make_step_table(subject.data, subject.att, subject.step_function, subject.scope, &subject.original,
                    of.report.projected.fold, &cells);
    out.steps = std::move(cells.steps);
    std::vector<page_part> phases;
    std::vector<page_part> others;
    for (const step_series& series : cells.series) {
        if (!series.use.has_value()) {
            if (!out.has_gpu) phases.push_back(part_of_row(series, named, out.has_steps));
            continue;
        }
        if (*series.use == step_column::computing) {
            phases.push_back(part_of_row(series, named, out.has_steps));
            continue;
        }
        page_part part{.by_step = series.ns};
        part.total_ns = std::accumulate(series.ns.begin(), series.ns.end(), std::int64_t{0});
        if (part.total_ns == 0) continue;
        part.name = use_word(*series.use);
        if (series.is_loader) {
            part.key = "idle:data_loader";
            part.name = "data loader";
            part.kind = "idle";
            part.colour = "data";
            part.idle = *series.use;
            part.is_loader = true;
        } else if (is_idle(*series.use)) {
            part.key = "idle:" + idle_key(*series.use);
            part.kind = "idle";
            part.colour = *series.use == step_column::other ? "other_idle" : idle_key(*series.use);
            part.idle = *series.use;
        } else {
            part.key = part.kind = part.colour = part.name;
        }
        others.push_back(std::move(part));
    }
    fold_small(phases, out.has_gpu ? "busy" : "host");
    // Copies, what only communicates, then idle time by size.
    const auto group = [](const page_part& part) { return part.idle ? 2 : part.kind == "communication" ? 1 : 0; };
    std::stable_sort(others.begin(), others.end(), [&](const page_part& a, const page_part& b) {
        return std::pair(group(a), -a.total_ns) < std::pair(group(b), -b.total_ns);
    });
    out.parts = std::move(phases);
    std::move(others.begin(), others.end(), std::back_inserter(out.parts));
    return out;
}

std::string_view cause_key(idle_cause cause) noexcept {
    constexpr std::string_view keys[] = {"host_code",  "launching", "loader",      "compiling",     "capturing",
                                         "allocating", "latency",   "waiting",     "pageable_copy", "blocking_copy",
                                         "queued",     "other_gpu", "not_started", "unknown"};
    return keys[static_cast<std::size_t>(cause)];
}

page_json page_texts(const std::vector<std::string>& sentences) {
    page_json out = page_json::array();
    for (std::size_t i = 0; i < std::min(sentences.size(), most_page_texts); ++i) {
        out.push_back(page_sentence(sentences[i]));
    }
    return out;
}

std::string_view cause_words(idle_cause cause) noexcept {
    switch (cause) {
        case idle_cause::loader:
            return "data loader";
        case idle_cause::latency:
            return "launch latency";
        case idle_cause::capturing:
            return "graph capture";
        case idle_cause::blocking_copy:
            return "blocking copy";
        case idle_cause::other_gpu:
            return "another GPU";
        case idle_cause::not_started:
            return "launched, and not started";
        case idle_cause::unknown:
            return "not known";
        default:
            return use_word(column_of_cause(cause));
    }
}

std::string sentence_share(double share) {
    const double percent = 100 * share;
    if (percent > 0 && percent < 0.1) return "<0.1 %";
    return fmt::format("{:.{}f} %", percent, percent >= 9.95 || percent == 0 ? 0 : 1);
}

}  // namespace prof
