// SPDX-License-Identifier: Apache-2.0
// Preloaded, it has a program believe that it was made set-user-id.
#include <dlfcn.h>
#include <sys/auxv.h>

extern "C" __attribute__((visibility("default"))) unsigned long getauxval(unsigned long type) noexcept {
    static const auto next = reinterpret_cast<decltype(&::getauxval)>(dlsym(RTLD_NEXT, "getauxval"));
    return type == AT_SECURE ? 1 : next(type);
}
