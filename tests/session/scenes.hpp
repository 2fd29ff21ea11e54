// SPDX-License-Identifier: Apache-2.0
// What programs need that are run as victims scene by scene. Those that are not linked to libprof may have it all the
// same.
#pragma once

#include <dlfcn.h>
#include <prof/prof.h>
#include <prof/range.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

namespace prof::test {

inline void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::_Exit(20);
}

// A function of libprof's; null without it.
template <typename TFunction>
TFunction* of_libprof(const char* name) {
    return reinterpret_cast<TFunction*>(dlsym(RTLD_DEFAULT, name));
}

// What main returns: 3 when the scene has come to its end, 2 if there is none of that name.
inline int play(const char* name, const std::map<std::string, std::function<void()>>& scenes) {
    const auto found = scenes.find(name != nullptr ? name : "");
    if (found == scenes.end()) return 2;
    found->second();
    (void)std::puts("done");
    (void)std::fflush(stdout);
    return 3;
}

}  // namespace prof::test
