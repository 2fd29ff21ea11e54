// SPDX-License-Identifier: Apache-2.0
// The command line.
#pragma once

#include <optional>
#include <string>

#include "device.hpp"

namespace trainer {

enum class processor { automatic, cpu, gpu };

struct options {
    processor where = processor::automatic;
    precision matrix_precision = precision::tf32;
    bool check = false;
    bool help = false;
    // Left out: a size that suits the processor.
    std::optional<int> layers;
    std::optional<int> steps;
    std::optional<int> batch;
    std::optional<int> sequence;
    std::optional<int> width;
};

// Throws std::invalid_argument with a line for the user.
options parse_options(int argc, char** argv);
std::string usage();

}  // namespace trainer
