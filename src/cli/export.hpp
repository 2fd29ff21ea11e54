// SPDX-License-Identifier: Apache-2.0
// `prof export`: captures as traces for viewers, or as tables for queries. Memory is that of the largest timeline. One
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/input.hpp"
#include "cli/progress_line.hpp"
#include "cli/selection_flags.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "timeline/timeline.hpp"

namespace prof {

class export_command {
public:
    // Describes the options. REQUIRES: this lives until they are parsed.
    explicit export_command(command_arguments& arguments);
    // Writes the traces and their counts on stdout, and on stderr what must be known of each capture. Returns the exit
    // status (cli.hpp): exit_failure if a capture could not be read or a trace not written, while the others are.
    // Throws usage_error.
    int operator()() const;

private:
    struct shown_capture;
    timeline read(const std::string& file, const progress_display& progress) const;
    std::optional<trace_track> track_of(const timeline& data, const std::string& name) const;
    int write_job(const capture_inputs& inputs, const progress_display& progress) const;
    int write_tables(const capture_inputs& inputs, const progress_display& progress) const;
    // Throws usage_error if tables were asked for, and something that they cannot be.
    void check_tables() const;
    // `name`: of the capture.
    trace_counts write(const timeline& data, const std::string& name, const std::string& place,
                       const progress_display& progress) const;

    std::vector<std::string> files_;
    std::string output_;
    std::string format_;
    std::string ranks_;
    bool critical_path_ = false;
    attribution_flags flags_;
    selection_flags part_;
};

}  // namespace prof
