// SPDX-License-Identifier: Apache-2.0
// A program that works on the simulated GPU, and what it does goes by a number alone: the same output and status each
// time, whatever becomes of libprof in it.
//
//   faults_host SEED JOURNAL
//
// Up to four threads make ranges, launch and wait. The first gives commands to libprof meanwhile, if it is there,
// forks, or closes all files and opens its own in their places; in the end it returns, exits among running threads, or
// dies. Where the faults want it a thread forks, and a signal's handler makes ranges.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fakes/fake_gpu.h"
#include "faults/journal.hpp"
#include "hooks/nvtx_event.hpp"

namespace {

using prof::test::deed;
using prof::test::journal_area;
using prof::test::recorded;

prof::test::journal* written = nullptr;
std::atomic<bool> is_over{false};
std::atomic<bool> may_begin{false};
std::atomic<int> workers_left{0};

template <typename TFunction>
TFunction* of_libprof(const char* name) {
    return reinterpret_cast<TFunction*>(dlsym(RTLD_DEFAULT, name));
}

class randomness {
public:
    explicit randomness(std::uint64_t seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
    bool one_in(std::uint32_t n) { return below(n) == 0; }

private:
    std::mt19937_64 engine_;
};

void copy_k() {}
void gemm_k() {}

// How long one call took: no caller may wait for libprof's disk.
class stopwatch {
public:
    ~stopwatch() {
        const auto length = std::chrono::steady_clock::now() - begin_;
        const auto ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(length).count());
        std::uint64_t longest = written->longest_ns.load();
        while (longest < ns && !written->longest_ns.compare_exchange_weak(longest, ns)) {
        }
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class worker {
public:
    worker(std::uint64_t seed, std::uint32_t thread)
        : random_(seed * 31 + thread),
          journal_(written->threads[thread]),
          next_range_(thread * prof::test::thread_step),
          next_launch_(thread * prof::test::thread_step) {
        (void)cudaStreamCreate(&stream_);
    }

    void round() {
        range(random_.below(4));
        if (random_.one_in(4)) (void)cudaStreamSynchronize(stream_);
        if (random_.one_in(6)) std::this_thread::sleep_for(std::chrono::microseconds(random_.below(1500)));
    }

    // As fast as it goes.
    void burst() {
        for (int i = 0; i < 3000 && journal_.has_room(); ++i) range(0);
    }

    std::uint32_t launches() const { return launches_; }

private:
    void range(std::uint32_t depth) {
        const std::uint32_t parent = open_;
        const std::uint32_t mine = ++next_range_;
        const std::string name = prof::test::range_name_of(mine);
        add(deed::pushed, mine, parent, [&] { prof::test::push_numbered(name.c_str(), mine); });
        open_ = mine;
        for (std::uint32_t i = depth == 0 ? 0 : 1 + random_.below(3); i > 0; --i) range(depth - 1);
        for (std::uint32_t i = random_.below(3); i > 0; --i) launch();
        if (random_.one_in(8)) nvtxMarkA("mark");
        open_ = parent;
        add(deed::popped, mine, parent, [] { nvtxRangePop(); });
    }

    // Known again by its grid.
    void launch() {
        const std::uint32_t mine = ++next_launch_;
        ++launches_;
        auto* const kernel = mine % 2 == 0 ? copy_k : gemm_k;
        add(deed::launched, mine, open_, [&] {
            (void)cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(mine), dim3(32), nullptr, 0, stream_);
        });
    }

    template <typename TDo>
    void add(deed what, std::uint32_t serial, std::uint32_t parent, TDo&& act) {
        const std::uint32_t before = written->phase.load();
        {
            const stopwatch watch;
            act();
        }
        journal_.add({what, serial, parent, before, written->phase.load()});
    }

    randomness random_;
    journal_area& journal_;
    cudaStream_t stream_ = nullptr;
    std::uint32_t next_range_;
    std::uint32_t next_launch_;
    std::uint32_t open_ = 0;
    std::uint32_t launches_ = 0;
};

// Phases: `after` holds from the command's end on, where it succeeded.
int command(const char* name, recorded after, bool changes = true) {
    const auto call = of_libprof<int()>(name);
    if (call == nullptr) return 0;
    const std::uint32_t phase = written->phase.load();
    const recorded was = written->phases[phase].load();
    if (changes) ++written->phase;
    const int result = call();
    if (result == PROF_FAILED) ++written->failed_commands;
    if (!changes) return result;
    written->phases[phase + 2] = result == PROF_OK ? after : result == PROF_WRONG_STATE ? was : recorded::unknown;
    written->phase = phase + 2;
    return result;
}

void start() {
    const auto call = of_libprof<decltype(prof_start)>("prof_start");
    if (call == nullptr) return;
    const std::uint32_t phase = written->phase.load();
    const recorded was = written->phases[phase].load();
    ++written->phase;
    const int result = call(nullptr);
    written->phases[phase + 2] = result == PROF_OK            ? recorded::yes
                                 : result == PROF_WRONG_STATE ? was
                                                              : recorded::unknown;
    written->phase = phase + 2;
}

void wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) std::printf("a child ended with %d\n", status);
}

void make_child() {
    ++written->children;
    const pid_t child = fork();
    if (child == 0) {
        nvtxRangePushA("in a child");
        nvtxRangePop();
        _exit(7);
    }
    if (child > 0) wait_for(child);
}

void summary() {
    const auto open = of_libprof<decltype(prof_summary_open)>("prof_summary_open");
    if (open == nullptr) return;
    if (prof_summary* const made = open()) of_libprof<decltype(prof_summary_close)>("prof_summary_close")(made);
}

void dump() {
    const auto call = of_libprof<decltype(prof_dump)>("prof_dump");
    if (call != nullptr) (void)call(nullptr);
}

void act(std::uint32_t what) {
    if (what == 0) (void)command("prof_pause", recorded::no);
    if (what == 1) (void)command("prof_resume", recorded::yes);
    if (what == 2) (void)command("prof_stop", recorded::no);
    if (what == 3) start();
    if (what == 4) (void)command("prof_sync", recorded::yes, false);
    if (what == 5) dump();
    if (what == 6) summary();
    if (what == 7) make_child();
}

// Where the program's own files get the numbers that libprof's had, they stay as they were written.
class own_files {
public:
    void take_all_numbers() {
        for (int number = 3; number < 64; ++number) close(number);
        for (int i = 0; i < 40; ++i) {
            FILE* const file = std::tmpfile();
            if (file == nullptr) break;
            std::fputs("the program's", file);
            std::fflush(file);
            files_.push_back(file);
        }
    }
    bool are_as_they_were() const {
        for (FILE* const file : files_) {
            char text[32] = {};
            if (pread(fileno(file), text, sizeof text, 0) != 13 || std::strcmp(text, "the program's") != 0)
                return false;
        }
        return true;
    }

private:
    std::vector<FILE*> files_;
};

void in_handler(int) {
    const int error_number = errno;
    nvtxRangePushA("in a handler");
    nvtxRangePop();
    errno = error_number;
}

void fork_when_wanted() {
    const auto wanted = of_libprof<int()>("faults_want_fork");
    const auto done = of_libprof<void()>("faults_have_forked");
    while (wanted != nullptr && !is_over) {
        if (wanted() != 0) {
            make_child();
            done();
        }
        std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
}

void end(std::uint32_t how, const std::vector<std::thread>& others) {
    std::fflush(stdout);
    ++written->phase;  // what comes from here on may be recorded, or not
    if (how == 1) std::exit(4);
    if (how == 2) _exit(5);
    if (how == 3) std::abort();
    if (how == 4) raise(SIGKILL);
    if (how == 5) std::thread([] { std::exit(6); }).join();
    (void)others;
}

}  // namespace

int main(int, char** argv) {
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    randomness random(std::stoull(argv[1]));
    written = &prof::test::map_journal(argv[2]);
    written->pid = getpid();
    const char* const mode = std::getenv("FAULTS_MODE");  // "plan": libprof itself says when it records
    const bool has_plan = mode != nullptr && std::strcmp(mode, "plan") == 0;
    written->phases[0] = has_plan ? recorded::unknown : recorded::yes;

    struct sigaction handler {};
    handler.sa_handler = in_handler;
    sigaction(SIGUSR1, &handler, nullptr);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(copy_k), "copy_k", 3'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(gemm_k), "gemm_k", 7'000);

    const std::uint32_t thread_count = 1 + random.below(3);
    const std::uint32_t rounds = 10 + random.below(60);
    const bool works_on = random.one_in(3);  // the others, while the process ends
    const std::uint32_t ending = random.one_in(2) ? 0 : random.below(6);
    const bool closes_files = random.one_in(12);
    std::vector<std::uint32_t> launches(thread_count);
    std::vector<std::thread> others;
    std::thread forks(fork_when_wanted);
    workers_left = static_cast<int>(thread_count) - 1;
    for (std::uint32_t i = 1; i < thread_count; ++i) {
        others.emplace_back([&, i, seed = std::stoull(argv[1])] {
            while (!may_begin) std::this_thread::yield();
            worker mine(seed, i);
            for (std::uint32_t round = 0; round < rounds; ++round) mine.round();
            launches[i] = mine.launches();
            --workers_left;
            while (works_on && written->threads[i].has_room()) mine.round();
            while (works_on) pause();
        });
    }

    own_files files;
    {
        worker mine(std::stoull(argv[1]), 0);
        may_begin = true;
        const std::uint32_t acts = random.below(7);
        const std::uint32_t burst_at = random.one_in(5) ? random.below(rounds) : rounds;
        const std::uint32_t close_at = closes_files ? random.below(rounds) : rounds;
        const auto step = of_libprof<int()>("prof_step");
        for (std::uint32_t round = 0; round < rounds; ++round) {
            if (step != nullptr) (void)step();
            mine.round();
            if (round == burst_at) mine.burst();
            if (round == close_at) files.take_all_numbers();
            if (random.below(rounds) < acts) {
                const std::uint32_t what = random.below(8);
                if (has_plan && what < 4) continue;
                act(what);
            }
        }
        launches[0] = mine.launches();
    }
    while (workers_left != 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    is_over = true;
    forks.join();
    std::uint64_t sum = 0;
    for (const std::uint32_t each : launches) sum += each;
    std::printf("%llu launches\n", static_cast<unsigned long long>(sum));
    if (!files.are_as_they_were()) std::puts("the program's files were written to");
    if (!works_on) {
        for (std::thread& each : others) each.join();
        others.clear();
    }
    end(ending == 0 && works_on ? 1 : ending, others);
    std::puts("done");
    return 3;
}
