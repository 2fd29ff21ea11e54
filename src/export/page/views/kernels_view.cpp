// SPDX-License-Identifier: Apache-2.0
// The kernels and copies of a step, or of the whole recording where it has no steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/kernels/kernel_uses.hpp"
#include "base/display_text.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "report/mean_step.hpp"
#include "report/tables/kernels.hpp"

namespace prof {
namespace {

constexpr std::size_t most_kernels = 250;

std::string why_none(const page_input& input) {
    if (!input.report.data.activities.has_gpu_work()) return "GPU work was not recorded (option activities).";
    return "No kernel was recorded: the program launched none, or CUPTI could not be used (see the notes).";
}

// Kernels that have one short name are told apart by the first part of their whole names in which they differ, and
// where that is not enough by a number.
std::vector<std::string> distinct_names(const std::vector<kernel_use>& rows) {
    constexpr std::size_t longest = 60;
    std::vector<std::string> out;
    std::map<std::string_view, std::vector<std::size_t>> alike;
    for (const kernel_use& row : rows) {
        alike[row.shorter].push_back(out.size());
        out.push_back(row.shorter);
    }
    for (const auto& [shorter, group] : alike) {
        if (group.size() < 2) continue;
        const std::string& first = rows[group.front()].name;
        std::size_t same = first.size();
        for (const std::size_t i : group) {
            const std::string& name = rows[i].name;
            const auto end = first.begin() + static_cast<std::ptrdiff_t>(std::min(same, name.size()));
            same = static_cast<std::size_t>(std::mismatch(first.begin(), end, name.begin()).first - first.begin());
        }
        constexpr std::string_view marks = "<>(),: {}";
        const std::size_t before = same == 0 ? std::string::npos : first.find_last_of(marks, same - 1);
        const std::size_t begin = before == std::string::npos ? 0 : before + 1;
        std::map<std::string, std::size_t> used;
        for (const std::size_t i : group) {
            const std::string& name = rows[i].name;
            const std::size_t end = std::min(name.find_first_of(marks, std::min(same, name.size())), name.size());
            std::string part = shortened(name.substr(std::min(begin, end), end - std::min(begin, end)), longest);
            const std::size_t times = ++used[part];
            if (times > 1) part += fmt::format("{}({})", part.empty() ? "" : " ", times);
            if (!part.empty() && part != shorter) out[i] += " · " + part;
        }
    }
    return out;
}

std::string shown_phase(const std::string& name) { return page_label(name == "data" ? "data loader" : name); }

}  // namespace

page_view make_kernels_view(const page_input& input) {
    page_view out{.name = "kernels", .heading = "Kernels", .link = "Kernels", .data = page_json::object()};
    const mean_step* const by = input.report.step;
    const timeline& data = by != nullptr ? by->data() : input.shown.data();
    const attribution& att = by != nullptr ? by->att() : input.shown.att();
    kernel_uses of;
    if (by != nullptr && by->part().scope().steps) {
        of = find_kernel_uses(data, att, *by->part().scope().steps, most_kernels);
    } else if (!data.ops.empty()) {
        of = find_kernel_uses(data, att, input.found.of, most_kernels);
    }
    if (of.count == 0) {
        out.why = why_none(input);
        out.data["why"] = out.why;
        return out;
    }
    const page_step& step = input.step;
    const double steps = by != nullptr ? step.count : 1;
    const double divisor = steps * step.devices;
    const auto ns = [&](std::int64_t total_ns) { return step.whole_ns(static_cast<double>(total_ns) / divisor); };
    const auto launches = [&](std::uint64_t count) { return static_cast<double>(count) / divisor; };
    const auto share = [&](std::int64_t total_ns) {
        return of.total_ns > 0 ? static_cast<double>(total_ns) / static_cast<double>(of.total_ns) : 0;
    };
    out.data["total_ns"] = ns(of.total_ns);
    out.data["launches"] = launches(of.launches);
    out.data["count"] = of.count;
    page_json& classes = out.data["classes"] = page_json::array();
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < kernel_purposes; ++i) {
        if (of.by_purpose[i].launches != 0) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return of.by_purpose[a].ns > of.by_purpose[b].ns; });
    for (const std::size_t i : order) {
        const auto purpose = static_cast<kernel_purpose>(i);
        classes.push_back({{"key", to_string(purpose)},
                           {"name", shown_purpose(purpose)},
                           {"ns", ns(of.by_purpose[i].ns)},
                           {"launches", launches(of.by_purpose[i].launches)}});
    }
    page_table table{.caption = "The largest kernels, by their time in a step",
                     .columns = {{"kernel"},
                                 {"kind"},
                                 {"launches a step", true},
                                 {"mean in µs", true},
                                 {fmt::format("{} a step", step.unit.name), true},
                                 {"of kernel time", true}}};
    page_json& rows = out.data["rows"] = page_json::array();
    const std::vector<std::string> names = distinct_names(of.rows);
    std::int64_t shown_ns = 0;
    std::uint64_t shown_launches = 0;
    for (std::size_t index = 0; index < of.rows.size(); ++index) {
        const kernel_use& use = of.rows[index];
        const std::string& name = names[index];
        shown_ns += use.total_ns;
        shown_launches += use.launches;
        page_json phases = page_json::array();
        for (const auto& [phase, phase_ns] : use.phases) phases.push_back({shown_phase(phase), ns(phase_ns)});
        page_json from = page_json::array();
        for (const kernel_launcher& each : use.launchers) {
            from.push_back({{"kind", to_string(each.kind)},
                            {"text", page_label(page_name(each.text))},
                            {"ns", ns(each.ns)},
                            {"launches", launches(each.launches)}});
        }
        const double mean_ns = static_cast<double>(use.total_ns) / static_cast<double>(use.launches);
        rows.push_back({{"name", page_name(use.name)},
                        {"short", page_label(page_name(name))},
                        {"class", to_string(use.purpose)},
                        {"launches", launches(use.launches)},
                        {"ns", ns(use.total_ns)},
                        {"mean_ns", step.whole_ns(mean_ns)},
                        {"min_ns", use.min_ns},
                        {"median_ns", use.median_ns},
                        {"max_ns", use.max_ns},
                        {"share", share(use.total_ns)},
                        {"histogram", {{"first", use.first_bin}, {"counts", use.bins}}},
                        {"phases", std::move(phases)},
                        {"from", std::move(from)}});
        constexpr std::size_t most_rows = 20;
        constexpr std::size_t longest = 90;
        if (table.rows.size() >= most_rows) continue;
        table.rows.push_back({shortened(page_name(name), longest), std::string(shown_purpose(use.purpose)),
                              fmt::format("{:.1f}", launches(use.launches)), fmt::format("{:.1f}", mean_ns / 1e3),
                              step.text(static_cast<double>(use.total_ns) / divisor),
                              sentence_share(share(use.total_ns))});
    }
    page_json copies = page_json::array();
    page_table copy_table{.caption = "Copies and sets, by their time in a step",
                          .columns = {{"operation"},
                                      {"a step", true},
                                      {"mean in µs", true},
                                      {fmt::format("{} a step", step.unit.name), true},
                                      {"MB a step", true},
                                      {"GB/s", true}}};
    for (const transfer_row& row : transfer_table(by != nullptr ? by->data() : input.shown.data())) {
        const double bytes = static_cast<double>(row.bytes) / divisor;
        copies.push_back({{"name", page_label(row.operation)},
                          {"launches", launches(row.time.instances)},
                          {"ns", ns(row.time.total_ns)},
                          {"mean_ns", step.whole_ns(row.time.mean_ns)},
                          {"min_ns", row.time.min_ns},
                          {"median_ns", step.whole_ns(row.time.median_ns)},
                          {"max_ns", row.time.max_ns},
                          {"bytes", std::llround(bytes)},
                          {"rate", row.gigabytes_per_s}});
        copy_table.rows.push_back({page_label(row.operation), fmt::format("{:.1f}", launches(row.time.instances)),
                                   fmt::format("{:.1f}", row.time.mean_ns / 1e3),
                                   step.text(static_cast<double>(row.time.total_ns) / divisor),
                                   fmt::format("{:.2f}", bytes / 1e6), fmt::format("{:.1f}", row.gigabytes_per_s)});
    }
    out.data["copies"] = std::move(copies);
    out.data["rest"] = {{"count", of.count - of.rows.size()},
                        {"ns", ns(of.total_ns - shown_ns)},
                        {"launches", launches(of.launches - shown_launches)}};
    out.lead.push_back(
        fmt::format("{} launches of {} different kernels a step, {} of work.",
                    with_thousands(static_cast<std::uint64_t>(std::llround(std::max(launches(of.launches), 0.0)))),
                    with_thousands(of.count), step.with_unit(static_cast<double>(of.total_ns) / divisor)));
    out.blocks.emplace_back(std::move(table));
    if (!copy_table.rows.empty()) out.blocks.emplace_back(std::move(copy_table));
    return out;
}

}  // namespace prof
