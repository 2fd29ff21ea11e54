// SPDX-License-Identifier: Apache-2.0
// Makes its first range, with which NVTX loads libprof and libprof starts to record (in_start.cpp, preloaded, says
// when), and something else happens meanwhile:
//
//   first_range_victim signal | fork | thread | header-signal | header-fork
//
// Its ranges are "first", then "later" three times. signal: a handler on that thread makes a range. fork: another
// thread forks a child, which makes a range "child's" and exits. thread: another thread makes its first range, of a
// domain and with a registered name. header-: its ranges are those of <prof/range.hpp>, each of its own place there.
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <semaphore>
#include <string_view>
#include <thread>

#include "session/scenes.hpp"

namespace {

using prof::test::expect;

std::function<void()> meanwhile = [] {};

bool uses_header = false;

void header_range(std::string_view name) {
    if (name == "first") {
        PROF_RANGE("first");
    } else if (name == "later") {
        PROF_RANGE("later");
    } else if (name == "child's") {
        PROF_RANGE("child's");
    } else {
        PROF_RANGE("a handler's");
    }
}

void range(const char* name) {
    if (uses_header) return header_range(name);
    nvtxRangePushA(name);
    nvtxRangePop();
}

// The same scene with the ranges of the header.
auto by_header(void (*scene)()) {
    return [scene] {
        uses_header = true;
        scene();
    };
}

void ranges() {
    range("first");
    for (int i = 0; i < 3; ++i) range("later");
}

void signal_meanwhile() {
    struct sigaction handler {};
    handler.sa_handler = [](int) { range("a handler's"); };
    sigaction(SIGUSR1, &handler, nullptr);
    meanwhile = [] { raise(SIGUSR1); };
    ranges();
}

void fork_child() {
    constexpr int status_of_child = 5;
    constexpr unsigned longest_life = 30;
    const pid_t child = fork();
    if (child == 0) {
        alarm(longest_life);
        range("child's");
        std::exit(status_of_child);
    }
    int status = 0;
    expect(waitpid(child, &status, 0) == child, "a child");
    expect(WIFEXITED(status) && WEXITSTATUS(status) == status_of_child, "the child goes on");
}

// In the bare program after it.
void fork_meanwhile() {
    std::binary_semaphore may_fork(0);
    std::binary_semaphore has_forked(0);
    std::thread other([&] {
        may_fork.acquire();
        fork_child();
        has_forked.release();
    });
    const auto fork_now = [&] {
        may_fork.release();
        has_forked.acquire();
    };
    bool was_met = false;
    meanwhile = [&] {
        was_met = true;
        fork_now();
    };
    ranges();
    if (!was_met) fork_now();
    other.join();
}

void thread_meanwhile() {
    std::binary_semaphore may_begin(0);
    std::thread other([&] {
        may_begin.acquire();
        nvtxDomainHandle_t domain = nvtxDomainCreateA("domain");
        nvtxEventAttributes_t event{};
        event.version = NVTX_VERSION;
        event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = nvtxDomainRegisterStringA(domain, "other's");
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    });
    bool was_met = false;
    meanwhile = [&] {
        was_met = true;
        may_begin.release();
        std::this_thread::sleep_for(std::chrono::milliseconds(100));  // so that it comes meanwhile, if it may
    };
    ranges();
    if (!was_met) may_begin.release();
    other.join();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void in_start() { meanwhile(); }

int main(int, char** argv) {
    return prof::test::play(argv[1], {{"signal", signal_meanwhile},
                                      {"fork", fork_meanwhile},
                                      {"thread", thread_meanwhile},
                                      {"header-signal", by_header(signal_meanwhile)},
                                      {"header-fork", by_header(fork_meanwhile)}});
}
