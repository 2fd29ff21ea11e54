// SPDX-License-Identifier: Apache-2.0
// What one seed draws: the options of a recording, and the faults that it meets.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "faults/fault.hpp"

namespace prof::test {

struct scenario {
    std::map<std::string, std::string> options;  // PROF_… variables, and those of the simulated GPU
    std::vector<fault> faults;
    bool has_small_rings = false;  // on a file system of their own, which a fault fills
};

scenario draw(std::uint64_t seed);

}  // namespace prof::test
