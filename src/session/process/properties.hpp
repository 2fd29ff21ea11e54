// SPDX-License-Identifier: Apache-2.0
// The text properties of a capture that describe its process (docs/reference/capture-format.md lists them). Setup code,
// on the thread that makes a capture's first record. It allocates.
#pragma once

#include <string>

#include "collect/history/retention.hpp"
#include "options/options.hpp"
#include "ring/region.hpp"
#include "session/process/process.hpp"

namespace prof {

// "580.159.04", the first line of the kernel module's version file; "" where there is none. Reads a file of /sys.
std::string driver_version();

// `driver`: driver_version(). `start`: start_of_process() of this one.
property_list capture_properties(const session_options& options, const process_facts& facts, const region& rings,
                                 const std::string& driver, const std::string& start);

}  // namespace prof
