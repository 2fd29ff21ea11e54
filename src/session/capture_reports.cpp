// SPDX-License-Identifier: Apache-2.0
#include "session/capture_reports.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "analysis/projection/call_names.hpp"
#include "analysis/projection/communication.hpp"
#include "analysis/selection/selected_part.hpp"
#include "analysis/selection/step_marks.hpp"
#include "base/error.hpp"
#include "base/number.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "options/options.hpp"
#include "session/capture_diagnosis.hpp"
#include "session/exports.hpp"
#include "timeline/load.hpp"

namespace prof {
namespace {

// Names of options.md, with the meaning that they have there.
constexpr std::array<std::string_view, 6> option_names = {
    "adopt", "communication", "fold", "nvtx_domain_exclude", "nvtx_domain_include", "rows"};
constexpr std::string_view all_names =
    "adopt, communication, depth, fold, from, kernel_names, limit, nvtx_domain_exclude, nvtx_domain_include, range, "
    "rows, skip_first, "
    "sort, step_range, steps, to, width";

outcome refused(std::string_view name, std::string_view value, std::string_view accepts) {
    return outcome::failed(std::string(name) + ": \"" + std::string(value) + "\" is not accepted; it takes " +
                           std::string(accepts));
}

template <typename TNumber>
outcome set_number(TNumber& out, std::string_view name, std::string_view value, TNumber least, TNumber most,
                   std::string_view accepts) {
    const auto number = parse_number<TNumber>(value, least, most);
    if (!number) return refused(name, value, accepts);
    out = *number;
    return {};
}

template <typename TParse>
outcome set_text(std::string& out, std::string_view name, std::string_view value, TParse&& parse,
                 std::string_view accepts) {
    if (!parse(value)) return refused(name, value, accepts);
    out = value;
    return {};
}

// Of a setting that selects a part; nothing if it is none.
std::optional<outcome> set_part(selection_request& out, std::string_view name, std::string_view value) {
    if (name == "range") {
        out.ranges.emplace_back(value);
        return outcome{};
    }
    if (name == "steps") return set_text(out.steps, name, value, parse_step_slice, step_slice_words);
    if (name == "from") return set_text(out.from, name, value, parse_moment, moment_words);
    if (name == "to") return set_text(out.to, name, value, parse_moment, moment_words);
    if (name == "skip_first") {
        return set_number<std::uint64_t>(out.skip_first, name, value, 0, UINT64_MAX, "a whole number");
    }
    if (name != "step_range") return {};
    out.step_range = value;
    return outcome{};
}

outcome set(report_settings& out, session_options& options, std::string_view setting) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos) {
        return outcome::failed("\"" + std::string(setting) + "\" is no name=value");
    }
    const std::string_view name = setting.substr(0, equals);
    const std::string_view value = setting.substr(equals + 1);
    for (const std::string_view known : option_names) {
        if (name == known) return set_option(options, name, value);
    }
    if (name == "kernel_names") {
        const auto style = parse_kernel_name_style(value);
        if (!style) return refused(name, value, "full, short, or mangled");
        out.names = *style;
        return {};
    }
    if (const auto done = set_part(out.selection, name, value)) return *done;
    if (name == "sort") {
        out.sort = value;
        return {};
    }
    if (name == "limit") return set_number<std::size_t>(out.limit, name, value, 0, SIZE_MAX, "a whole number");
    if (name == "depth") return set_number<std::uint32_t>(out.deepest, name, value, 0, UINT32_MAX, "a whole number");
    if (name == "width")
        return set_number<std::size_t>(out.width, name, value, 1, 1'000'000, "a whole number from 1 to 1000000");
    return outcome::failed("a report has no setting \"" + std::string(name) + "\"; there are " +
                           std::string(all_names));
}

// Whether settings are about the capture as a whole, so that a changed copy of it has them.
bool changes_timeline(const report_settings& settings) {
    return !settings.selection.step_range.empty() || !settings.communication.empty();
}

// The copy, and the other settings.
std::pair<timeline, report_settings> with_changes(const timeline& data, const report_settings& settings) {
    std::pair<timeline, report_settings> out(data, settings);
    add_communication(out.first, settings.communication);
    if (!settings.selection.step_range.empty()) count_steps_by(out.first, settings.selection.step_range);
    out.second.communication.clear();
    out.second.selection.step_range.clear();
    return out;
}

}  // namespace

timeline load_capture(const std::string& path, progress_observer* progress, reading_thread thread) {
    std::error_code failed;
    if (std::filesystem::is_directory(path, failed)) {
        throw file_error(path + " is a directory; name the captures in it: " + path + "/*.prof", EISDIR);
    }
    return load_timeline(path, progress, thread);
}

result<report_settings> parse_report_settings(const char* const* settings) {
    report_settings out;
    session_options options;
    for (; settings != nullptr && *settings != nullptr; ++settings) {
        if (outcome done = set(out, options, *settings); !done.ok()) return done;
    }
    out.projected = projection_options_of(options);
    out.communication = options.communication;
    out.rows = options.rows;
    return out;
}

namespace {

// Calls visit(report_input, capture_diagnosis) with what reports are made of.
template <typename TVisit>
void with_report_input(const timeline& data, const std::string& path, const report_settings& settings, bool for_people,
                       TVisit&& visit) {
    if (changes_timeline(settings)) {
        const auto [changed, rest] = with_changes(data, settings);
        return with_report_input(changed, path, rest, for_people, visit);
    }
    std::optional<selected_part> part;
    if (settings.selection.is_part()) part.emplace(data, settings.projected, settings.selection);
    const timeline& shown = part ? part->data() : data;
    capture_diagnosis diagnosed(data, settings.projected, settings.least_share, settings.selection);
    const report_input input{.data = shown,
                             .capture = path,
                             .names = settings.names,
                             .hidden = hidden_domains(shown, settings.projected.attribution.domains),
                             .projected = settings.projected,
                             .att = part ? &part->att() : nullptr,
                             .selected = part ? &*part : nullptr,
                             .for_people = for_people,
                             .deepest = settings.deepest,
                             .rows = for_people ? settings.rows : SIZE_MAX,
                             .sort = settings.sort,
                             .limit = settings.limit,
                             .flops_per_step = settings.flops_per_step,
                             .call_name = call_names(data),
                             .diagnosed =
                                 [&](std::string_view name) {
                                     report_part out = diagnosed.report(name, for_people);
                                     if (part && part->has_ranges())
                                         out.paragraphs.insert(out.paragraphs.begin(), "Of whole steps, all ranges:");
                                     return out;
                                 },
                             .may_use_threads = settings.may_use_threads};
    visit(input, diagnosed);
}

}  // namespace

report_document make_reports(const timeline& data, const std::string& path, const report_settings& settings,
                             std::span<const report_kind* const> reports, bool for_people) {
    report_document out;
    with_report_input(data, path, settings, for_people, [&](const report_input& input, capture_diagnosis& diagnosed) {
        out = make_document(input, reports);
        diagnosed.add_gains(out);
    });
    if (for_people) add_next_command(data, out);
    return out;
}

void make_reports(const timeline& data, const std::string& path, const report_settings& settings,
                  std::span<const report_kind* const> reports,
                  const std::function<void(const report_document&)>& visit) {
    with_report_input(data, path, settings, false, [&](const report_input& input, capture_diagnosis& diagnosed) {
        // Prices of all steps, if these are computed anyway.
        const bool is_diagnosed = std::any_of(reports.begin(), reports.end(), [](const report_kind* each) {
            return each->name == "diagnose" || each->name == "diagnose_places" || each->name == "critical_path";
        });
        if (is_diagnosed) diagnosed.get();
        for (const report_kind* const& each : reports) {
            report_document one = make_document(input, std::span(&each, 1));
            diagnosed.add_gains(one);
            visit(one);
        }
    });
}

void write_trace(const timeline& data, const std::string& path, const report_settings& settings) {
    if (changes_timeline(settings)) {
        const auto [changed, rest] = with_changes(data, settings);
        return write_trace(changed, path, rest);
    }
    const attribution_options& options = settings.projected.attribution;
    if (!settings.selection.is_part()) {
        write_chrome_trace(data, attribute_for_trace(data, options), path);
        return;
    }
    const projection_options all{.attribution = {.adopt_pattern = options.adopt_pattern}};
    const selected_part part(data, all, settings.selection, false);
    write_chrome_trace(part.data(), part.att(), path);
}

}  // namespace prof
