// SPDX-License-Identifier: Apache-2.0
// Programs whose host code runs, sleeps, waits for a lock, a pipe or a CPU, for thread_time_test.py. Writes what the
// thread did in that code by its own measurement: "ran waited blocked", in seconds.
//
// Usage: thread_time_cases CASE
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>

extern "C" {
int fake_cuda_launch(const char* kernel, std::uint64_t duration_ns, void* stream);
int cudaDeviceSynchronize();
}

namespace {

using std::chrono::milliseconds;

double seconds(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// For a CPU, by the kernel.
double waited() {
    std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "r");
    unsigned long long ran = 0, out = 0;
    if (file == nullptr || std::fscanf(file, "%llu %llu", &ran, &out) != 2) out = 0;
    if (file != nullptr) std::fclose(file);
    return static_cast<double>(out) / 1e9;
}

void spin(double cpu_seconds) {
    const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + cpu_seconds;
    while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

std::mutex mutex;
int pipe_ends[2];

void lock() { const std::lock_guard held(mutex); }

void read_pipe() {
    char byte = 0;
    if (read(pipe_ends[0], &byte, 1) != 1) std::_Exit(1);
}

// Has `main_part` find a lock that is held, or a pipe that is empty, for 10 ms each time.
class other_thread {
public:
    explicit other_thread(bool holds_lock) : thread_([this, holds_lock] { run(holds_lock); }) {}
    ~other_thread() {
        go(true);
        thread_.join();
    }
    void go(bool ends = false) {
        std::unique_lock held(state_);
        goes_ = true;
        ends_ = ends;
        changed_.notify_all();
        changed_.wait(held, [this] { return !goes_; });
    }

private:
    void run(bool holds_lock) {
        std::unique_lock held(state_);
        while (true) {
            changed_.wait(held, [this] { return goes_; });
            if (holds_lock) mutex.lock();
            goes_ = false;
            changed_.notify_all();
            held.unlock();
            if (ends_) {
                if (holds_lock) mutex.unlock();
                return;
            }
            std::this_thread::sleep_for(milliseconds(10));
            if (holds_lock) {
                mutex.unlock();
            } else if (write(pipe_ends[1], "x", 1) != 1) {
                std::_Exit(1);
            }
            held.lock();
        }
    }

    std::mutex state_;
    std::condition_variable changed_;
    bool goes_ = false;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace

int main(int, char** arguments) {
    const std::string name = arguments[1];
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) return 1;
    double ran = 0, waited_for_cpu = 0, all = 0;
    const bool has_other = name == "lock" || name == "pipe";
    other_thread* const other = has_other ? new other_thread(name == "lock") : nullptr;
    for (int i = 0; i < 150; ++i) {
        fake_cuda_launch("kernel", 20'000, nullptr);
        cudaDeviceSynchronize();
        const double begin = seconds(CLOCK_MONOTONIC), ran_before = seconds(CLOCK_THREAD_CPUTIME_ID);
        const double waited_before = waited();
        if (other != nullptr) other->go();
        if (name == "spin" || name == "compete") spin(0.010);
        if (name == "sleep") std::this_thread::sleep_for(milliseconds(10));
        if (name == "lock") lock();
        if (name == "pipe") read_pipe();
        if (name == "mixed") {
            spin(0.006);
            std::this_thread::sleep_for(milliseconds(4));
        }
        if (name == "short") {  // shorter than the drain thread's pause
            spin(0.0007);
            std::this_thread::sleep_for(std::chrono::microseconds(800));
        }
        waited_for_cpu += waited() - waited_before;
        ran += seconds(CLOCK_THREAD_CPUTIME_ID) - ran_before;
        all += seconds(CLOCK_MONOTONIC) - begin;
    }
    fake_cuda_launch("kernel", 20'000, nullptr);
    delete other;
    std::printf("%.6f %.6f %.6f\n", ran, waited_for_cpu, all - ran - waited_for_cpu);
    return 0;
}
