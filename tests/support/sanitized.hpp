// SPDX-License-Identifier: Apache-2.0
// Whether the tests are built with a sanitizer. It finds in a part of many random cases what it finds in all of them,
// and takes several times as long; what is computed is checked in full without one.
#pragma once

#include <cstdint>

namespace prof::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

// So many of `all` random cases.
constexpr std::uint32_t random_cases(std::uint32_t all) { return is_sanitized ? all / 5 : all; }

}  // namespace prof::test
