// SPDX-License-Identifier: Apache-2.0
// Whether this is compiled with the thread sanitizer, which asks for another way in a few places.
#pragma once

namespace prof {

#ifdef __SANITIZE_THREAD__
inline constexpr bool has_thread_sanitizer = true;
#elif defined(__has_feature)
inline constexpr bool has_thread_sanitizer = __has_feature(thread_sanitizer);
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

}  // namespace prof
