// SPDX-License-Identifier: Apache-2.0
#include "analysis/attribution/domain_filter.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "base/display_text.hpp"

namespace prof {
namespace {

bool matches_any(const std::vector<std::string>& patterns, const std::string& name) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
}

std::string shown_name(const timeline& data, std::size_t domain) {
    return domain == 0 ? "default" : data.domains[domain].name;
}

// Of the timeline's ranges, each once.
std::vector<std::string> domains_of_ranges(const timeline& data) {
    std::vector<char> is_used(data.domains.size(), 0);
    for (const timeline_range& range : data.ranges) is_used[range.domain] = 1;
    std::vector<std::string> out;
    for (std::size_t i = 0; i < is_used.size(); ++i) {
        if (is_used[i] != 0) out.push_back(shown_name(data, i));
    }
    return out;
}

// "default, NCCL"; many or long names are cut.
std::string listed(const std::vector<std::string>& domains) {
    constexpr std::size_t most = 8;
    constexpr std::size_t most_cells = 40;
    std::string out;
    for (std::size_t i = 0; i < std::min(domains.size(), most); ++i) {
        out.append(i == 0 ? "" : ", ").append(shortened(domains[i], most_cells));
    }
    return domains.size() > most ? out + ", …" : out;
}

}  // namespace

std::vector<std::string> patterns_in_vain(const timeline& data, const domain_filter& filter) {
    std::vector<std::string> out;
    if (filter.empty() || data.ranges.empty()) return out;
    const std::vector<std::string> domains = domains_of_ranges(data);
    const auto add = [&](std::string_view option, const std::vector<std::string>& patterns) {
        for (const std::string& pattern : patterns) {
            const bool is_of_one = std::any_of(domains.begin(), domains.end(),
                                               [&](const std::string& name) { return matches_any({pattern}, name); });
            if (is_of_one) continue;
            std::string line(option);
            line += ": no range has the domain \"" + pattern + "\"; there are ranges of " + listed(domains);
            out.push_back(std::move(line));
        }
    };
    add("nvtx_domain_include", filter.include);
    add("nvtx_domain_exclude", filter.exclude);
    return out;
}

bool domain_filter::keeps(std::string_view domain) const {
    const std::string name{domain};
    return (include.empty() || matches_any(include, name)) && !matches_any(exclude, name);
}

hidden_domains::hidden_domains(const timeline& data, const domain_filter& filter) {
    if (filter.empty()) return;
    bool any_hidden = false;
    hidden_.resize(data.domains.size(), 0);
    for (std::size_t i = 0; i < data.domains.size(); ++i) {
        const bool hidden = !filter.keeps(shown_name(data, i));
        hidden_[i] = hidden ? 1 : 0;
        any_hidden = any_hidden || hidden;
    }
    if (!any_hidden) hidden_.clear();
}

}  // namespace prof
