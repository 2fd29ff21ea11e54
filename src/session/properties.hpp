// The text properties of a capture that describe its process (docs/reference/capture-format.md lists them). Setup code,
// on the thread that makes a capture's first record: reads a file of /sys, allocates.
#pragma once

#include "collect/history/retention.hpp"
#include "options/options.hpp"
#include "ring/region.hpp"
#include "session/process.hpp"

namespace prof {

property_list capture_properties(const session_options& options, const process_facts& facts, const region& rings);

}  // namespace prof
