// SPDX-License-Identifier: Apache-2.0
// The name of a range that the user of libprof has chosen: the options step_range and nvtx_capture. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace prof {

// "name": a range of this name in any domain. "name@domain": in that domain. "name@default": in NVTX's default domain.
// "name@*": in any. The domain begins after the last @.
struct range_name {
    range_name() = default;
    explicit range_name(std::string named, std::optional<std::string> in = std::nullopt)
        : name(std::move(named)), domain(std::move(in)) {}

    std::string name;  // "": no range was chosen
    std::optional<std::string> domain;

    bool empty() const noexcept { return name.empty(); }
    std::string text() const { return domain ? name + '@' + *domain : name; }

    bool operator==(const range_name&) const = default;
};

// None where the name or the domain is empty.
inline std::optional<range_name> parse_range_name(std::string_view text) {
    const std::size_t separator = text.rfind('@');
    if (text.empty() || separator == 0 || separator == text.size() - 1) return std::nullopt;
    if (separator == std::string_view::npos) return range_name(std::string(text));
    return range_name(std::string(text.substr(0, separator)), std::string(text.substr(separator + 1)));
}

}  // namespace prof
