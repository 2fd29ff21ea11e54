// SPDX-License-Identifier: Apache-2.0
// What names of kernels consist of, by which rules of names go. Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace prof {

inline bool has_part(std::string_view name, std::string_view part) noexcept {
    return name.find(part) != std::string_view::npos;
}

template <std::size_t size>
bool has_one_of(std::string_view name, const std::string_view (&parts)[size]) noexcept {
    return std::any_of(std::begin(parts), std::end(parts), [&](std::string_view part) { return has_part(name, part); });
}

template <std::size_t size>
bool begins_with_one_of(std::string_view name, const std::string_view (&starts)[size]) noexcept {
    return std::any_of(std::begin(starts), std::end(starts),
                       [&](std::string_view start) { return name.starts_with(start); });
}

}  // namespace prof
