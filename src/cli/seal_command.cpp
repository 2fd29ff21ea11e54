// SPDX-License-Identifier: Apache-2.0
#include "cli/seal_command.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "capture/recovery/seal.hpp"
#include "cli/capture_inputs.hpp"
#include "cli/cli.hpp"
#include "cli/progress_line.hpp"

namespace prof {
namespace {

sealing seal_with_progress(const std::string& file, const progress_display& progress) {
    const progress_line recovering(progress, "recovering " + file);
    return seal_capture(file, 0);
}

}  // namespace

seal_command::seal_command(command_arguments& arguments) {
    arguments.add("FILE", files_, "Captures (*.prof), or directories of them").required().value("");
}

int seal_command::operator()() const {
    const progress_display progress;
    const capture_inputs inputs = named_captures(files_);
    int status = inputs.all_found ? exit_ok : exit_failure;
    for (const std::string& file : inputs.files) {
        try {
            const sealing done = seal_with_progress(file, progress);
            if (done.result == seal_result::is_running) throw error("cannot seal: " + done.outcome);
            const std::string prefix = done.result == seal_result::sealed ? file + ": " : "";
            fmt::print("{}\n", terminal_safe(prefix + done.outcome));
        } catch (const error& failure) {
            complain(failure.what());
            status = exit_failure;
        }
    }
    return status;
}

}  // namespace prof
