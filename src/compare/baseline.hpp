// SPDX-License-Identifier: Apache-2.0
// Runs as a small file of JSON, in place of their captures: what a comparison needs of them, and the machine that they
// are of. docs/reference/baseline.schema.json has its members, docs/reference/compare.md what they mean.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compare/run_profile.hpp"

namespace prof {

struct baseline {
    // What runs must have that are compared with it: "host", "GPU", "highest GPU clock". Without one: of any.
    std::map<std::string, std::string> machine{};
    std::string libprof{};  // the version that made it
    std::vector<run_profile> runs{};
    std::vector<std::string> notes{};  // what was left out
};

// Of these runs. `any_host`: valid for each machine with the same GPU. Throws prof::error, which names the file, where
// the runs are of several machines. REQUIRES: there is a run.
baseline baseline_of(std::vector<run_profile> runs, bool any_host);

// The file's text. Of a run with many steps each length is the mean of several, and of a long list the rows with the
// least time are left out, as `notes` has it.
std::string baseline_text(const baseline& of);

// Whether the file begins as a baseline does; false if it cannot be read. Reads some bytes.
bool is_baseline(const std::string& path);

// Throws prof::error, which names the file, if it is none, or of a version that is not known.
baseline read_baseline(const std::string& path);

// How these runs' machine differs: "host is node7, and b here; GPU …"; "": not at all. What is not known of the runs
// differs, too.
std::string other_machine(const baseline& of, const std::vector<run_profile>& runs);

}  // namespace prof
