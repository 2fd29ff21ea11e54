// SPDX-License-Identifier: Apache-2.0
// Loaded before libprof, it stands between it and the C library, and has libprof's calls meet the faults of the
// variable FAULTS (fault.hpp). Calls of the program and of other libraries are handed on as they are. What happened is
// counted in the file that FAULTS_REPORT names.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <ctime>

#include <string_view>

#include "faults/faulty_calls.hpp"

using prof::test::die;
using prof::test::faulty_call;
using prof::test::meet;
using prof::test::verdict;

#define PROF_EXPORT __attribute__((visibility("default")))
#define PROF_NEXT(name) static const auto next = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name))
#define PROF_CALLER __builtin_return_address(0)

// A function that fails with `failed` and errno.
#define PROF_FAULTY(result, name, kind, parameters, arguments, failed, ...) \
    PROF_EXPORT result name parameters __VA_ARGS__ {                        \
        PROF_NEXT(name);                                                    \
        const verdict met = meet(faulty_call::kind, PROF_CALLER);           \
        if (met.dies) die();                                                \
        if (met.error == 0) return next arguments;                          \
        errno = met.error;                                                  \
        return failed;                                                      \
    }

extern "C" {

void* __libc_malloc(std::size_t bytes);  // the C library's own

PROF_FAULTY(int, accept4, accept4, (int fd, sockaddr* to, socklen_t* size, int flags), (fd, to, size, flags), -1)
PROF_FAULTY(int, bind, bind, (int fd, const sockaddr* to, socklen_t size), (fd, to, size), -1, noexcept)
PROF_FAULTY(int, chmod, chmod, (const char* path, mode_t mode), (path, mode), -1, noexcept)
PROF_FAULTY(int, connect, connect, (int fd, const sockaddr* to, socklen_t size), (fd, to, size), -1)
PROF_FAULTY(int, fallocate, fallocate, (int fd, int mode, off_t at, off_t bytes), (fd, mode, at, bytes), -1)
PROF_FAULTY(int, flock, flock, (int fd, int what), (fd, what), -1, noexcept)
PROF_FAULTY(FILE*, fopen64, fopen, (const char* path, const char* mode), (path, mode), nullptr)
PROF_FAULTY(int, fstat, fstat, (int fd, struct stat* out), (fd, out), -1, noexcept)
PROF_FAULTY(int, ftruncate, ftruncate, (int fd, off_t bytes), (fd, bytes), -1, noexcept)
PROF_FAULTY(ssize_t, getrandom, getrandom, (void* to, std::size_t bytes, unsigned flags), (to, bytes, flags), -1)
PROF_FAULTY(int, linkat, linkat, (int from, const char* path, int to, const char* name, int flags),
            (from, path, to, name, flags), -1, noexcept)
PROF_FAULTY(int, listen, listen, (int fd, int most), (fd, most), -1, noexcept)
PROF_FAULTY(int, mkdir, mkdir, (const char* path, mode_t mode), (path, mode), -1, noexcept)
PROF_FAULTY(void*, mmap, mmap, (void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset),
            (at, bytes, protection, flags, fd, offset), MAP_FAILED, noexcept)
PROF_FAULTY(DIR*, opendir, opendir, (const char* path), (path), nullptr)
PROF_FAULTY(int, poll, poll, (pollfd * all, nfds_t count, int ms), (all, count, ms), -1)
PROF_FAULTY(ssize_t, readlink, readlink, (const char* path, char* to, std::size_t bytes), (path, to, bytes), -1,
            noexcept)
PROF_FAULTY(int, rename, rename, (const char* from, const char* to), (from, to), -1, noexcept)
PROF_FAULTY(int, renameat2, rename, (int from, const char* old_name, int to, const char* name, unsigned flags),
            (from, old_name, to, name, flags), -1, noexcept)
PROF_FAULTY(int, sched_getaffinity, sched_getaffinity, (pid_t who, std::size_t bytes, cpu_set_t* out),
            (who, bytes, out), -1, noexcept)
PROF_FAULTY(int, socket, socket, (int family, int type, int protocol), (family, type, protocol), -1, noexcept)
PROF_FAULTY(int, socketpair, socket, (int family, int type, int protocol, int* pair), (family, type, protocol, pair),
            -1, noexcept)
PROF_FAULTY(int, statfs, statfs, (const char* path, struct statfs* out), (path, out), -1, noexcept)
PROF_FAULTY(int, unlink, unlink, (const char* path), (path), -1, noexcept)

PROF_EXPORT int open(const char* path, int flags, ...) {
    PROF_NEXT(open);
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    // The kernel's own files lie on no disk.
    const verdict met = meet(faulty_call::open, PROF_CALLER, !std::string_view(path).starts_with("/proc/"));
    if (met.dies) die();
    if (met.error == 0) return next(path, flags, mode);
    errno = met.error;
    return -1;
}

PROF_EXPORT ssize_t write(int descriptor, const void* bytes, std::size_t count) {
    PROF_NEXT(write);
    const verdict met = meet(faulty_call::write, PROF_CALLER);
    if (met.error != 0 && !met.dies) {
        errno = met.error;
        return -1;
    }
    const std::size_t part = met.per_cent == 100 ? count : count * static_cast<std::size_t>(met.per_cent) / 100;
    const ssize_t written = next(descriptor, bytes, met.dies ? part : std::max<std::size_t>(part, count != 0 ? 1 : 0));
    if (met.dies) die();
    return written;
}

PROF_EXPORT ssize_t writev(int descriptor, const iovec* parts, int count) {
    PROF_NEXT(writev);
    const verdict met = meet(faulty_call::writev, PROF_CALLER);
    if (met.dies) die();
    if (met.error == 0) return next(descriptor, parts, count);
    errno = met.error;
    return -1;
}

PROF_EXPORT ssize_t pread(int descriptor, void* to, std::size_t count, off_t at) {
    PROF_NEXT(pread);
    const verdict met = meet(faulty_call::pread, PROF_CALLER);
    if (met.dies) die();
    if (met.error != 0) {
        errno = met.error;
        return -1;
    }
    const std::size_t part = met.per_cent == 100 ? count : count * static_cast<std::size_t>(met.per_cent) / 100;
    return next(descriptor, to, std::max<std::size_t>(part, count != 0 ? 1 : 0), at);
}

PROF_EXPORT int posix_fallocate(int descriptor, off_t at, off_t bytes) {
    PROF_NEXT(posix_fallocate);
    const verdict met = meet(faulty_call::posix_fallocate, PROF_CALLER);
    if (met.dies) die();
    return met.error == 0 ? next(descriptor, at, bytes) : met.error;
}

PROF_EXPORT int pthread_create(pthread_t* out, const pthread_attr_t* how, void* (*run)(void*), void* what) noexcept {
    PROF_NEXT(pthread_create);
    const verdict met = meet(faulty_call::pthread_create, PROF_CALLER);
    if (met.dies) die();
    return met.error == 0 ? next(out, how, run, what) : met.error;
}

// The C library sets errno, as for any missing file.
PROF_EXPORT void* dlopen(const char* path, int flags) noexcept {
    PROF_NEXT(dlopen);
    const verdict met = meet(faulty_call::dlopen, PROF_CALLER);
    if (met.dies) die();
    return next(met.error == 0 ? path : "/nothing/is/here.so", flags);
}

PROF_EXPORT void* malloc(std::size_t bytes) noexcept {
    const verdict met = meet(faulty_call::malloc, PROF_CALLER);
    if (met.dies) die();
    if (met.error == 0) return __libc_malloc(bytes);
    errno = ENOMEM;
    return nullptr;
}

PROF_EXPORT int clock_gettime(clockid_t clock, timespec* out) noexcept {
    PROF_NEXT(clock_gettime);
    (void)meet(faulty_call::clock_gettime, PROF_CALLER);
    const int result = next(clock, out);
    if (clock == CLOCK_REALTIME) out->tv_sec += prof::test::clock_jump_s(PROF_CALLER);
    return result;
}

// A jump takes the moment that is waited for with it.
PROF_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* end) {
    PROF_NEXT(pthread_cond_timedwait);
    const timespec real{end->tv_sec - prof::test::clock_jump_s(PROF_CALLER), end->tv_nsec};
    return next(condition, mutex, &real);
}
PROF_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* end) noexcept {
    PROF_NEXT(pthread_mutex_timedlock);
    const timespec real{end->tv_sec - prof::test::clock_jump_s(PROF_CALLER), end->tv_nsec};
    return next(mutex, &real);
}
PROF_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* end) {
    PROF_NEXT(sem_timedwait);
    const timespec real{end->tv_sec - prof::test::clock_jump_s(PROF_CALLER), end->tv_nsec};
    return next(semaphore, &real);
}

}  // extern "C"
