// SPDX-License-Identifier: Apache-2.0
// A text's lines.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace prof {

inline std::vector<std::string> lines_of(const std::string& text, const std::string& end = "\n") {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = std::min(text.find(end, at), text.size());
        out.push_back(text.substr(at, next - at));
        at = next + end.size();
    }
    return out;
}

}  // namespace prof
