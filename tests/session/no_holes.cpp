// SPDX-License-Identifier: Apache-2.0
// A file system that makes no holes, for programs that are run with it preloaded.
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

extern "C" __attribute__((visibility("default"))) int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    if ((mode & FALLOC_FL_PUNCH_HOLE) != 0) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return static_cast<int>(syscall(SYS_fallocate, descriptor, mode, offset, length));
}
