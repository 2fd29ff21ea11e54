// SPDX-License-Identifier: Apache-2.0
// For programs that are run with it preloaded: while libprof starts a recording and asks for the host's name, the
// program's function in_start() is called, once.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>

extern "C" __attribute__((visibility("default"))) int gethostname(char* name, std::size_t size) {
    static const auto next = reinterpret_cast<decltype(&::gethostname)>(dlsym(RTLD_NEXT, "gethostname"));
    static std::atomic<bool> was_called{false};
    const auto in_start = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "in_start"));
    if (in_start != nullptr && !was_called.exchange(true)) in_start();
    return next(name, size);
}
