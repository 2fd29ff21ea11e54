// SPDX-License-Identifier: Apache-2.0
#include "base/helper_thread.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

#include "base/own_memory.hpp"

namespace prof {
namespace {

// The helper threads that certainly exist: each counts itself from its first instruction to its last. Counting one too
// many would hide a thread of the program's.
std::atomic<unsigned> helper_threads{0};

// The same, and those that are being made: each is counted before.
std::atomic<unsigned> helper_threads_to_be{0};

// The cores that this thread may run on; none if they cannot be determined.
cpu_set_t allowed_cores() noexcept {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) CPU_ZERO(&cores);
    return cores;
}

const cpu_set_t cores_at_load = allowed_cores();

// Chooses the cores for a new thread. Returns false if it may run where this one does.
bool choose_other_cores(cpu_set_t& cores) noexcept {
    cores = allowed_cores();
    if (CPU_COUNT(&cores) != 1) return false;
    CPU_XOR(&cores, &cores, &cores_at_load);
    CPU_AND(&cores, &cores, &cores_at_load);
    return CPU_COUNT(&cores) != 0;
}

// Signals that a faulting instruction raises on its own thread. If they were blocked, the kernel would end the process
// without calling any handler.
constexpr int signals_of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

// SIGABRT stays blocked: a thread that calls abort() unblocks it itself, and one that is sent to the process is for the
// program.
sigset_t blocked_signals() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int number : signals_of_faults) sigdelset(&blocked, number);
    return blocked;
}

struct beginning {
    void* (*run)(void*);
    void* argument;
};

void count_end() noexcept {
    helper_threads_to_be.fetch_sub(1);
    helper_threads.fetch_sub(1);
}

// Not noexcept, and nothing in it is to be destroyed: pthread_exit may unwind it.
void* run_counted(void* argument) {
    helper_threads.fetch_add(1);
    takes_own_memory = true;
    const beginning begun = *static_cast<beginning*>(argument);
    delete static_cast<beginning*>(argument);
    void* const result = begun.run(begun.argument);
    count_end();
    return result;
}

// The least size of a stack. The thread-local variables of all libraries lie on it, too; glibc's function for that has
// no public name. 0: not known.
std::size_t least_stack_bytes() noexcept {
    using least_function = std::size_t(const pthread_attr_t*);
    static auto* const least = reinterpret_cast<least_function*>(dlsym(RTLD_DEFAULT, "__pthread_get_minstack"));
    pthread_attr_t attributes;
    if (least == nullptr || pthread_attr_init(&attributes) != 0) return 0;
    const std::size_t bytes = least(&attributes);
    pthread_attr_destroy(&attributes);
    return bytes;
}

// As loaded: a library that is loaded later has few thread-local variables there, or none.
const std::size_t least_stack_at_load = least_stack_bytes();

// Where the size cannot be had, or is refused, the thread has the usual stack.
void choose_stack(pthread_attr_t& attributes) noexcept {
    constexpr std::size_t page = 65536;  // the largest of any supported system
    if (least_stack_at_load == 0) return;
    const std::size_t bytes = (least_stack_at_load + small_stack_bytes + page - 1) / page * page;
    (void)pthread_attr_setstacksize(&attributes, bytes);
}

int create_as_asked(pthread_t& thread, beginning* begun, stack_room room, const cpu_set_t* cores) noexcept {
    pthread_attr_t attributes;
    int result = pthread_attr_init(&attributes);
    if (result != 0) return result;
    if (room == stack_room::small) choose_stack(attributes);
    if (cores != nullptr) result = pthread_attr_setaffinity_np(&attributes, sizeof *cores, cores);
    if (result == 0) result = pthread_create(&thread, &attributes, run_counted, begun);
    pthread_attr_destroy(&attributes);
    return result;
}

int create_elsewhere(pthread_t& thread, beginning* begun, stack_room room) noexcept {
    cpu_set_t cores;
    const bool is_elsewhere = choose_other_cores(cores);
    const int result = create_as_asked(thread, begun, room, is_elsewhere ? &cores : nullptr);
    // The process may have lost the right to use those cores since it began.
    return is_elsewhere && result == EINVAL ? create_as_asked(thread, begun, room, nullptr) : result;
}

// Opens no descriptor: a program that closes and reopens its standard streams relies on their numbers.
bool main_thread_has_ended() noexcept {
    char path[64];
    char target[1];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/cwd", static_cast<int>(getpid()));
    return readlink(path, target, sizeof target) < 0;
}

// How many threads of this process are not among those that are counted; 0: not known.
unsigned other_threads(const std::atomic<unsigned>& counted) noexcept {
    constexpr unsigned links_of_a_directory = 2;
    struct stat tasks {};
    const unsigned ours = counted.load();
    if (stat("/proc/self/task", &tasks) != 0 || counted.load() != ours) return 0;
    return tasks.st_nlink < links_of_a_directory + ours
               ? 0
               : static_cast<unsigned>(tasks.st_nlink) - links_of_a_directory - ours;
}

bool has_one_other(const std::atomic<unsigned>& counted) noexcept { return other_threads(counted) == 1; }

// The main thread is counted, although it has ended.
bool only_ours_are_left() noexcept { return has_one_other(helper_threads) && main_thread_has_ended(); }

}  // namespace

int create_helper_thread(pthread_t& thread, void* (*run)(void*), void* argument, stack_room room) noexcept {
    auto* const begun = new (std::nothrow) beginning{run, argument};
    if (begun == nullptr) return ENOMEM;
    const sigset_t blocked = blocked_signals();
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, &blocked, &before);  // the new thread inherits it
    helper_threads_to_be.fetch_add(1);
    const int result = create_elsewhere(thread, begun, room);
    if (result != 0) helper_threads_to_be.fetch_sub(1);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (result != 0) delete begun;
    return result;
}

// A program whose second thread stays waits for it a few times in all.
bool has_one_thread_of_the_program() noexcept {
    constexpr timespec pause{0, 50'000};
    constexpr int most_checks = 100;
    constexpr int waits_in_vain = 4;
    static std::atomic<int> waits_left{waits_in_vain};
    if (takes_own_memory) return false;
    unsigned others = other_threads(helper_threads_to_be);
    if (others != 2 || waits_left <= 0) return others == 1;
    for (int i = 0; i < most_checks && others == 2; ++i) {
        (void)nanosleep(&pause, nullptr);
        others = other_threads(helper_threads_to_be);
    }
    if (others == 1) {
        waits_left = waits_in_vain;
    } else {
        --waits_left;
    }
    return others == 1;
}

void await_end_of_helper_threads() noexcept {
    constexpr timespec pause{0, 20'000};
    constexpr int most_checks = 250;
    for (int i = 0; i < most_checks && !has_one_other(helper_threads_to_be); ++i) (void)nanosleep(&pause, nullptr);
}

void helper_thread_was_ended() noexcept { count_end(); }

void forget_helper_threads() noexcept {
    helper_threads.store(0);
    helper_threads_to_be.store(0);
}

void exit_if_alone() noexcept {
    static std::atomic<bool> is_ending{false};
    if (is_ending || !only_ours_are_left() || is_ending.exchange(true)) return;
    // Not on this thread, because exit handlers wait for it.
    pthread_t ending{};
    const auto end = [](void*) -> void* { std::exit(0); };
    if (create_helper_thread(ending, end, nullptr) == 0) pthread_detach(ending);
}

}  // namespace prof
