#pragma once

namespace prof {

inline constexpr const char* library_version = PROF_VERSION_STRING;

}  // namespace prof
