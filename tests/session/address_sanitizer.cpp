// The address sanitizer looks for leaks when a program exits, and locks its allocator for that. In a forked child
// another thread of the parent's may hold the lock for good (clang 16), so nobody looks there.
#include <unistd.h>

namespace {

const pid_t parent = getpid();

}  // namespace

extern "C" int __lsan_is_turned_off() { return getpid() == parent ? 0 : 1; }
