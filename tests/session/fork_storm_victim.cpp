// SPDX-License-Identifier: Apache-2.0
// Threads that launch and make ranges, threads that start, stop, pause, resume, sync, step and dump, and threads that
// fork children and grandchildren of them, which do the same, for some time.
//
//   fork_storm_victim MILLISECONDS SEED
//
// A child that only makes ranges makes N of the name "child's N" and ends by exit, or by _exit, a signal or exec.
// Prints how many children ended, and of these how many by exit after such ranges.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "session/scenes.hpp"

namespace {

using namespace prof::test;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::atomic<bool> go_on{true};
std::atomic<int> children{0};
std::atomic<int> counted_children{0};
const char* self = nullptr;

constexpr int counted_status = 40;
constexpr int other_status = 41;
constexpr auto longest_life = std::chrono::seconds(60);

class dice {
public:
    explicit dice(unsigned seed) : numbers_(seed) {}
    unsigned below(unsigned limit) { return static_cast<unsigned>(numbers_() % limit); }

private:
    std::minstd_rand numbers_;
};

void call(const char* name) {
    if (auto* const found = of_libprof<int()>(name)) (void)found();
}

void command(dice& draw) {
    switch (draw.below(8)) {
        case 0:
            return call("prof_pause");
        case 1:
            return call("prof_resume");
        case 2:
            return call("prof_sync");
        case 3:
            return call("prof_step");
        case 4:
            return call("prof_stop");
        case 5:
            if (auto* const dump = of_libprof<int(const char*)>("prof_dump"); dump && draw.below(20) == 0)
                dump(nullptr);
            return;
        case 6: {
            char path[300];
            auto* const ask = of_libprof<std::size_t(char*, std::size_t)>("prof_capture_path");
            if (ask != nullptr) (void)ask(path, sizeof path);
            return;
        }
        default:
            if (auto* const start = of_libprof<int(const char* const*)>("prof_start")) (void)start(nullptr);
    }
}

[[noreturn]] void end_somehow(dice& draw) {
    const unsigned way = draw.below(8);
    if (way == 0) execl(self, self, "0", "0", nullptr);
    if (way == 1) raise(SIGKILL);
    if (way < 5) std::exit(other_status);
    _exit(other_status);
}

void family(dice& draw, int generation);

[[noreturn]] void live(dice draw, int generation) {
    if (draw.below(2) == 0) {  // nothing but ranges
        const unsigned count = 1 + draw.below(20);
        const std::string name = "child's " + std::to_string(count);
        for (unsigned i = 0; i < count; ++i) {
            const prof::scoped_range range(name.c_str());
        }
        std::exit(counted_status);
    }
    if (draw.below(2) == 0) {
        PROF_RANGE("child");
    }
    for (unsigned i = draw.below(4); i > 0; --i) command(draw);
    if (draw.below(2) == 0) {
        std::thread([] { PROF_RANGE("thread of a child"); }).join();
    }
    if (generation < 2 && draw.below(3) == 0) family(draw, generation + 1);
    end_somehow(draw);
}

// Forks a child and sees its end.
void family(dice& draw, int generation) {
    const dice of_child(draw.below(1U << 30));
    const pid_t child = fork();
    if (child == 0) live(of_child, generation);
    const auto end = steady_clock::now() + longest_life;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (steady_clock::now() > end) {
            std::fprintf(stderr, "child %d hangs\n", static_cast<int>(child));
            std::abort();
        }
        usleep(500);
    }
    const bool is_counted = WIFEXITED(status) && WEXITSTATUS(status) == counted_status;
    const bool ended_well = is_counted || (WIFEXITED(status) && WEXITSTATUS(status) == other_status) ||
                            (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                            (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    if (!ended_well) {
        std::fprintf(stderr, "child %d ended with %x\n", static_cast<int>(child), static_cast<unsigned>(status));
        std::abort();
    }
    if (generation == 0) ++children;
    if (generation == 0 && is_counted) ++counted_children;
}

void work() {
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    for (unsigned i = 0; go_on; ++i) {
        PROF_RANGE("step");
        (void)fake_cuda_launch("work_k", 1'000, stream);
        if (i % 64 == 0) (void)cudaStreamSynchronize(stream);
        if (i % 8 == 0) usleep(50);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    self = argv[0];
    const milliseconds length(std::atoi(argv[1]));
    if (length.count() == 0) return 0;  // by exec
    const auto seed = static_cast<unsigned>(std::atoi(argv[2]));
    dice draw(seed + 1);
    const bool uses_gpu = draw.below(4) != 0;
    {
        // Before any fork: a child would wait for ever for who is loading NVTX's tool in its parent.
        PROF_RANGE("first");
    }
    std::vector<std::thread> threads;
    if (uses_gpu) {
        for (int i = 0; i < 2; ++i) threads.emplace_back(work);
    }
    threads.emplace_back([] {
        while (go_on) {
            std::thread([] { PROF_RANGE("short"); }).join();
            usleep(200);
        }
    });
    for (unsigned i = 0; i < 2; ++i) {
        threads.emplace_back([i, seed] {
            for (dice own(seed * 200 + i); go_on; usleep(own.below(2000))) command(own);
        });
        threads.emplace_back([i, seed] {
            for (dice own(seed * 300 + i); go_on; usleep(own.below(2000))) family(own, 0);
        });
    }
    std::this_thread::sleep_for(length);
    go_on = false;
    for (std::thread& thread : threads) thread.join();
    std::printf("%d children, %d counted\n", children.load(), counted_children.load());
    return 3;
}
