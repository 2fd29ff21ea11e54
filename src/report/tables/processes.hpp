// SPDX-License-Identifier: Apache-2.0
// Several captures at a glance: a line for each process, in which processes that are alike are one line. A pure
// function.
#pragma once

#include <span>

#include "report/report_document.hpp"
#include "report/table.hpp"

namespace prof {

// By rank, then in the order given. Processes of one rank without GPU work that have the same program and ended alike
// are one line.
table processes_table(std::span<const captured_process> processes);

}  // namespace prof
