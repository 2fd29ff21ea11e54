// SPDX-License-Identifier: Apache-2.0
// The sections of the truth program: what is launched where, under which ranges, known in advance.
#pragma once

#include <string>
#include <vector>

#include "journal.hpp"

namespace truth {

// "nested", "streams", … ; each stands by itself.
const std::vector<std::string>& section_names();

// Runs them in this order on device 0 (and 1), and reads the stamps back. Returns the sections that were carried out;
// those that the machine has no devices for are left out. Ends the process with 1 on a CUDA error.
std::vector<std::string> run_sections(const std::vector<std::string>& wanted, journal& out);

// The devices' names.
std::string machine();

}  // namespace truth
