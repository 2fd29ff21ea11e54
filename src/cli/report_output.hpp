// SPDX-License-Identifier: Apache-2.0
// The format and the place of what `prof report` and `prof diagnose` print. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/outcome.hpp"
#include "cli/arguments.hpp"
#include "export/report/report_writer.hpp"

namespace prof {

class report_output {
public:
    // The flags, in a part of the manual. This must live until the command line is parsed.
    void add_to(command_arguments& arguments);

    // Fails if the file would replace a capture.
    outcome check(const std::vector<std::string>& inputs) const;
    const report_format& format() const { return *find_report_format(format_); }
    // `outline`: as writer_options.
    std::unique_ptr<report_writer> make_writer(std::size_t captures, std::size_t reports, bool outline) const;
    // Throws prof::error.
    void write(const std::string& text) const;

private:
    std::string place() const { return output_ == "-" ? std::string() : output_; }

    std::string format_{report_formats().front().name};
    std::string output_;
    bool wide_ = false;
    std::string color_ = "auto";
};

}  // namespace prof
