// SPDX-License-Identifier: Apache-2.0
// The scenario, section by section. Each runs in a process of its own, so that one that crashes, or leaves CUPTI in a
// state of its own, does not touch the others.
#pragma once

#include <string>
#include <utility>
#include <vector>

using section = void (*)();

// In the order of the log.
const std::vector<std::pair<std::string, section>>& sections();
