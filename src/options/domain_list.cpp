// SPDX-License-Identifier: Apache-2.0
#include "options/domain_list.hpp"

#include <utility>

#include "base/text.hpp"

namespace prof {

bool parse_domain_list(std::string_view list, std::vector<std::string>& patterns) {
    std::vector<std::string> found;
    // An escape stays in the pattern: fnmatch takes it away.
    for (const std::string_view pattern : split(list, ',', '\\')) {
        if (pattern.empty()) return false;
        found.emplace_back(pattern);
    }
    patterns = std::move(found);
    return true;
}

}  // namespace prof
