// SPDX-License-Identifier: Apache-2.0
// Preloaded, it reports on stderr each thread named "prof-…" that calls malloc, calloc or free: the C library gives a
// thread an arena at its first such call.
#include <pthread.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#define PROF_EXPORT __attribute__((visibility("default")))

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void __libc_free(void* block);
}

namespace {

__thread bool is_reporting __attribute__((tls_model("initial-exec"))) = false;

void report(const char* what) noexcept {
    if (is_reporting) return;
    is_reporting = true;
    char name[32] = "";
    char line[96];
    if (pthread_getname_np(pthread_self(), name, sizeof name) == 0 && std::strncmp(name, "prof-", 5) == 0) {
        const int bytes = std::snprintf(line, sizeof line, "%s calls %s\n", name, what);
        (void)!write(STDERR_FILENO, line, static_cast<std::size_t>(bytes));
    }
    is_reporting = false;
}

}  // namespace

extern "C" {

PROF_EXPORT void* malloc(std::size_t bytes) noexcept {
    report("malloc");
    return __libc_malloc(bytes);
}
PROF_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
    report("calloc");
    return __libc_calloc(count, bytes);
}
PROF_EXPORT void free(void* block) noexcept {
    if (block != nullptr) report("free");
    __libc_free(block);
}

}  // extern "C"
