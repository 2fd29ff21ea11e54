// In a capture a text may have several ids, one after the other (docs/capture-format.md). Whoever reads it compares
// ids, so each text gets one of them.
#pragma once

#include "timeline/contents.hpp"

namespace prof {

// Afterwards no two ids have the same text, and everything refers to those that are left. Memory for a time: some tens
// of bytes for each id.
void give_each_name_one_id(capture_contents& contents);

}  // namespace prof
