// SPDX-License-Identifier: Apache-2.0
#include "cupti_functions.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

cupti_functions loaded;

void* open_library(const char* path) {
    if (path == nullptr) {
        path = std::getenv("CONFORMANCE_CUPTI");
    }
    if (path != nullptr) {
        return dlopen(path, RTLD_NOW);
    }
    for (const char* place :
         {"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"}) {
        if (void* library = dlopen(place, RTLD_NOW)) {
            return library;
        }
    }
    return nullptr;
}

template <class TFunction>
void find(void* library, const char* name, TFunction& function) {
    function = reinterpret_cast<TFunction>(dlsym(library, name));
    if (function == nullptr) {
        std::fprintf(stderr, "cupti_conformance: libcupti has no %s\n", name);
        std::exit(1);
    }
}

}  // namespace

void load_cupti(const char* path) {
    void* library = open_library(path);
    if (library == nullptr) {
        std::fprintf(stderr, "cupti_conformance: no libcupti: %s\n", dlerror());
        std::exit(1);
    }
#define CUPTI_FUNCTION(name) find(library, #name, loaded.name);
#include "cupti_functions.inc"
#undef CUPTI_FUNCTION
}

const cupti_functions& cupti() { return loaded; }
