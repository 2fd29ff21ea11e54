// SPDX-License-Identifier: Apache-2.0
// What a capture says of its process, and which processes of several matter most. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "report/report_document.hpp"
#include "timeline/timeline.hpp"

namespace prof {

captured_process process_of(const timeline& data);

// Which of the processes an outline of all has tables of: of a job with several ranks the process of each rank that did
// most; else the processes with GPU work, and where there are none the one with the most ranges that was not forked by
// another. At most `most`.
std::vector<bool> processes_with_tables(std::span<const captured_process> processes, std::size_t most);

}  // namespace prof
