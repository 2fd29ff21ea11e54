// SPDX-License-Identifier: Apache-2.0
#include "cli/export.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/json_text.hpp"
#include "cli/cli.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "export/chrome/chrome_trace.hpp"
#include "export/report/text_table.hpp"

namespace prof {
namespace {

std::string default_output(const std::string& capture) {
    const std::string stem = capture.ends_with(".prof") ? capture.substr(0, capture.size() - 5) : capture;
    return stem + ".trace.json.gz";
}

}  // namespace

export_command::export_command(command_arguments& arguments) {
    arguments.add("FILE", file_, "A capture (*.prof)").required().value("");
    arguments.add("-o,--output", output_, "The trace, plain (*.json) or compressed (*.json.gz); default: beside FILE")
        .value("TRACE")
        .takes({"a name that ends in .json or .json.gz, by which viewers know a trace",
                [](const std::string& name) { return name.ends_with(".json") || name.ends_with(".json.gz"); }});
    flags_.add_to(arguments);
}

int export_command::operator()() const {
    const std::string output = output_.empty() ? default_output(file_) : output_;
    if (const outcome usable = check_output(output, {file_}); !usable.ok()) {
        complain(usable.message());
        return exit_usage;
    }
    const attribution_options wanted = flags_.options();
    const timeline data = load_capture(file_);
    const trace_counts counts = write_chrome_trace(data, attribute(data, wanted), output);
    fmt::print("{}: {} host ranges, {} CUDA calls, {} GPU operations, {} ranges on the GPU, {} arrows\n",
               terminal_safe(output), with_thousands(counts.host_ranges + counts.process_ranges),
               with_thousands(counts.api_calls), with_thousands(counts.gpu_ops),
               with_thousands(counts.projected_ranges), with_thousands(counts.flows));
    return exit_ok;
}

}  // namespace prof
