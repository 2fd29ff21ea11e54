// SPDX-License-Identifier: Apache-2.0
#include "capture/opening.hpp"

#include <string_view>

#include "capture/payload.hpp"

namespace prof {

property_map opening_properties(capture_reader& reader) {
    property_map out;
    for (chunk part; reader.next(part);) {
        if (part.type == format::chunk_type::key_frame) continue;
        if (part.type != format::chunk_type::properties) break;
        for_each_property(part.payload,
                          [&](std::string_view key, std::string_view value) { out[std::string(key)] = value; });
    }
    return out;
}

}  // namespace prof
