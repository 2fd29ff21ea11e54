// SPDX-License-Identifier: Apache-2.0
// The format and the place of what `prof report` and `prof diagnose` print. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.hpp"
#include "cli/arguments.hpp"
#include "export/byte_sink.hpp"
#include "export/report/report_writer.hpp"

namespace prof {

class atomic_file;

// A file that appears whole or not at all, and not before the first byte of text; or standard output.
class report_stream final : public byte_sink {
public:
    // `is_paged`: standard output gets the text at the end, with a pager where it is long.
    explicit report_stream(std::string place, bool is_paged = false);
    ~report_stream() override;
    report_stream(const report_stream&) = delete;
    report_stream& operator=(const report_stream&) = delete;

    void write(std::string_view text) override;
    void finish();  // throws prof::error; REQUIRES: it is the last call

private:
    std::string place_;  // "": standard output
    std::unique_ptr<atomic_file> file_;
    bool is_paged_ = false;
    std::string paged_;
};

class report_output {
public:
    // The flags, in a part of the manual. This must live until the command line is parsed.
    // `wide_option`: what to type for the columns that have no space.
    void add_to(command_arguments& arguments, std::string_view wide_option = "prof report --wide");

    // Fails if the file would replace a capture.
    outcome check(const std::vector<std::string>& inputs) const;
    const report_format& format() const { return *find_report_format(format_); }
    // `outline`: as writer_options; `shown`: as text_layout.
    // `only_screen`: as text_layout, if a terminal shows it.
    std::unique_ptr<report_writer> make_writer(std::size_t captures, std::size_t reports, bool outline,
                                               const shown_limits& shown, bool only_screen = false) const;
    // Whether people read it, on a terminal.
    bool is_on_terminal() const;
    bool has_pager() const noexcept { return !no_pager_; }
    // Throws prof::error.
    void write(const std::string& text) const;
    // "": standard output.
    std::string place() const { return output_ == "-" ? std::string() : output_; }

private:
    std::string format_{report_formats().front().name};
    std::string output_;
    std::string_view wide_option_;
    bool wide_ = false;
    bool no_pager_ = false;
    std::string color_ = "auto";
};

}  // namespace prof
