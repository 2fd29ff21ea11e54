// SPDX-License-Identifier: Apache-2.0
// The options of a recording as flags of `prof run`: one for each row of the options' table that has one, --output-dir
// for output_dir, with the values that the environment's PROF_OUTPUT_DIR takes. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "options/options.hpp"

namespace prof {

class run_options {
public:
    // Adds the flags to `arguments`.
    explicit run_options(command_arguments& arguments);

    // The options by flags and environment together; a flag stands above the environment. Throws usage_error for a
    // value that is not accepted.
    session_options resolve() const;

    // The variables that hand the flags on to the recording in the command: PROF_… names and values.
    std::map<std::string, std::string> variables() const;

private:
    // By the option's name: the text that a flag gives it.
    std::map<std::string, std::string> given() const;

    std::map<std::string, std::string> flags_;
    std::map<std::string, bool> negated_;   // --no-NAME
    std::vector<std::string> assignments_;  // --set PROF_X=value
};

}  // namespace prof
