// What programs need that are run as victims scene by scene. They are not linked to libprof, which may be there all the
// same.
#pragma once

#include <dlfcn.h>
#include <prof/prof.h>
#include <prof/range.hpp>

#include <cstdio>
#include <cstdlib>

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

}  // namespace prof::test
