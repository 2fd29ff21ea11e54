// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution/domain_filter.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace prof {
namespace {

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

}  // namespace

bool domain_filter::keeps(std::string_view domain) const {
    const std::string name{domain};
    return (include.empty() || matches_any(include, name)) && !matches_any(exclude, name);
}

hidden_domains::hidden_domains(const timeline& data, const domain_filter& filter) {
    if (filter.empty()) return;
    bool any_hidden = false;
    hidden_.resize(data.domains.size(), 0);
    for (std::size_t i = 0; i < data.domains.size(); ++i) {
        const bool hidden = !filter.keeps(i == 0 ? std::string_view{"default"} : data.domains[i].name);
        hidden_[i] = hidden ? 1 : 0;
        any_hidden = any_hidden || hidden;
    }
    if (!any_hidden) hidden_.clear();
}

}  // namespace prof
