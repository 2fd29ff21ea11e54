// SPDX-License-Identifier: Apache-2.0
// Whether the tests are built with a sanitizer. It finds in a part of many random cases what it finds in all of them,
// and takes several times as long; what is computed is checked in full without one.
#pragma once

#include <cstdint>

namespace prof::test {

#if defined(__has_feature)
#define PROF_HAS_SANITIZER(name) __has_feature(name##_sanitizer)
#else
#define PROF_HAS_SANITIZER(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || PROF_HAS_SANITIZER(thread)
inline constexpr bool is_thread_sanitized = true;
#else
inline constexpr bool is_thread_sanitized = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || PROF_HAS_SANITIZER(address)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = is_thread_sanitized;
#endif
#undef PROF_HAS_SANITIZER

// So many of `all` random cases.
constexpr std::uint32_t random_cases(std::uint32_t all) { return is_sanitized ? all / 10 : all; }

}  // namespace prof::test

// Begins a test of what one thread computes for long. There are no races to be found.
#define PROF_TESTS_ONE_THREAD() \
    if constexpr (::prof::test::is_thread_sanitized) GTEST_SKIP() << "one thread has no races"
