// SPDX-License-Identifier: Apache-2.0
// A program on the simulated GPU that dumps its recording while it goes on. Its steps are numbered: the payload of
// their range, and prof_step's.
//
//   dump_victim dumps N PATH    N steps, a dump; N more, a dump to PATH; N more
//   dump_victim moved N PATH    N steps; the capture is moved, and a file of the program's own has its name; a dump to
//                               PATH
//   dump_victim latest PATH     steps until the capture's front is gone, a dump to PATH, as many steps again; prints
//                               the number of those before the dump
//   dump_victim held PATH       the same, but as long as the dump's disk does not answer (slow_disk.cpp) the capture
//                               grows by twice what is kept
//   dump_victim refused         asks for dumps that there cannot be, and prints the lines that it is told
//   dump_victim slow N          steps, now and then a slow one, until there are N dumps, and then 20 slow ones more
//   dump_victim failed_first    a slow step while the directory is away, then others until there is a dump
//   dump_victim fork            dumps, as its child tries to, and prints what the child is told
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "fakes/fake_gpu.h"
#include "hooks/nvtx_event.hpp"

namespace {

using steady = std::chrono::steady_clock;

void step_k() {}

class trainer {
public:
    trainer() {
        fake_gpu_register_kernel(reinterpret_cast<const void*>(step_k), "step_k", 1'000);
        (void)cudaStreamCreate(&stream_);
    }
    void step(steady::duration length = {}) {
        const auto begin = steady::now();
        (void)prof_step();
        prof::test::push_numbered("step", ++steps_);
        (void)cudaLaunchKernel(reinterpret_cast<const void*>(step_k), dim3(1), dim3(32), nullptr, 0, stream_);
        nvtxRangePop();
        while (steady::now() - begin < length) {
        }
        if (length == steady::duration{}) longest_ = std::max(longest_, steady::now() - begin);
    }
    void steps(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) step();
    }
    steady::duration longest() const { return longest_; }

private:
    cudaStream_t stream_ = nullptr;
    std::uint64_t steps_ = 0;
    steady::duration longest_{0};
};

void print_result(int result) { std::printf("%d %s\n", result, prof_last_error()); }

std::string capture_path() {
    char path[4096];
    return {path, prof_capture_path(path, sizeof path)};
}

struct stat of_capture() {
    struct stat status {};
    (void)stat(capture_path().c_str(), &status);
    return status;
}

bool front_is_gone() {
    const struct stat status = of_capture();
    return status.st_size > 4 * 512 * status.st_blocks;
}

bool has_dump(const std::string& number) {
    const std::string capture = capture_path();
    return access((capture.substr(0, capture.rfind(".prof")) + ".dump-" + number + ".prof").c_str(), F_OK) == 0;
}

void call_disk(const char* function) {
    if (void* const found = dlsym(RTLD_DEFAULT, function)) reinterpret_cast<void (*)()>(found)();
}

void grow_capture(trainer& job, off_t bytes) {
    for (const off_t begin = of_capture().st_size; of_capture().st_size < begin + bytes;) job.steps(1000);
}

// It is "moved" then, and its name another file's.
bool move_capture() {
    if (prof_sync() != PROF_OK) return false;
    std::error_code problem;
    std::filesystem::rename(capture_path(), "moved", problem);
    std::ofstream(capture_path()) << "the program's own";
    return !problem;
}

// Three times what a step took at most so far is a lot more than the median.
void slow_down(trainer& job) {
    job.steps(40);
    job.step(3 * job.longest() + std::chrono::milliseconds(1));
}

std::atomic<int> failed_dumps{0};
std::atomic<int> made_dumps{0};

// Returns when the dump of a slow step has failed. Before the directory is away there are too few steps for one of them
// to be slow.
bool fail_a_dump(trainer& job) {
    const auto count = [](const prof_event* event, void*) { ++(event->result == PROF_OK ? made_dumps : failed_dumps); };
    if (prof_set_callback(count, nullptr, PROF_EVENT_DUMP_ENDED) != PROF_OK) return false;
    job.steps(10);
    if (prof_sync() != PROF_OK) return false;
    const std::filesystem::path directory = std::filesystem::path(capture_path()).parent_path();
    const std::filesystem::path away = directory.string() + ".away";
    std::error_code problem;
    std::filesystem::rename(directory, away, problem);
    while (!problem && failed_dumps == 0) slow_down(job);
    if (!problem) std::filesystem::rename(away, directory, problem);
    return !problem;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string scene = argc > 1 ? argv[1] : "";
    if (scene == "refused") {
        print_result(prof_dump(nullptr));  // autostart is off
        if (prof_start(nullptr) != PROF_OK) return 3;
        print_result(prof_dump(nullptr));
    }
    trainer job;
    if (scene == "dumps" && argc == 4) {
        const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
        job.steps(count);
        if (prof_dump(nullptr) != PROF_OK) return 4;
        job.steps(count);
        if (prof_dump(argv[3]) != PROF_OK) return 5;
        job.steps(count);
    } else if (scene == "moved" && argc == 4) {
        job.steps(std::strtoull(argv[2], nullptr, 10));
        if (!move_capture() || prof_dump(argv[3]) != PROF_OK) return 10;
    } else if ((scene == "latest" || scene == "held") && argc == 3) {
        std::uint64_t count = 0;
        for (; !front_is_gone(); count += 1000) job.steps(1000);
        if (scene == "held") call_disk("slow_disk_block_copies");
        if (prof_dump(argv[2]) != PROF_OK) return 8;
        if (scene == "held") {
            call_disk("slow_disk_await_writer");
            grow_capture(job, 16 << 20);
            if (prof_sync() != PROF_OK) return 9;
            call_disk("slow_disk_release");
        } else {
            job.steps(count);
        }
        std::printf("%llu\n", static_cast<unsigned long long>(count));
    } else if (scene == "refused") {
        job.steps(10);
        for (const char* path : {"dump.txt", ".prof", "/nowhere/at/all/a.prof", "taken.prof"})
            print_result(prof_dump(path));
    } else if (scene == "slow" && argc == 3) {
        do slow_down(job);
        while (!has_dump(argv[2]));
        for (int i = 0; i < 20; ++i) slow_down(job);
    } else if (scene == "failed_first") {
        if (!fail_a_dump(job)) return 11;
        for (int i = 0; i < 1000 && made_dumps == 0; ++i) slow_down(job);
        if (made_dumps != 1) return 12;
    } else if (scene == "fork") {
        job.steps(10);
        const pid_t child = fork();
        if (child == 0) {
            print_result(prof_dump(nullptr));
            std::fflush(stdout);
            _exit(0);
        }
        waitpid(child, nullptr, 0);
        if (prof_dump(nullptr) != PROF_OK) return 6;
    }
    if (prof_stop() != PROF_OK) return 7;
    if (scene == "refused") print_result(prof_dump(nullptr));
    return 0;
}
