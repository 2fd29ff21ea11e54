// What a capture says about its process, as text properties (docs/reference/capture-format.md lists them).
#pragma once

#include "collect/history/retention.hpp"
#include "options/options.hpp"
#include "ring/region.hpp"
#include "session/process.hpp"

namespace prof {

property_list capture_properties(const session_options& options, const process_facts& facts, const region& rings);

}  // namespace prof
