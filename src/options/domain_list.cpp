#include "options/domain_list.hpp"

#include <algorithm>
#include <utility>

namespace prof {

bool parse_domain_list(std::string_view list, std::vector<std::string>& patterns) {
    std::vector<std::string> found(1);
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i] == ',') {
            found.emplace_back();
            continue;
        }
        found.back() += list[i];
        // What is escaped stays so: fnmatch takes the backslash away.
        if (list[i] == '\\' && i + 1 < list.size()) found.back() += list[++i];
    }
    if (std::any_of(found.begin(), found.end(), [](const std::string& pattern) { return pattern.empty(); })) {
        return false;
    }
    patterns = std::move(found);
    return true;
}

}  // namespace prof
