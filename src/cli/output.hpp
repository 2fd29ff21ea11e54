// SPDX-License-Identifier: Apache-2.0
// Checks the file that `prof report` or `prof export` is to write. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/outcome.hpp"

namespace prof {

// Fails for the files of `inputs`, under any name, and for every other capture: what it contains could not be made
// again.
outcome check_output(const std::string& output, const std::vector<std::string>& inputs);

// Fails if the file cannot be made or replaced, before the work that it is for.
outcome check_place(const std::string& output);

}  // namespace prof
