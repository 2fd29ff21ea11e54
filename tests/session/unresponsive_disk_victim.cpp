// SPDX-License-Identifier: Apache-2.0
// A program whose capture's disk stops to answer (slow_disk.cpp, preloaded), and stays so:
//
//   unresponsive_disk_victim exit | exit-first | exit-in-stop | exit-paused | before-exit | resume | stopped | steps |
//   exports | stop | stop-and-exit | start | start-paused
//
// Each step has a range and a launch. exit: half of 40 steps are taken in, then the disk is silent, and the program
// ends. exit-first: it is silent from the beginning on. exit-in-stop: another thread is in prof_stop when the program
// ends. exit-paused: it calls prof_pause just before. before-exit: it calls prof_before_exit and prof_sync first, which
// fail. resume: a pause, and a resume, which fails; then the disk answers, and a resume succeeds. stopped: the process
// is stopped for a second during a resume, which succeeds all the same: the disk answers soon after. steps: 40 steps by
// prof_step, of which the disk is silent from the 10th to the 30th; none may be held up. exports: it is silent for
// exports alone. stop: prof_stop and another prof_start, which fail; then the disk answers, the recording before is
// completed, and another one is made. stop-and-exit: the program ends instead. start: the recording that began by
// itself is to be replaced by prof_start, which fails, and succeeds once the disk answers. start-paused: it is paused
// before. Prints "done", and ends with status 3.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <prof/prof.h>
#include <sys/wait.h>
#include <unistd.h>
#include <prof/range.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>

#include "fakes/fake_gpu.h"

namespace {

using clock_type = std::chrono::steady_clock;

void work_k() {}

void step(cudaStream_t stream) {
    PROF_RANGE("step");
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(work_k), dim3(1), dim3(32), nullptr, 0, stream);
    (void)cudaStreamSynchronize(stream);
}

void steps(cudaStream_t stream, int count) {
    for (int i = 0; i < count; ++i) step(stream);
}

void call_disk(const char* function) {
    if (void* const found = dlsym(RTLD_DEFAULT, function)) reinterpret_cast<void (*)()>(found)();
}

void expect(bool holds, const char* what) {
    if (!holds) std::printf("not so: %s (%s)\n", what, prof_last_error());
}

// Until all before is in the capture.
void await_disk() {
    while (prof_sync() != PROF_OK) std::this_thread::yield();
}

void stop_on_another_thread() {
    std::thread([] { (void)prof_stop(); }).detach();
    while (prof_is_recording() != 0) std::this_thread::yield();
}

void pause_and_resume(cudaStream_t stream) {
    expect(prof_pause() == PROF_OK, "prof_pause");
    const auto begin = clock_type::now();
    expect(prof_resume() == PROF_FAILED, "prof_resume fails while the disk is silent");
    expect(clock_type::now() - begin < std::chrono::seconds(5), "prof_resume does not wait for the disk");
    call_disk("slow_disk_release");
    while (prof_resume() != PROF_OK) std::this_thread::yield();
    steps(stream, 20);
}

// How long a call takes, in seconds.
template <typename TCall>
double seconds_of(TCall&& call) {
    const auto begin = clock_type::now();
    call();
    return std::chrono::duration<double>(clock_type::now() - begin).count();
}

constexpr double longest_wait = 12;  // five seconds, on a busy machine

void expect_no_answer(int result, const char* what) {
    expect(result == PROF_FAILED, what);
    expect(std::string_view{prof_last_error()}.find("does not answer") != std::string_view::npos, what);
}

std::uint32_t present_state() {
    prof_status status{};
    (void)prof_get_status(&status, sizeof status);
    return status.state;
}

void stop_in_vain() {
    const double took = seconds_of([] { expect_no_answer(prof_stop(), "prof_stop fails"); });
    expect(took > 4 && took < longest_wait, "prof_stop waits for five seconds");
    expect(prof_is_recording() == 0 && prof_stop() == PROF_WRONG_STATE, "the recording has ended");
    expect(present_state() == PROF_STATE_COMPLETING, "its capture is being completed");
}

// The recording that has ended is completed once the disk answers, and another one can be made.
void record_once_the_disk_answers(cudaStream_t stream) {
    const double took = seconds_of([] { expect_no_answer(prof_start(nullptr), "prof_start fails"); });
    expect(took < longest_wait, "prof_start does not wait for long");
    step(stream);  // of no recording
    call_disk("slow_disk_release");
    while (prof_start(nullptr) != PROF_OK) std::this_thread::yield();
    steps(stream, 20);
    expect(prof_stop() == PROF_OK, "prof_stop");
    expect(present_state() == PROF_STATE_IDLE, "nothing is left to be done");
}

// On a thread beside the one that is to be in a call by then.
void stop_for_a_second() {
    const pid_t child = fork();
    if (child == 0) {
        (void)usleep(20'000);
        (void)kill(getppid(), SIGSTOP);
        (void)usleep(1'000'000);
        (void)kill(getppid(), SIGCONT);
        _exit(0);
    }
    (void)waitpid(child, nullptr, 0);
}

void resume_while_stopped(cudaStream_t stream) {
    for (int i = 0; i < 5; ++i) {  // a busy machine may keep the disk's answer back for too long
        expect(prof_pause() == PROF_OK, "prof_pause");
        std::thread answering([] {
            stop_for_a_second();
            call_disk("slow_disk_release");
        });
        const bool is_resumed = prof_resume() == PROF_OK;
        answering.join();
        if (is_resumed) return steps(stream, 20);
        while (prof_resume() != PROF_OK) std::this_thread::yield();
        call_disk("slow_disk_block");
        step(stream);
        call_disk("slow_disk_await_writer");
    }
    expect(false, "prof_resume succeeds after a stop");
}

void go_through_windows(cudaStream_t stream) {
    clock_type::duration longest{};
    for (int i = 1; i <= 40; ++i) {
        if (i == 10) {
            await_disk();
            call_disk("slow_disk_block");
        }
        if (i == 30) {
            call_disk("slow_disk_release");
            await_disk();
        }
        const auto begin = clock_type::now();
        expect(prof_step() == PROF_OK, "prof_step");
        longest = std::max(longest, clock_type::now() - begin);
        step(stream);
    }
    expect(longest < std::chrono::seconds(5), "no step waits for the disk");
}

}  // namespace

int main(int, char** argv) {
    const std::string_view mode = argv[1];
    if (mode == "exit-first") call_disk("slow_disk_block");
    fake_gpu_register_kernel(reinterpret_cast<const void*>(work_k), "work_k", 1'000);
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    if (mode == "steps") {
        go_through_windows(stream);
    } else {
        steps(stream, 20);
        if (mode != "exit-first") await_disk();
        call_disk(mode == "exports" ? "slow_disk_block_exports" : "slow_disk_block");
        steps(stream, 20);
        if (mode != "exports") call_disk("slow_disk_await_writer");
        if (mode == "resume") pause_and_resume(stream);
        if (mode == "stopped") resume_while_stopped(stream);
    }
    if (mode.starts_with("stop-") || mode == "stop") stop_in_vain();
    if (mode == "start-paused") expect(prof_pause() == PROF_OK, "prof_pause");
    if (mode == "stop" || mode.starts_with("start")) record_once_the_disk_answers(stream);
    if (mode == "exit-in-stop") stop_on_another_thread();
    if (mode == "exit-paused") expect(prof_pause() == PROF_OK, "prof_pause");
    if (mode == "before-exit") {
        expect(prof_before_exit() == PROF_FAILED, "prof_before_exit gives up");
        expect(prof_sync() == PROF_FAILED, "prof_sync gives up");
    }
    std::puts("done");
    std::fflush(stdout);
    return 3;
}
