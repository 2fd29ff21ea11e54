// SPDX-License-Identifier: Apache-2.0
// A signal handler interrupts the allocator, and makes ranges there. The allocator of this program says so, and ends
// the program, if it is called again on a thread that is inside it:
//
//   allocator_signals_victim thread | process | child
//
// thread: the handler makes a thread's first range, while another thread has recorded. process: the first of the
// process. child: the first of a forked child. A range outside of handlers follows each.
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {

__thread bool is_in_allocator = false;
__thread bool is_to_be_interrupted = false;

// An entry of the allocator, which a signal may interrupt.
class entry {
public:
    entry() {
        if (is_in_allocator) {
            constexpr char line[] = "the allocator was called inside the allocator\n";
            (void)!write(STDOUT_FILENO, line, sizeof line - 1);
            _exit(9);
        }
        is_in_allocator = true;
        if (is_to_be_interrupted) {
            is_to_be_interrupted = false;
            (void)raise(SIGUSR1);
        }
    }
    ~entry() { is_in_allocator = false; }
};

bool by_nvtx = false;  // its first call in a process loads its tool, and allocates for that

void make_range(const char* name) {
    if (by_nvtx) {
        (void)nvtxRangePushA(name);
        (void)nvtxRangePop();
    } else {
        (void)prof_range_push(name);
        (void)prof_range_pop();
    }
}

void on_signal(int) { make_range("in a handler"); }

void allocate_interrupted() {
    is_to_be_interrupted = true;
    std::free(std::malloc(100));
    if (is_to_be_interrupted) _exit(10);
}

void first_of_thread() {
    make_range("first");
    std::thread([] {
        allocate_interrupted();
        make_range("later");
    }).join();
}

void first_of_process() {
    allocate_interrupted();
    make_range("later");
}

void first_of_child() {
    by_nvtx = true;
    make_range("first");
    const pid_t child = fork();
    if (child == 0) {
        allocate_interrupted();
        make_range("later");
        std::exit(0);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    if (status != 0) std::printf("the child ended with %d\n", status);
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) {
    const entry here;
    return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
    const entry here;
    return __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
    const entry here;
    return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    const entry here;
    return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
    const entry here;
    *memory = __libc_memalign(alignment, bytes);
    return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
    const entry here;
    __libc_free(memory);
}
}

int main(int, char** argv) {
    const std::string_view scene = argv[1];
    signal(SIGUSR1, on_signal);
    (void)alarm(30);  // for a program that hangs
    if (scene == "thread") first_of_thread();
    if (scene == "process") first_of_process();
    if (scene == "child") first_of_child();
    std::puts("done");
}
