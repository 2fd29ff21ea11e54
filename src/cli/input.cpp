// SPDX-License-Identifier: Apache-2.0
#include "cli/input.hpp"

#include "session/exports.hpp"

namespace prof {

void add_option(command_arguments& arguments, const option& row, std::string_view help, session_options& out) {
    // The default's text is always accepted: that of an option which is not set is "".
    const auto parse = [&out, &row](const std::string& text) {
        return text == row.print(session_options{}) || row.parse(out, text);
    };
    arguments.add_parsed(flag_of(row), {accepts_of(row), parse}, std::string(help)).value(std::string(row.value_name));
}

void attribution_flags::add_to(command_arguments& arguments) {
    for (const option& row : option_table()) {
        if (!row.report_help.empty()) add_option(arguments, row, row.report_help, options_);
    }
}

attribution_options attribution_flags::options() const { return projection_options_of(options_).attribution; }

}  // namespace prof
