// SPDX-License-Identifier: Apache-2.0
// What `prof run` prints and writes when its command has ended: an overview of several processes, the tables, traces
// and summaries beside the captures, where all of it is, and what one types next. One thread; reads each capture once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/captures.hpp"
#include "cli/progress_line.hpp"
#include "export/report/report_writer.hpp"
#include "options/options.hpp"
#include "report/reports.hpp"

namespace prof {

// The flags of `prof run` on its output.
class run_output {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    void add_to(command_arguments& arguments);
    // Throws usage_error where they make no sense.
    void check() const;

    std::vector<const report_kind*> kinds() const;  // none: the summary
    const report_format& format() const;
    const std::string& file() const noexcept { return file_; }
    bool quiet() const noexcept { return quiet_; }

private:
    std::vector<std::string> reports_;
    std::string format_{report_formats().front().name};
    std::string file_;  // "": standard error; "-": standard output
    bool quiet_ = false;
};

// `directory`: where the captures are, as the user gave it. What fails is reported on stderr, and the rest is made.
void report_run(const session_options& options, const run_output& output, const std::string& directory,
                const std::vector<run_capture>& captures, const progress_display& progress);

// The files beside the capture of one run of several, as the options have them: the trace, the summary, the page.
void export_capture(const session_options& options, const run_output& output, const run_capture& capture,
                    const progress_display& progress);

// Where the output's tables go, in its format.
void print_document(const session_options& options, const run_output& output, const report_document& document);

}  // namespace prof
