// SPDX-License-Identifier: Apache-2.0
// For programs under test: the simulated CUPTI that libprof has opened in them.
#pragma once

#include <dlfcn.h>

#include <cstdlib>

namespace prof::test {

// Ends the program if libprof has not opened it yet.
template <typename TFunction>
TFunction* of_the_fake_cupti(const char* name) {
    void* const library = dlopen(std::getenv("PROF_CUPTI_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
    auto* const found = library == nullptr ? nullptr : reinterpret_cast<TFunction*>(dlsym(library, name));
    if (found == nullptr) std::abort();
    return found;
}

}  // namespace prof::test
