// SPDX-License-Identifier: Apache-2.0
#include "cli/report_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/pager.hpp"
#include "export/atomic_file.hpp"

namespace prof {
namespace {}  // namespace

void report_output::add_to(command_arguments& arguments, std::string_view wide_option) {
    wide_option_ = wide_option;
    constexpr std::string_view title = "Format and place";
    arguments.add("--format", format_, list_of_formats()).takes(format_words()).value("FORMAT").group(title);
    arguments.add("-o,--output", output_, "Write to FILE instead of standard output (-)").value("FILE").group(title);
    arguments.add_flag("--wide", wide_, "All columns and whole names, however wide the terminal is").group(title);
    arguments.add_flag("--no-pager", no_pager_, "Write text that is longer than the terminal without a pager")
        .group(title);
    arguments
        .add("--color", color_,
             "Coloured headings, warnings and notes: auto (default; on a terminal, unless NO_COLOR is set), always, or "
             "never")
        .takes(one_of({"auto", "always", "never"}))
        .value("WHEN")
        .group(title);
}

outcome report_output::check(const std::vector<std::string>& inputs) const { return check_output(place(), inputs); }

std::unique_ptr<report_writer> report_output::make_writer(std::size_t captures, std::size_t reports, bool outline,
                                                          const shown_limits& shown, bool only_screen) const {
    const bool is_to_terminal = place().empty() && isatty(STDOUT_FILENO) == 1;
    const std::size_t lines = only_screen && is_to_terminal ? output_lines(STDOUT_FILENO) - 1 : SIZE_MAX;
    const text_layout layout{.width = wide_ ? any_width : output_width(STDOUT_FILENO),
                             .color = has_color(color_, place().empty() ? STDOUT_FILENO : -1),
                             .lines = lines,
                             .only_screen = only_screen && is_to_terminal,
                             .is_ascii = !has_utf8_locale(),
                             .wide_option = wide_option_,
                             .wrap_lines = !wide_ && is_to_terminal,
                             .shown = shown};
    return format().make(
        {.layout = layout, .several_captures = captures > 1, .several_reports = reports > 1, .outline = outline});
}

bool report_output::is_on_terminal() const {
    return place().empty() && format().is_for_people && isatty(STDOUT_FILENO) == 1;
}

report_stream::report_stream(std::string place, bool is_paged) : place_(std::move(place)), is_paged_(is_paged) {}
report_stream::~report_stream() = default;

void report_stream::write(std::string_view text) {
    if (text.empty()) return;
    if (!place_.empty()) {
        if (!file_) file_ = std::make_unique<atomic_file>(place_);
        file_->write(text);
    } else if (is_paged_) {
        paged_ += text;
    } else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
        throw error("cannot write the report to standard output");
    }
}

void report_stream::finish() {
    if (file_) file_->commit();
    if (!paged_.empty()) print_paged(paged_);
    if (place_.empty() && std::fflush(stdout) != 0) throw error("cannot write the report to standard output");
}

void report_output::write(const std::string& text) const {
    if (text.empty()) return;  // of no capture: FILE appears whole or not at all
    report_stream to(place(), is_on_terminal() && has_pager());
    to.write(text);
    to.finish();
}

}  // namespace prof
