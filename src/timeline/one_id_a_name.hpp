// SPDX-License-Identifier: Apache-2.0
// Makes name ids comparable. In a capture one text may have several ids, one after the other
// (docs/reference/capture-format.md); afterwards each text has one id.
#pragma once

#include "timeline/contents.hpp"

namespace prof {

// Replaces all references to duplicate ids, so that no two ids have the same text. Linear in names and records.
// Temporary memory: some tens of bytes for each id.
void give_each_name_one_id(capture_contents& contents);

}  // namespace prof
