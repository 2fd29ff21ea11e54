// SPDX-License-Identifier: Apache-2.0
// For programs that are run with it preloaded: the host takes its time to say its name, and so whoever starts a
// recording, who asks for it, is at it for a while.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <thread>

extern "C" __attribute__((visibility("default"))) int gethostname(char* name, std::size_t size) {
    static const auto next = reinterpret_cast<decltype(&::gethostname)>(dlsym(RTLD_NEXT, "gethostname"));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return next(name, size);
}
