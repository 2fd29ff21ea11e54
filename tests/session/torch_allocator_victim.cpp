// SPDX-License-Identifier: Apache-2.0
// Programs with a caching allocator as PyTorch's (tests/fakes/torch/fake_c10.h), one scene a run, for
// torch_allocator_test.cpp. Each prints what the allocator itself says; that and the status are to be the same with
// libprof and without.
//
//   torch_allocator_victim SCENE
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_gpu.h"
#include "fakes/torch/fake_c10.h"
#include "session/scenes.hpp"
#include "session/task_thread.hpp"

namespace {

using prof::test::expect;
using prof::test::of_libprof;
using prof::test::task_thread;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr int layers = 6;

struct named_range {
    explicit named_range(const std::string& name) { nvtxRangePushA(name.c_str()); }
    ~named_range() { nvtxRangePop(); }
    named_range(const named_range&) = delete;
    named_range& operator=(const named_range&) = delete;
};

void step() {
    if (auto* const count = of_libprof<int()>("prof_step")) (void)count();
}

void tell(const char* what, int number) {
    std::printf("%s %d peak %zu allocated %zu reserved %zu\n", what, number, fake_c10_peak(0), fake_c10_allocated(0),
                fake_c10_reserved(0));
}

std::uint64_t block(std::size_t bytes) {
    const std::uint64_t out = fake_c10_allocate(bytes, 0);
    expect(out != 0, "there is memory");
    return out;
}

// A training loop, whose backward is on another thread, as autograd's.
class training {
public:
    training() {
        expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA begins");
        (void)fake_c10_peak(0);
        for (std::uint64_t& each : parameters_) each = block(4 * mib);
    }

    void run(int count) {
        for (int i = 0; i < count; ++i) {
            tell("step", i);
            number_ = i;
            forward();
            autograd_([this] { backward(); });
            optimize();
            step();
        }
        tell("step", count);
    }

    // What happens in each step, in this layer of this part.
    int leak_in = -1;
    int fail_in = -1;
    int kill_in = -1;
    int at_step = -1;  // -1: in each

private:
    bool is_at(int layer, int wanted) const { return layer == wanted && (at_step < 0 || at_step == number_); }

    void forward() {
        const named_range range("forward");
        expect(fake_cuda_launch("forward_k", 2'000, nullptr) == 0, "a launch");
        for (int i = 0; i < layers; ++i) {
            const named_range layer("layer " + std::to_string(i));
            activations_[static_cast<std::size_t>(i)] = block((6 + static_cast<std::size_t>(i)) * mib);
            fake_c10_free(block(mib), 0);
            if (is_at(i, leak_in)) (void)block(mib / 2);
        }
    }
    void backward() {
        const named_range range("backward");
        for (int i = layers; i-- > 0;) {
            const auto at = static_cast<std::size_t>(i);
            const named_range layer("layer " + std::to_string(i));
            gradients_[at] = block(4 * mib);
            if (is_at(i, fail_in)) {
                expect(fake_c10_allocate(std::size_t{3} << 30, 0) == 0, "memory runs out");
                tell("failed", i);
            }
            const std::uint64_t workspace = block(3 * mib);
            if (is_at(i, kill_in)) {
                tell("killed", i);
                (void)std::fflush(stdout);
                raise(SIGKILL);
            }
            fake_c10_free(workspace, 0);
            fake_c10_free(activations_[at], 0);
        }
    }
    void optimize() {
        const named_range range("optimizer");
        for (std::size_t i = 0; i < layers; ++i) {
            if (states_[i] == 0) states_[i] = block(8 * mib);
            fake_c10_free(gradients_[i], 0);
        }
    }

    std::array<std::uint64_t, layers> parameters_{};
    std::array<std::uint64_t, layers> activations_{};
    std::array<std::uint64_t, layers> gradients_{};
    std::array<std::uint64_t, layers> states_{};
    int number_ = 0;
    task_thread autograd_{"pt_autograd_0"};
};

void train() { training().run(8); }

void leak() {
    training of;
    of.leak_in = 3;
    of.run(12);
}

void fail() {
    fake_c10_set_limit(std::size_t{1} << 30, 0);
    training of;
    of.fail_in = 2;
    of.at_step = 4;
    of.run(6);
}

void killed() {
    training of;
    of.kill_in = 1;
    of.at_step = 5;
    of.run(9);
}

// Half of what is reserved is free, in pieces of 1 MiB; and 4 MiB cannot be had.
void fragmented() {
    expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA begins");
    fake_c10_set_limit(64 * mib, 0);
    const named_range range("cut up");
    std::vector<std::uint64_t> blocks;
    for (int i = 0; i < 64; ++i) blocks.push_back(block(mib));
    for (std::size_t i = 0; i < blocks.size(); i += 2) fake_c10_free(blocks[i], 0);
    expect(fake_c10_allocate(4 * mib, 0) == 0, "no piece is large enough");
    tell("failed", 0);
}

// The recording begins late, and ends before the program does.
void late() {
    std::vector<std::uint64_t> blocks;
    for (int i = 0; i < 10; ++i) blocks.push_back(block(2 * mib));
    if (auto* const begin = of_libprof<int(const char* const*)>("prof_start")) {
        expect(begin(nullptr) == PROF_OK, "it starts");
    }
    expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA begins");
    tell("late", 0);
    training().run(4);
    for (int i = 0; i < 5; ++i) fake_c10_free(blocks[static_cast<std::size_t>(i)], 0);
    tell("late", 1);
    if (auto* const end = of_libprof<int()>("prof_stop")) expect(end() == PROF_OK, "it stops");
    fake_c10_free(block(mib), 0);
    std::printf("%zu reports\n", fake_c10_reports());
}

// Many threads, which free each other's blocks; empty_cache; two windows.
void random_threads() {
    expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA begins");
    constexpr std::size_t threads = 4;
    std::mutex mutex;
    std::vector<std::uint64_t> blocks;
    const auto work = [&](unsigned seed) {
        std::minstd_rand numbers(seed);
        const named_range range("work");
        for (int i = 0; i < 2'000; ++i) {
            std::uint64_t freed = 0;
            {
                const std::lock_guard lock(mutex);
                if (!blocks.empty() && numbers() % 2 == 0) {
                    std::swap(blocks[numbers() % blocks.size()], blocks.back());
                    freed = blocks.back();
                    blocks.pop_back();
                }
            }
            if (freed != 0) {
                fake_c10_free(freed, 0);
            } else {
                const std::uint64_t made = block(1 + numbers() % (3 * mib));
                const std::lock_guard lock(mutex);
                blocks.push_back(made);
            }
            if (numbers() % 500 == 0) fake_c10_empty_cache(0);
        }
    };
    for (unsigned window = 0; window < 2; ++window) {
        std::vector<std::thread> running;
        for (unsigned i = 0; i < threads; ++i) running.emplace_back(work, 1 + i + threads * window);
        for (std::thread& each : running) each.join();
        if (window != 0) break;
        if (auto* const pause = of_libprof<int()>("prof_pause")) expect(pause() == PROF_OK, "it pauses");
        work(99);
        if (auto* const resume = of_libprof<int()>("prof_resume")) expect(resume() == PROF_OK, "it resumes");
    }
    const bool has_all = fake_c10_reports() == 9 * 2'000;
    expect(has_all, "PyTorch's own function is called each time");
    if (of_libprof<int()>("prof_pause") != nullptr) {
        std::fprintf(stderr, "libprof: allocated %zu reserved %zu\n", fake_c10_allocated(0), fake_c10_reserved(0));
    }
}

// A million blocks are alive. Says how much memory the process has had at most.
void million() {
    expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA begins");
    const named_range range("million");
    std::vector<std::uint64_t> blocks(1'000'000);
    for (std::uint64_t& each : blocks) each = block(512);
    for (int round = 0; round < 10; ++round) {
        for (std::size_t i = 0; i < blocks.size(); i += 10) {
            fake_c10_free(blocks[i], 0);
            blocks[i] = block(512);
        }
        step();
    }
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) std::fprintf(stderr, "libprof: %s\n", line.c_str());
    }
}

// Others use the GPU, too: as much as is in use, without what the allocator has reserved. The driver is asked when the
// allocator reserves more, and about once a second.
void crowded() {
    expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA begins");
    const named_range range("crowded");
    fake_gpu_use_memory(702 * mib);
    (void)block(mib);  // 2 MiB are reserved
    fake_gpu_use_memory(950 * mib);
    (void)block(mib / 2);                         // no more
    const std::uint64_t large = block(48 * mib);  // 50 MiB
    fake_gpu_use_memory(1050 * mib);
    timespec begin{};
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    for (timespec now = begin; now.tv_sec < begin.tv_sec + 3; (void)clock_gettime(CLOCK_MONOTONIC, &now)) {
        fake_c10_free(block(512), 0);
        const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
        (void)nanosleep(&pause, nullptr);
    }
    fake_c10_free(large, 0);
    fake_c10_set_limit(60 * mib, 0);
    fake_gpu_use_memory(800 * mib);
    expect(fake_c10_allocate(100 * mib, 0) == 0, "no memory");
}

// Sizes that are more than 2 TiB, on two devices; a forked child.
void wide() {
    expect(cudaDeviceSynchronize() == cudaSuccess, "CUDA begins");
    const named_range range("wide");
    (void)block(100);
    const std::uint64_t large = fake_c10_allocate((std::size_t{5} << 40) + 512, 1);
    std::printf("%zu %zu\n", fake_c10_allocated(1), fake_c10_reserved(1));
    fake_c10_free(large, 1);
    (void)fake_c10_allocate(mib, 1);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const named_range inner("of the child");
        (void)block(mib);
        std::exit(0);
    }
    int status = 0;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child ends well");
}

}  // namespace

int main(int count, char** arguments) {
    return prof::test::play(count > 1 ? arguments[1] : nullptr, {{"train", train},
                                                                 {"leak", leak},
                                                                 {"fail", fail},
                                                                 {"killed", killed},
                                                                 {"fragmented", fragmented},
                                                                 {"late", late},
                                                                 {"random", random_threads},
                                                                 {"million", million},
                                                                 {"crowded", crowded},
                                                                 {"wide", wide}});
}
