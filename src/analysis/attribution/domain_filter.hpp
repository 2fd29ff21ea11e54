// SPDX-License-Identifier: Apache-2.0
// Selects the NVTX domains that are shown. Ranges of a hidden domain have no rows and no self time: their work goes to
// the next enclosing range that is kept. Pure functions; one pattern match for each domain and pattern.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// Shell patterns for domain names. NVTX's default domain, which has no name, is matched as "default".
struct domain_filter {
    std::vector<std::string> include;  // empty: all
    std::vector<std::string> exclude;  // takes precedence over `include`

    bool empty() const noexcept { return include.empty() && exclude.empty(); }
    bool keeps(std::string_view domain) const;
};

// A line for each pattern that matches no domain of the timeline's ranges, with the domains that they have.
std::vector<std::string> patterns_in_vain(const timeline& data, const domain_filter& filter);

// The domains of one timeline that a filter hides.
class hidden_domains {
public:
    hidden_domains() = default;
    hidden_domains(const timeline& data, const domain_filter& filter);

    bool any() const noexcept { return !hidden_.empty(); }
    bool contains(std::uint16_t domain) const noexcept { return domain < hidden_.size() && hidden_[domain] != 0; }
    bool contains(const timeline_range& range) const noexcept { return contains(range.domain); }
    // The innermost range open at `node` (an index into timeline::open_nodes, or npos) that is kept; npos: none.
    range_id innermost_kept(const timeline& data, open_node_id node) const noexcept {
        for (; node != npos; node = data.open_nodes[node].below) {
            const range_id range = data.open_nodes[node].range;
            if (!contains(data.ranges[range])) return range;
        }
        return npos;
    }

private:
    std::vector<std::uint8_t> hidden_;  // by domain; empty if none is hidden
};

}  // namespace prof
