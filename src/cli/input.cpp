#include "cli/input.hpp"

#include "session/exports.hpp"

namespace prof {

void attribution_flags::add_to(command_arguments& arguments) {
    for (const option& row : option_table()) {
        if (row.report_help.empty()) continue;
        // The default's text is always accepted: that of an option which is not set is "".
        const auto parse = [this, &row](const std::string& text) {
            return text == row.print(session_options{}) || row.parse(options_, text);
        };
        arguments.add_parsed(flag_of(row), {accepts_of(row), parse}, std::string(row.report_help))
            .value(std::string(row.value_name));
    }
}

attribution_options attribution_flags::options() const { return projection_options_of(options_).attribution; }

}  // namespace prof
