// Which NVTX domains are looked at. Ranges of a hidden domain are no rows and take no self time: their work goes to the
// next enclosing range that is kept. Pure functions; one pattern match for each domain and pattern.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// Shell patterns of domain names; NVTX's default domain, which has no name, goes by "default".
struct domain_filter {
    std::vector<std::string> include;  // none: all
    std::vector<std::string> exclude;  // stronger than `include`

    bool empty() const noexcept { return include.empty() && exclude.empty(); }
    bool keeps(std::string_view domain) const;
};

// The domains of one timeline that a filter hides.
class hidden_domains {
public:
    hidden_domains() = default;
    hidden_domains(const timeline& data, const domain_filter& filter);

    bool any() const noexcept { return !hidden_.empty(); }
    bool contains(std::uint16_t domain) const noexcept { return domain < hidden_.size() && hidden_[domain] != 0; }
    bool contains(const timeline_range& range) const noexcept { return contains(range.domain); }
    // Of the ranges that are open at `node`, one of timeline::open_nodes or npos; npos: none is kept.
    std::uint32_t innermost_kept(const timeline& data, std::uint32_t node) const noexcept {
        for (; node != npos; node = data.open_nodes[node].below) {
            const std::uint32_t range = data.open_nodes[node].range;
            if (!contains(data.ranges[range])) return range;
        }
        return npos;
    }

private:
    std::vector<std::uint8_t> hidden_;  // per domain; empty when none is
};

}  // namespace prof
