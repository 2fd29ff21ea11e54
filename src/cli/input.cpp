// SPDX-License-Identifier: Apache-2.0
#include "cli/input.hpp"

#include <algorithm>
#include <utility>

#include "analysis/projection/communication.hpp"
#include "base/suggestion.hpp"
#include "export/report/report_writer.hpp"

namespace prof {
namespace {

constexpr std::string_view all_reports = "all";

}  // namespace

accepted_values report_words(const std::vector<std::string>& also) {
    std::vector<std::string> words = names_of(report_kinds());
    words.emplace_back(all_reports);
    words.insert(words.end(), also.begin(), also.end());
    return one_of(words);
}

std::string list_of_formats() {
    std::string out;
    for (const report_format& format : report_formats()) {
        if (!out.empty()) out += &format == &report_formats().back() ? ", or " : ", ";
        out += format.name;
        if (!format.purpose.empty()) out.append(" ").append(format.purpose);
    }
    return out;
}

accepted_values format_words() { return one_of(names_of(report_formats())); }

std::vector<const report_kind*> reports_named(const std::vector<std::string>& names) {
    std::vector<const report_kind*> out;
    if (std::find(names.begin(), names.end(), all_reports) != names.end()) {
        for (const report_kind& kind : report_kinds()) out.push_back(&kind);
        return out;
    }
    for (const std::string& name : names) out.push_back(find_report(name));
    return out;
}

void add_option(command_arguments& arguments, const option& row, std::string_view help, session_options& out) {
    // The default's text is always accepted: that of an option which is not set is "".
    const auto parse = [&out, &row](const std::string& text) {
        return text == row.print(session_options{}) || row.parse(out, text);
    };
    arguments.add_parsed(flag_of(row), {accepts_of(row), parse, accepted_words(row)}, std::string(help))
        .value(std::string(row.value_name))
        .group(title_of_ranges);
}

void attribution_flags::add_to(command_arguments& arguments) {
    for (const option& row : option_table()) {
        if (!row.report_help.empty()) add_option(arguments, row, row.report_help, options_);
    }
}

void attribution_flags::apply_to(timeline& data) const { add_communication(data, options_.communication); }

attribution_options attribution_flags::options() const { return projection_options_of(options_).attribution; }

}  // namespace prof
