// SPDX-License-Identifier: Apache-2.0
// A program of numbered iterations, for the tests of what is recorded when. Iteration i launches three kernels named
// "iteration_<i>"; before the first "setup" is launched, after the last "teardown", and between iterations nothing.
//
//   schedule_victim [iterations N] [mark end|begin|range|both|domain|registered|phase|none] [profiler A B]
//                   [capture A B] [threads N] [session SETTING]... [fork N] [measure] [patient] [free] [steppers N]
//                   [settled] [until_window N]
//
// mark: prof_step at each iteration's end (torch's way) or beginning, or a range "iteration" around it, also in the
// domain "app" or as a registered string; both: the range, and prof_step; phase: PROF_PHASE("step"). steppers: instead
// of all that N threads call prof_step 250 times each, at once. free: at the end libprof must have let go of CUPTI.
// settled: before each iteration it waits until libprof has taken hold of CUPTI, or let go of it, if it is at that.
// profiler: cudaProfilerStart before iteration A, cudaProfilerStop after B (A beyond the last: B alone). capture: a
// range "capture" around iterations A to B. Both may be given several times. fork: before iteration N a child is
// forked, which goes through steps and ranges, too. until_window: as many iterations as it takes until window N is
// open; prints how many.
#include <cupti.h>
#include <dirent.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>
#include <sys/wait.h>
#include <unistd.h>
#include <prof/range.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_cupti.h"
#include "fakes/fake_gpu.h"
#include "hooks/nvtx_event.hpp"
#include "session/loaded_fake_cupti.hpp"

namespace {

using prof::test::of_the_fake_cupti;
using stretch = std::pair<int, int>;

struct program {
    int iterations = 10;
    std::string mark = "end";
    std::vector<stretch> profiler;
    std::vector<stretch> capture;
    int threads = 0;
    std::vector<const char*> settings;
    int fork_at = -1;
    bool measure = false;
    int steppers = 0;
    bool free = false;
    bool settled = false;
    std::uint64_t until_window = 0;
    bool patient = false;  // after each cudaProfilerStop it waits until libprof hears the next cudaProfilerStart
};

program read_arguments(int argc, char** argv) {
    program out;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto number = [&] { return std::atoi(argv[++i]); };
        if (word == "iterations") out.iterations = number();
        if (word == "mark") out.mark = argv[++i];
        if (word == "threads") out.threads = number();
        if (word == "session") out.settings.push_back(argv[++i]);
        if (word == "fork") out.fork_at = number();
        if (word == "patient") out.patient = true;
        if (word == "free") out.free = true;
        if (word == "settled") out.settled = true;
        if (word == "until_window") out.until_window = static_cast<std::uint64_t>(number());
        if (word == "steppers") out.steppers = number();
        if (word == "measure") out.measure = true;
        if (word == "profiler" || word == "capture") {
            const int first = number();
            (word == "profiler" ? out.profiler : out.capture).emplace_back(first, number());
        }
    }
    return out;
}

void launch(const std::string& name, cudaStream_t stream) {
    if (fake_cuda_launch(name.c_str(), 50'000, stream) != 0) std::abort();
}

void push_in_domain(const char* text, bool registered) {
    static nvtxDomainHandle_t const domain = nvtxDomainCreateA("app");
    nvtxEventAttributes_t event = prof::test::event_of(text);
    static nvtxStringHandle_t const handle = nvtxDomainRegisterStringA(domain, text);
    if (registered) {
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = handle;
    }
    nvtxDomainRangePushEx(domain, &event);
}

void pop_in_domain() {
    static nvtxDomainHandle_t const domain = nvtxDomainCreateA("app");
    nvtxDomainRangePop(domain);
}

void iterate(const program& wanted, int i, cudaStream_t stream) {
    const bool in_domain = wanted.mark == "domain" || wanted.mark == "registered";
    if (wanted.mark == "begin") prof_step();
    if (wanted.mark == "phase") {
        PROF_PHASE("step");
        for (int k = 0; k < 3; ++k) launch("iteration_" + std::to_string(i), stream);
        return;
    }
    if (wanted.mark == "range" || wanted.mark == "both") nvtxRangePushA("iteration");
    if (in_domain) push_in_domain("iteration", wanted.mark == "registered");
    const std::string name = "iteration_" + std::to_string(i);
    nvtxRangePushA("inside");
    for (int k = 0; k < 3; ++k) launch(name, stream);
    nvtxRangePop();
    if (wanted.mark == "range" || wanted.mark == "both") nvtxRangePop();
    if (in_domain) pop_in_domain();
    if (wanted.mark == "end" || wanted.mark == "both") prof_step();
}

bool observes_profiler_calls() {
    auto* const is_enabled =
        of_the_fake_cupti<decltype(fake_cupti_callback_is_enabled)>("fake_cupti_callback_is_enabled");
    return is_enabled(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart) != 0;
}

// CUPTI was finalized `windows` times, and has a subscriber again. Gives up after a while: then the test fails.
void wait_until_observed_again(std::size_t windows) {
    auto* const calls = of_the_fake_cupti<decltype(fake_cupti_calls)>("fake_cupti_calls");
    for (int i = 0; i < 10'000; ++i) {
        if (calls("cuptiFinalize") >= windows && observes_profiler_calls()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void step_at_once(int count) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) {
        threads.emplace_back([] {
            for (int i = 0; i < 250; ++i) {
                if (prof_step() != PROF_OK) std::abort();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

std::size_t entries_of(const char* directory) {
    std::size_t count = 0;
    DIR* const open = opendir(directory);
    while (open != nullptr && readdir(open) != nullptr) ++count;
    if (open != nullptr) closedir(open);
    return count;
}

long resident_pages() {
    long all = 0;
    long resident = 0;
    std::FILE* const in = std::fopen("/proc/self/statm", "r");
    if (in == nullptr || std::fscanf(in, "%ld %ld", &all, &resident) != 2) std::abort();
    std::fclose(in);
    return resident;
}

void print_growth(const char* when) {
    std::printf("%s: %zu threads, %zu descriptors, %ld pages\n", when, entries_of("/proc/self/task"),
                entries_of("/proc/self/fd"), resident_pages());
}

void fork_a_child() {
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 10; ++i) {
            nvtxRangePushA("iteration");
            nvtxRangePushA("capture");
            if (prof_step() != PROF_OK) _exit(1);  // the child's own
            nvtxRangePop();
            nvtxRangePop();
        }
        std::exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) std::abort();
}

std::atomic<std::uint64_t> latest_window{0};

void note_windows() {
    const auto note = [](const prof_event* event, void*) { latest_window = event->number; };
    if (prof_set_callback(note, nullptr, PROF_EVENT_WINDOW_BEGAN) != PROF_OK) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
    program wanted = read_arguments(argc, argv);
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    if (!wanted.settings.empty()) {
        wanted.settings.push_back(nullptr);
        if (prof_start(wanted.settings.data()) != PROF_OK) {
            std::puts(prof_last_error());
            return 11;
        }
    }
    // Threads that launch and push ranges of the same name all the time, but never more than their rings hold.
    constexpr int in_an_iteration = 400;
    std::atomic<bool> go_on{true};
    std::atomic<int> begun{0};
    std::vector<std::thread> threads;
    std::size_t stopped = 0;
    launch("setup", stream);
    step_at_once(wanted.steppers);
    const auto goes_on = [&](int i) {
        if (wanted.until_window != 0) return latest_window < wanted.until_window;
        return i < (wanted.steppers == 0 ? wanted.iterations : 0);
    };
    if (wanted.until_window != 0) note_windows();
    for (int i = 0; goes_on(i); ++i) {
        if (wanted.settled) (void)prof_sync();
        for (const auto& [first, last] : wanted.profiler) {
            if (i == first) (void)cudaProfilerStart();
        }
        for (const auto& [first, last] : wanted.capture) {
            if (i == first) nvtxRangePushA("capture");
        }
        if (i == wanted.fork_at) fork_a_child();
        ++begun;
        iterate(wanted, i, stream);
        if (i == 0) {  // from here on, so that this thread's is the first step's range
            for (int t = 0; t < wanted.threads; ++t) {
                threads.emplace_back([&] {
                    cudaStream_t own = nullptr;
                    (void)cudaStreamCreate(&own);
                    for (int made = 0; go_on; ++made) {
                        while (made >= in_an_iteration * begun && go_on) std::this_thread::yield();
                        nvtxRangePushA("iteration");
                        launch("elsewhere", own);
                        (void)cudaStreamSynchronize(own);
                        nvtxRangePop();
                    }
                });
            }
        }
        for (const auto& [first, last] : wanted.capture) {
            if (i == last) nvtxRangePop();
        }
        for (const auto& [first, last] : wanted.profiler) {
            if (i != last) continue;
            (void)cudaProfilerStop();
            if (wanted.patient && first <= last) wait_until_observed_again(++stopped);
        }
        if (wanted.measure && i == wanted.iterations / 2) print_growth("middle");
    }
    if (wanted.until_window != 0) std::printf("%d\n", begun.load());
    go_on = false;
    for (std::thread& thread : threads) thread.join();
    if (wanted.measure) print_growth("end");
    launch("teardown", stream);
    (void)cudaDeviceSynchronize();
    if (wanted.free && (prof_sync() != PROF_OK || observes_profiler_calls())) return 14;
    if (prof_pause() != PROF_WRONG_STATE || prof_resume() != PROF_WRONG_STATE) return 12;
    if (!wanted.settings.empty() && prof_stop() != PROF_OK) {
        std::puts(prof_last_error());
        return 13;
    }
    std::puts("done");
    return 0;
}
