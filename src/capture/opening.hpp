// What a process says of itself before anything that it recorded.
#pragma once

#include <map>
#include <string>

#include "capture/reader.hpp"

namespace prof {

using property_map = std::map<std::string, std::string>;

// The properties with which the capture begins, or the key frame that does. Reads to the first chunk of another type,
// and leaves the rest of the file, which may be long, unread. `reader` is at the beginning.
property_map opening_properties(capture_reader& reader);

}  // namespace prof
