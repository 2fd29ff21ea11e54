// SPDX-License-Identifier: Apache-2.0
// Names that differ in numbers alone. A pure function.
#pragma once

#include <string>
#include <string_view>

namespace prof {

// "triton_poi_fused_add_3" becomes "triton_poi_fused_add_#".
inline std::string without_numbers(std::string_view name) {
    std::string out;
    for (const char each : name) {
        if (each < '0' || each > '9') {
            out += each;
        } else if (!out.ends_with('#')) {
            out += '#';
        }
    }
    return out;
}

}  // namespace prof
