// The options of a recording as flags of `prof run`: one flag for each entry of the session's table, --output-dir for
// output_dir, with the same values as the environment's PROF_OUTPUT_DIR takes. One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "options/options.hpp"

namespace prof {

class run_options {
public:
    // Adds the flags to `arguments`.
    explicit run_options(command_arguments& arguments);

    // What flags and environment say together; a flag stands above the environment. Throws usage_error for a
    // value that is not accepted.
    session_options resolve() const;

    // The variables that hand the flags on to the recording in the command: PROF_… names and values.
    std::map<std::string, std::string> variables() const;

private:
    // Option's name in the table → the value its flag was given.
    std::map<std::string, std::string> given() const;

    std::map<std::string, std::string> flags_;
    std::vector<std::string> assignments_;  // --set PROF_X=value
    bool no_adopt_ = false;
    bool no_fold_ = false;
};

// output_dir → PROF_OUTPUT_DIR
std::string variable_of(std::string_view option);

}  // namespace prof
