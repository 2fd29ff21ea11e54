// SPDX-License-Identifier: Apache-2.0
// What a program sees of libprof's threads, one scene a run, for own_threads_test.cpp: how many there are, and how much
// address space the process has. Scenes whose output tells of neither print the same with libprof and without.
//
//   own_threads_victim SCENE
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>

#include "session/scenes.hpp"
#include "session/train_steps.hpp"

namespace {

using namespace prof::test;
using function = int();
using start_function = int(const char* const*);

int call(const char* name) {
    auto* const found = of_libprof<function>(name);
    return found == nullptr ? 0 : found();
}

void ranges(const char* name, int count) {
    for (int i = 0; i < count; ++i) {
        nvtxRangePushA(name);
        nvtxRangePop();
    }
}

// As Python counts them after a fork: the 20th number of /proc/self/stat.
long thread_count() {
    std::FILE* const file = std::fopen("/proc/self/stat", "r");
    char line[512] = "";
    (void)std::fgets(line, sizeof line, file);
    std::fclose(file);
    const char* at = std::strrchr(line, ')');
    for (int field = 2; field < 20; ++field) at = std::strchr(at + 1, ' ');
    return std::strtol(at, nullptr, 10);
}

long kilobytes(const char* what) {
    std::FILE* const file = std::fopen("/proc/self/status", "r");
    char line[256];
    long found = 0;
    while (std::fgets(line, sizeof line, file) != nullptr) {
        if (std::strncmp(line, what, std::strlen(what)) == 0)
            found = std::strtol(line + std::strlen(what), nullptr, 10);
    }
    std::fclose(file);
    return found;
}

void fork_here(const std::function<void()>& in_child, int status) {
    const pid_t child = fork();
    if (child == 0) {
        in_child();
        (void)std::fflush(stdout);
        std::exit(status);
    }
    std::printf("%ld threads after the fork\n", thread_count());
    std::printf("a child ended with %d\n", status_of(child));
    (void)std::fflush(stdout);
}

// A thread that was joined is in the kernel's list until it has been scheduled once more.
void print_threads_at_exit() {
    constexpr timespec pause{0, 1'000'000};
    constexpr int most_checks = 10'000;
    for (int i = 0; i < most_checks && thread_count() != 1; ++i) (void)nanosleep(&pause, nullptr);
    std::printf("%ld threads at exit\n", thread_count());
}

// --- scenes ----------------------------------------------------------------------------------------------------------

void before_the_first_record() {
    (void)nvtxDomainRegisterStringA(nullptr, "a name");
    std::printf("%ld threads\n", thread_count());
}

void after_the_recording() {
    ranges("recorded", 3);
    call("prof_stop");
    std::printf("%ld threads\n", thread_count());
    ranges("not recorded", 3);
    if (auto* const start = of_libprof<start_function>("prof_start")) {
        const char* const settings[] = {nullptr};
        expect(start(settings) == 0, "a second recording");
    }
    ranges("recorded again", 3);
    call("prof_stop");
    std::printf("%ld threads\n", thread_count());
}

// This program's handler was registered before libprof's, so it runs after that.
void at_exit() {
    std::atexit(print_threads_at_exit);
    ranges("recorded", 60);
}

void after_callbacks() {
    std::atexit(print_threads_at_exit);
    using sink = void(int, const char*, void*);
    if (auto* const set = of_libprof<int(sink*, void*)>("prof_set_log")) {
        expect(set([](int, const char*, void*) {}, nullptr) == 0, "a sink");
    }
    ranges("recorded", 60);
}

void forks() {
    for (int i = 0; i < 5; ++i) {
        ranges("parent's", 100);
        fork_here([] {}, 1);
        fork_here([] { ranges("child's", 10); }, 2);  // with nothing recorded in between
        ranges("parent's", 100);
        call("prof_sync");
    }
}

// The child is forked from a child that records, and so on.
void generations() {
    ranges("parent's", 10);
    fork_here(
        [] {
            ranges("child's", 10);
            fork_here([] { ranges("grandchild's", 10); }, 3);
            ranges("child's", 10);
        },
        4);
}

bool main_thread_sleeps() {
    std::FILE* const file = std::fopen(("/proc/self/task/" + std::to_string(getpid()) + "/stat").c_str(), "r");
    char line[512] = "";
    (void)std::fgets(line, sizeof line, file);
    std::fclose(file);
    return std::strncmp(std::strrchr(line, ')'), ") S", 3) == 0;
}

// The thread has nothing more to do at the fork, and ends as soon as this one waits for anything.
void beside_an_ending_thread() {
    constexpr int forks = 5;
    int without_others = 0;
    for (int i = 0; i < forks; ++i) {
        ranges("parent's", 10);
        static std::atomic<bool> is_ending;
        is_ending = false;
        std::thread ending([] {
            is_ending = true;
            while (!main_thread_sleeps()) std::this_thread::yield();
        });
        while (!is_ending) continue;
        const pid_t child = fork();
        if (child == 0) std::_Exit(1);
        without_others += thread_count() <= 2 ? 1 : 0;
        std::printf("a child ended with %d\n", status_of(child));
        (void)std::fflush(stdout);
        ending.join();
    }
    // Not all: on a busy machine a thread may take longer to end than libprof waits.
    std::printf(without_others > 0 ? "no other threads\n" : "other threads at each fork\n");
}

void forks_while_stopped() {
    ranges("parent's", 10);
    call("prof_pause");
    fork_here([] { ranges("not recorded", 10); }, 1);
    call("prof_resume");
    ranges("parent's", 10);
    fork_here([] {}, 1);
    call("prof_stop");
    fork_here([] { ranges("not recorded", 10); }, 1);
}

void with_an_open_range() {
    nvtxRangePushA("outer");
    fork_here([] {}, 1);
    nvtxRangePop();
    fork_here([] {}, 1);
    nvtxMarkA("a mark");
    fork_here([] {}, 1);
    std::thread([] { ranges("thread's", 10); }).join();
}

void on_a_signal(int) { ranges("handler's", 1); }

void in_a_signals_handler() {
    signal(SIGUSR1, on_a_signal);
    ranges("parent's", 1);
    fork_here([] {}, 1);
    raise(SIGUSR1);
    ranges("parent's", 1);
}

// What the parent records last is a fork.
void ends_at_a_fork() {
    ranges("parent's", 10);
    fork_here([] {}, 1);
}

void is_killed_at_a_fork() {
    ranges("parent's", 10);
    fork_here([] {}, 1);
    raise(SIGKILL);
}

void exits_in_a_handler() {
    signal(SIGUSR1, [](int) { std::exit(5); });
    ranges("parent's", 10);
    fork_here([] {}, 1);
    raise(SIGUSR1);
}

// A second thread is there at each fork, so libprof's threads stay.
void beside_a_thread() {
    int ends[2];
    expect(pipe(ends) == 0, "a pipe");
    std::thread other([&] {
        char byte = 0;
        ranges("other's", 10);
        (void)!read(ends[0], &byte, 1);
        ranges("other's", 10);
    });
    for (int i = 0; i < 20; ++i) {
        ranges("parent's", 10);
        const pid_t child = fork();
        if (child == 0) _exit(1);
        expect(status_of(child) == 1, "the child ends");
    }
    (void)!write(ends[1], "x", 1);
    other.join();
}

void address_space() {
    ranges("recorded", 1000);
    call("prof_sync");
    std::printf("VmPeak %ld\n", kilobytes("VmPeak:"));
    (void)std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    return play(argc > 1 ? argv[1] : "", {
                                             {"before_the_first_record", before_the_first_record},
                                             {"after_the_recording", after_the_recording},
                                             {"at_exit", at_exit},
                                             {"after_callbacks", after_callbacks},
                                             {"forks", forks},
                                             {"generations", generations},
                                             {"forks_while_stopped", forks_while_stopped},
                                             {"beside_an_ending_thread", beside_an_ending_thread},
                                             {"with_an_open_range", with_an_open_range},
                                             {"in_a_signals_handler", in_a_signals_handler},
                                             {"ends_at_a_fork", ends_at_a_fork},
                                             {"is_killed_at_a_fork", is_killed_at_a_fork},
                                             {"exits_in_a_handler", exits_in_a_handler},
                                             {"beside_a_thread", beside_a_thread},
                                             {"address_space", address_space},
                                         });
}
