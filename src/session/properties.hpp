// What a capture says about its process, as text properties (docs/capture-format.md lists them).
#pragma once

#include "capture/writer.hpp"
#include "ring/region.hpp"
#include "session/options.hpp"
#include "session/process.hpp"

namespace prof {

void write_properties(capture_writer& out, const session_options& options, const process_facts& facts,
                      const region& rings);

}  // namespace prof
