// SPDX-License-Identifier: Apache-2.0
// A trainer on the simulated GPU that does what it is told, a line at a time, so that a test knows what it has done
// when it asks `prof ctl`'s questions of it. Answers each order with a line.
//
//   control_victim ORDERS ANSWERS      two FIFOs
//   orders: train N | occupy MS | step N | storm | launches | calm | hold | held | release | handler | fork | exec |
//           raise N | exit | _exit
#include <cuda_runtime_api.h>
#include <prof/prof.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <prof/range.hpp>
#include <string>
#include <thread>

#include "fakes/fake_gpu.h"

namespace {

volatile sig_atomic_t own_signals = 0;
void count_signal(int) { own_signals = own_signals + 1; }

void kernel() {}

void launch(cudaStream_t stream) {
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(32), nullptr, 0, stream);
}

void train(int steps, cudaStream_t stream) {
    for (int i = 0; i < steps; ++i) {
        PROF_RANGE("step");
        for (int k = 0; k < 5; ++k) launch(stream);
    }
    (void)cudaStreamSynchronize(stream);
}

// Launches and waits as fast as it can, calls prof_step, and keeps the longest time between two launches.
class storm {
public:
    void begin() {
        going_ = true;
        thread_ = std::thread([this] {
            cudaStream_t stream = nullptr;
            (void)cudaStreamCreate(&stream);
            auto last = std::chrono::steady_clock::now();
            while (going_) {
                PROF_RANGE("storm");
                launch(stream);
                (void)cudaStreamSynchronize(stream);
                (void)prof_step();
                const auto now = std::chrono::steady_clock::now();
                longest_ = std::max(longest_, now - last);
                last = now;
                launches_.fetch_add(1);
            }
        });
    }
    void end() {
        going_ = false;
        if (thread_.joinable()) thread_.join();
    }
    unsigned long long launches() const { return launches_.load(); }
    long long longest_us() const { return std::chrono::duration_cast<std::chrono::microseconds>(longest_).count(); }

private:
    std::atomic<bool> going_{false};
    std::atomic<unsigned long long> launches_{0};
    std::chrono::steady_clock::duration longest_{0};
    std::thread thread_;
};

// Whoever subscribes to CUPTI next stays in there until it is released.
std::atomic<bool> is_held{false};
std::atomic<bool> is_released{false};

void hold() {
    is_held = false;
    is_released = false;
    fake_gpu_interrupt(FAKE_GPU_IN_SUBSCRIPTION, [] {
        is_held = true;
        while (!is_released) std::this_thread::yield();
    });
}

// How a child that is forked here ends after it was sent the signal: "exited 0", "signal 10". Its sockets are gone.
std::string fork_child(int signal) {
    const pid_t child = fork();
    if (child == 0) {
        if (signal != 0) raise(signal);
        int sockets = 0;
        for (int fd = 3; fd < 256; ++fd) {
            char target[64] = {};
            const std::string link = "/proc/self/fd/" + std::to_string(fd);
            if (readlink(link.c_str(), target, sizeof target - 1) > 0) sockets += target[0] == 's' ? 1 : 0;
        }
        std::exit(sockets);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                               : "exited " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    std::ifstream orders(argv[1]);
    std::ofstream answers(argv[2]);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(kernel), "kernel", 10'000);
    cudaStream_t stream = nullptr;
    storm storming;
    std::string order;
    answers << "here" << std::endl;
    while (orders >> order) {
        std::string answer = "done";
        int number = 0;
        if (order == "train") {
            orders >> number;
            if (stream == nullptr) (void)cudaStreamCreate(&stream);
            train(number, stream);
        } else if (order == "occupy") {
            orders >> number;
            cudaStream_t other = nullptr;
            (void)cudaStreamCreate(&other);
            fake_gpu_next_duration_ns(static_cast<std::uint64_t>(number) * 1'000'000);
            launch(other);
        } else if (order == "step") {
            orders >> number;
            for (int i = 0; i < number; ++i) (void)prof_step();
        } else if (order == "storm") {
            storming.begin();
        } else if (order == "launches") {
            answer = std::to_string(storming.launches());
        } else if (order == "calm") {
            storming.end();
            answer = std::to_string(storming.longest_us());
        } else if (order == "hold") {
            hold();
        } else if (order == "held") {
            answer = is_held ? "yes" : "no";
        } else if (order == "release") {
            is_released = true;
        } else if (order == "handler") {
            orders >> number;
            struct sigaction own {};
            own.sa_handler = count_signal;
            sigaction(number, &own, nullptr);
        } else if (order == "raise") {
            orders >> number;
            raise(number);
            answer = std::to_string(own_signals);
        } else if (order == "fork") {
            orders >> number;
            answer = fork_child(number);
        } else if (order == "exec") {
            execv("/proc/self/exe", argv);
            return 3;
        } else if (order == "_exit") {
            _exit(5);
        } else if (order == "exit") {
            break;
        }
        answers << answer << std::endl;
    }
    storming.end();
    std::puts("done");
    return 0;
}
