// SPDX-License-Identifier: Apache-2.0
#include "report/report_settings.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "analysis/selection/step_choice.hpp"
#include "base/number.hpp"

namespace prof {
namespace {

// What a setting changes, and what has the settings that options.md defines, until all are read.
struct settings_in_progress {
    report_settings settings;
    session_options options;
};

struct setting {
    std::string_view name;
    std::string_view accepts;
    bool (*set)(settings_in_progress& out, const std::string& value);  // false: not accepted
};

template <typename TNumber>
bool set_number(TNumber& out, const std::string& value, TNumber least, TNumber most) {
    const auto number = parse_number<TNumber>(value, least, most);
    if (number) out = *number;
    return number.has_value();
}

template <typename TParse>
bool set_text(std::string& out, const std::string& value, TParse&& parse) {
    if (!parse(value)) return false;
    out = value;
    return true;
}

constexpr std::string_view whole_number = "a whole number";
constexpr std::size_t widest = 1'000'000;

constexpr setting own_settings[] = {
    {"depth", whole_number,
     [](settings_in_progress& out, const std::string& value) {
         return set_number<std::uint32_t>(out.settings.shown.deepest, value, 0, UINT32_MAX);
     }},
    {"from", moment_words,
     [](settings_in_progress& out, const std::string& value) {
         return set_text(out.settings.selection.from, value, parse_moment);
     }},
    {"kernel_names", "full, short, or mangled",
     [](settings_in_progress& out, const std::string& value) {
         const auto style = parse_kernel_name_style(value);
         if (style) out.settings.names = *style;
         return style.has_value();
     }},
    {"limit", whole_number,
     [](settings_in_progress& out, const std::string& value) {
         return set_number<std::size_t>(out.settings.limit, value, 0, SIZE_MAX);
     }},
    {"range", "a pattern",
     [](settings_in_progress& out, const std::string& value) {
         out.settings.selection.ranges.push_back(value);
         return true;
     }},
    {"skip_first", whole_number,
     [](settings_in_progress& out, const std::string& value) {
         return set_number<std::uint64_t>(out.settings.selection.skip_first, value, 0, UINT64_MAX);
     }},
    {"sort", "the name of a column",
     [](settings_in_progress& out, const std::string& value) {
         out.settings.sort = value;
         return true;
     }},
    {"step_range", "the name of a range",
     [](settings_in_progress& out, const std::string& value) {
         out.settings.selection.step_range = value;
         return true;
     }},
    {"steps", step_slice_words,
     [](settings_in_progress& out, const std::string& value) {
         return set_text(out.settings.selection.steps, value, parse_step_slice);
     }},
    {"to", moment_words,
     [](settings_in_progress& out, const std::string& value) {
         return set_text(out.settings.selection.to, value, parse_moment);
     }},
    {"whole_run", "0 or 1",
     [](settings_in_progress& out, const std::string& value) {
         out.settings.is_of_whole_run = value == "1";
         return value == "1" || value == "0";
     }},
    {"width", "a whole number from 1 to 1000000",
     [](settings_in_progress& out, const std::string& value) {
         return set_number<std::size_t>(out.settings.width, value, 1, widest);
     }},
};

// Those of options.md, with the meaning that they have there.
constexpr std::array<std::string_view, 6> option_names = {
    "adopt", "communication", "fold", "nvtx_domain_exclude", "nvtx_domain_include", "rows"};

std::string all_names() {
    std::vector<std::string_view> names(option_names.begin(), option_names.end());
    for (const setting& known : own_settings) names.push_back(known.name);
    std::sort(names.begin(), names.end());
    std::string out;
    for (const std::string_view name : names) out.append(out.empty() ? "" : ", ").append(name);
    return out;
}

outcome set(settings_in_progress& out, std::string_view given) {
    const std::size_t equals = given.find('=');
    if (equals == std::string_view::npos) {
        return outcome::failed("\"" + std::string(given) + "\" is no name=value");
    }
    const std::string_view name = given.substr(0, equals);
    const std::string value(given.substr(equals + 1));
    if (std::find(option_names.begin(), option_names.end(), name) != option_names.end()) {
        return set_option(out.options, name, value);
    }
    const auto* const known = std::find_if(std::begin(own_settings), std::end(own_settings),
                                           [&](const setting& row) { return row.name == name; });
    if (known == std::end(own_settings)) {
        return outcome::failed("a report has no setting \"" + std::string(name) + "\"; there are " + all_names());
    }
    if (known->set(out, value)) return {};
    return outcome::failed(std::string(name) + ": \"" + value + "\" is not accepted; it takes " +
                           std::string(known->accepts));
}

}  // namespace

result<report_settings> parse_report_settings(const char* const* settings) {
    settings_in_progress out;
    for (; settings != nullptr && *settings != nullptr; ++settings) {
        if (outcome done = set(out, *settings); !done.ok()) return done;
    }
    out.settings.projected = projection_options_of(out.options);
    out.settings.communication = out.options.communication;
    out.settings.shown.rows = out.options.rows;
    return std::move(out.settings);
}

projection_options projection_options_of(const session_options& options) {
    projection_options out;
    out.fold = options.fold;
    if (options.adopt) out.attribution.adopt_pattern = *options.adopt;
    out.attribution.domains = {.include = options.nvtx_domain_include, .exclude = options.nvtx_domain_exclude};
    return out;
}

}  // namespace prof
