// SPDX-License-Identifier: Apache-2.0
// The functions of each range, by samples that `perf` has taken beside the recording (docs/guide/perf.md).
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "report/capture_diagnosis.hpp"
#include "report/makers.hpp"
#include "report/projected_timeline.hpp"
#include "report/report_column.hpp"
#include "timeline/perf_samples.hpp"

namespace prof {
namespace {

constexpr std::string_view no_range = "(no range)";
constexpr std::string_view all_samples = "(all)";
constexpr std::size_t most_functions = 8;  // of a range, for people
constexpr std::size_t most_ranges = 12;

struct sampled_range {
    std::string path;
    std::uint64_t samples = 0;
    std::map<std::uint32_t, std::uint64_t> functions{};  // samples by function

    void add(std::uint32_t function) {
        ++samples;
        ++functions[function];
    }
    // Most samples first.
    std::vector<std::pair<std::uint32_t, std::uint64_t>> sorted() const {
        std::vector<std::pair<std::uint32_t, std::uint64_t>> out(functions.begin(), functions.end());
        std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
        return out;
    }
};

struct sampled_ranges {
    std::vector<sampled_range> ranges{};  // all samples, then the range with the most
    std::uint64_t of_others = 0;          // threads that the capture does not have
    std::uint64_t not_meanwhile = 0;      // at times that were not recorded, or not chosen
    std::vector<perf_function> functions{};
};

struct sampled_function {
    const sampled_range& range;
    std::string name, file;
    std::uint64_t samples;
};

report_columns<sampled_function> function_columns() {
    return {{{"range", "range"}, [](const auto& row) { return row.range.path; }},
            {{"function", "function"}, &sampled_function::name},
            {{"file", "file", quantity::text, 1}, text_or_none(&sampled_function::file)},
            {{"samples", "samples", quantity::count}, &sampled_function::samples},
            {{"share", "share", quantity::share},
             [](const auto& row) { return static_cast<double>(row.samples) / static_cast<double>(row.range.samples); }},
            {{"range_samples", "", quantity::count}, [](const auto& row) { return row.range.samples; }}};
}

// The ranges with the most samples, each with the functions that have most of them.
shown_rows rows_for_people(const sampled_ranges& from, std::size_t most_rows) {
    const report_columns<sampled_function> columns = function_columns();
    const std::size_t most = most_rows == SIZE_MAX ? SIZE_MAX : most_functions;
    std::size_t left = most_rows == SIZE_MAX ? SIZE_MAX : most_ranges;
    shown_rows out;
    for (const sampled_range& range : from.ranges) {
        if (left-- == 0) {
            out.notes.push_back(
                fmt::format("{} more ranges have samples (--rows all)", from.ranges.size() - most_ranges));
            break;
        }
        const auto found = range.sorted();
        const std::size_t count = std::min(most, found.size());
        std::uint64_t rest = range.samples;
        for (std::size_t i = 0; i < count; ++i) {
            const auto& [name, file] = from.functions[found[i].first];
            // Without its folder: npos + 1 is 0.
            out.rows.push_back(cells_of(columns, {range, name, file.substr(file.rfind('/') + 1), found[i].second}));
            rest -= found[i].second;
        }
        if (count == found.size()) continue;
        out.rows.push_back(cells_of(columns, {range, fmt::format("… {} more", found.size() - count), "", rest}));
    }
    return out;
}

// On the timeline's clock, between the points at which both clocks were read.
std::int64_t on_timeline(const std::vector<monotonic_point>& points, std::int64_t monotonic_ns) {
    if (points.size() == 1) return points[0].ns + (monotonic_ns - points[0].monotonic_ns);
    const auto next = std::partition_point(points.begin() + 1, points.end() - 1, [&](const monotonic_point& each) {
        return each.monotonic_ns < monotonic_ns;
    });
    const monotonic_point& a = *(next - 1);
    const auto rate = static_cast<double>(next->ns - a.ns) /
                      static_cast<double>(std::max<std::int64_t>(next->monotonic_ns - a.monotonic_ns, 1));
    return a.ns + static_cast<std::int64_t>(static_cast<double>(monotonic_ns - a.monotonic_ns) * rate);
}

sampled_ranges ranges_of(const timeline& data, const attribution& att, const whole_steps& steps,
                         const std::vector<monotonic_point>& clock, const perf_samples& of) {
    host_activity host(data, att);
    code_places where(data, att, steps);
    std::unordered_map<std::uint32_t, thread_id> threads;  // by tid
    for (const thread_id i : data.threads.ids()) threads.try_emplace(data.threads[i].tid, i);
    const row_values<thread_id, thread_id> homes = home_threads(data, att);
    sampled_ranges out{.functions = of.functions};
    sampled_range all{std::string(all_samples)};
    std::map<std::string, sampled_range> ranges;
    for (const perf_sample& sample : of.samples) {
        const auto thread = threads.find(sample.tid);
        if (thread == threads.end()) {
            ++out.of_others;
            continue;
        }
        const std::int64_t ns = on_timeline(clock, sample.monotonic_ns);
        const auto is_in = [&](const timeline_window& window) { return window.start_ns <= ns && ns < window.end_ns; };
        if (!std::any_of(data.windows.begin(), data.windows.end(), is_in)) {
            ++out.not_meanwhile;
            continue;
        }
        all.add(sample.function);
        const range_id range = host.range_at(thread->second, homes[thread->second], ns);
        std::string path = range == npos ? std::string() : where.path(where.of(range));
        if (path.empty()) path = no_range;
        // It counts for each range around it, too.
        for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
            sampled_range& around = ranges[path.substr(0, end)];
            around.add(sample.function);
        }
        ranges[path].add(sample.function);
    }
    if (all.samples == 0) return out;
    for (auto& [path, each] : ranges) {
        each.path = path;
        out.ranges.push_back(std::move(each));
    }
    std::stable_sort(out.ranges.begin(), out.ranges.end(),
                     [](const sampled_range& a, const sampled_range& b) { return a.samples > b.samples; });
    out.ranges.insert(out.ranges.begin(), std::move(all));
    return out;
}

}  // namespace

table functions_report(const report_input& input) {
    const report_columns<sampled_function> columns = function_columns();
    table out = make_table("functions", "Functions by range, by samples of perf", columns);
    out.shows_if_empty = input.samples != nullptr;
    if (input.samples == nullptr) {
        out.instead = "there are no samples (prof report --perf FILE)";
        return out;
    }
    const timeline& whole = input.diagnosed == nullptr ? input.data : input.diagnosed->data();
    if (whole.monotonic.empty()) {
        out.instead = "samples cannot be placed: the capture does not have the clock CLOCK_MONOTONIC";
        return out;
    }
    const projected_timeline shown(input);
    const whole_steps steps = find_whole_steps(shown.data(), shown.att(), !shown.step_function().empty());
    const auto from = std::make_shared<const sampled_ranges>(
        ranges_of(shown.data(), shown.att(), steps, whole.monotonic, *input.samples));
    for (const sampled_range& range : from->ranges) {
        for (const auto& [function, count] : range.sorted()) {
            const auto& [name, file] = from->functions[function];
            out.rows.push_back(cells_of(columns, {range, name, file, count}));
        }
    }
    const std::size_t all = input.samples->samples.size();
    out.totals = {{"samples", all}, {"of_other_threads", from->of_others}, {"not_meanwhile", from->not_meanwhile}};
    if (from->of_others != 0) {
        out.notes.push_back(
            fmt::format("{} of {} samples are of threads that the capture does not have", from->of_others, all));
    }
    if (from->not_meanwhile != 0) {
        out.notes.push_back(fmt::format("{} of {} samples are of times that were not recorded, or not chosen{}",
                                        from->not_meanwhile, all,
                                        out.rows.empty() ? " (was perf started with -k CLOCK_MONOTONIC?)" : ""));
    }
    if (input.samples->not_read != 0) {
        out.notes.push_back(fmt::format("{} lines could not be read as samples", input.samples->not_read));
    }
    if (out.rows.empty()) out.instead = "no sample is of a thread and a time of this capture";
    out.legend = {{"samples", "samples: each counts for the range in which its thread was, and for those around it."},
                  {"share", "share: of the range's samples."}};
    out.shorten = [from](const table&, const shown_limits& limits) { return rows_for_people(*from, limits.rows); };
    return out;
}

}  // namespace prof
