// SPDX-License-Identifier: Apache-2.0
// What must hold for a program that met faults: no record is lost unless the loss is reported.
#pragma once

#include <string>
#include <vector>

#include "faults/journal.hpp"

namespace prof::test {

// What happened to the program, as far as it excuses a loss.
struct circumstances {
    bool was_killed = false;  // or ended without its exit handlers
    bool output_was_removed = false;
    bool unlink_failed = false;
    bool disk_stands_still = false;  // a call to it never came back
    bool stderr_fails = false;       // libprof cannot write to standard error
    std::string error_output;        // the program's
};

// What is wrong with the captures in `directory` of a program that has done what its journal says; nothing if all is
// well. One line each.
std::vector<std::string> shortcomings(const std::string& directory, const journal& done, const circumstances& how);

}  // namespace prof::test
