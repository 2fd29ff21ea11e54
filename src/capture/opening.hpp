// SPDX-License-Identifier: Apache-2.0
// The properties at the beginning of a capture, which describe the process before anything that it recorded.
#pragma once

#include <map>
#include <string>

#include "capture/reader.hpp"

namespace prof {

using property_map = std::map<std::string, std::string>;

// Returns the properties at the front of the capture, or of the key frame with which it begins. Stops at the first
// chunk of another type, so it does not read the rest of a long file. REQUIRES: `reader` is at the beginning.
property_map opening_properties(capture_reader& reader);

}  // namespace prof
