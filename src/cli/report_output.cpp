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
#include "export/atomic_file.hpp"

namespace prof {
namespace {

// "table (default), csv, or json"
std::string list_of_formats() {
    std::string out;
    for (const report_format& format : report_formats()) {
        if (!out.empty()) out += &format == &report_formats().back() ? ", or " : ", ";
        out += format.name;
        if (!format.purpose.empty()) out.append(" ").append(format.purpose);
    }
    return out;
}

}  // namespace

void report_output::add_to(command_arguments& arguments) {
    constexpr std::string_view title = "Format and place";
    arguments.add("--format", format_, list_of_formats()).takes(format_words()).value("FORMAT").group(title);
    arguments.add("-o,--output", output_, "Write to FILE instead of standard output (-)").value("FILE").group(title);
    arguments.add_flag("--wide", wide_, "All columns and whole names, however wide the terminal is").group(title);
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
                                                          const shown_limits& shown) const {
    const bool is_to_terminal = place().empty() && isatty(STDOUT_FILENO) == 1;
    const text_layout layout{.width = wide_ ? any_width : output_width(STDOUT_FILENO),
                             .color = has_color(color_, place().empty() ? STDOUT_FILENO : -1),
                             .wrap_lines = !wide_ && is_to_terminal,
                             .shown = shown};
    return format().make(
        {.layout = layout, .several_captures = captures > 1, .several_reports = reports > 1, .outline = outline});
}

report_stream::report_stream(std::string place) : place_(std::move(place)) {}
report_stream::~report_stream() = default;

void report_stream::write(std::string_view text) {
    if (text.empty()) return;
    if (!place_.empty()) {
        if (!file_) file_ = std::make_unique<atomic_file>(place_);
        file_->write(text);
    } else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
        throw error("cannot write the report to standard output");
    }
}

void report_stream::finish() {
    if (file_) file_->commit();
    if (place_.empty() && std::fflush(stdout) != 0) throw error("cannot write the report to standard output");
}

void report_output::write(const std::string& text) const {
    if (text.empty()) return;  // of no capture: FILE appears whole or not at all
    report_stream to(place());
    to.write(text);
    to.finish();
}

}  // namespace prof
