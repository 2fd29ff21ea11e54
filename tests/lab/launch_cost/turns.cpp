// SPDX-License-Identifier: Apache-2.0
// A process that launches when it is its turn, for tests/lab/residue.py.
//
//   launch_turns CHANGE [LIBPROF [CLIENT_LIBRARY]]      CHANGE: none, join, start-stop
//
// Says "ready", and answers each line of its input with one:
//
//   launches STEPS SETTLE               milliseconds a step, which is a burst of 400 launches: the median of so many
//   and launches-two-threads            and the least, after others that are not counted; of two threads that launch
//   STEPS SETTLE                        at the same time the mean of both
//   change                              what is to be compared with the time before, while all the threads launch:
//                                       "none" is nothing; "join" loads LIBPROF and lets it know of CUDA, as where it
//                                       is there from the beginning; "start-stop" is three recordings of the libprof
//                                       that is in the process already. The answer is "done"
//   subscribe                           whether CUPTI has a subscriber: the discarding client tries to be it. It is
//                                       answered with "free", or CUPTI's error. Nothing is measured after it
//
// Threads that launch are kept on one core each, the same in every process. How fast a process launches depends on
// where its blocks and stacks came to lie in memory, and whatever is in the process moves them by an amount that is the
// same each time: so each process moves them by another one, and processes differ by chance alone.
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bursts.hpp"

namespace launch_cost {
namespace {

constexpr int recordings = 3;
constexpr int bursts_a_recording = 5;  // and as many between two of them

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "launch_turns: %s\n", what.c_str());
    std::exit(2);
}

// The last core, and the third before it: in neither of the usual numberings is it a sibling of that.
void stay_on_core(std::size_t number) {
    static const std::vector<std::size_t> allowed = [] {
        cpu_set_t set;
        CPU_ZERO(&set);
        (void)sched_getaffinity(0, sizeof set, &set);
        std::vector<std::size_t> cores;
        for (std::size_t core = CPU_SETSIZE; core-- > 0;) {
            if (CPU_ISSET(core, &set)) cores.push_back(core);
        }
        return cores;
    }();
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(allowed[(3 * number) % allowed.size()], &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

unsigned random_below(unsigned limit) {
    static std::random_device source;
    return source() % limit;
}

// Before CUDA takes its first block. They are never given back.
void move_heap() {
    const unsigned count = random_below(64);
    for (unsigned i = 0; i < count; ++i) {
        if (std::malloc(16 + random_below(2048)) == nullptr) return;
    }
}

// Threads that launch at the same time, each on a stream of its own.
class crew {
public:
    explicit crew(std::size_t size) : turn_(static_cast<std::ptrdiff_t>(size) + 1), took_ns_(size) {
        for (std::size_t i = 0; i < size; ++i) stack_shift_.push_back(random_below(256));
        for (std::size_t i = 0; i < size; ++i) threads_.emplace_back([this, i] { launch(i); });
    }
    ~crew() {
        is_over_ = true;
        turn_.arrive_and_wait();
        for (std::thread& thread : threads_) thread.join();
    }
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    // Nanoseconds a launch, the mean of the threads.
    double burst() {
        turn_.arrive_and_wait();
        turn_.arrive_and_wait();
        double sum = 0;
        for (const double ns : took_ns_) sum += ns;
        return sum / static_cast<double>(took_ns_.size());
    }

private:
    void launch(std::size_t number) {
        // Moves what it calls on its stack, within a page.
        static_cast<volatile char*>(alloca(16 * std::size_t{stack_shift_[number]} + 16))[0] = 0;
        stay_on_core(number);
        cudaStream_t stream = nullptr;
        if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) fail("there is no stream");
        for (;;) {
            turn_.arrive_and_wait();
            if (is_over_) return;
            took_ns_[number] = burst_ns(stream);
            turn_.arrive_and_wait();
        }
    }

    std::barrier<> turn_;
    std::vector<double> took_ns_;
    std::vector<unsigned> stack_shift_;
    bool is_over_ = false;
    std::vector<std::thread> threads_;
};

// Bursts until it is destroyed, one after the other.
class busy_crew {
public:
    explicit busy_crew(crew& launches)
        : thread_([this, &launches] {
              while (!is_over_) {
                  (void)launches.burst();
                  ++bursts_;
                  bursts_.notify_all();
              }
          }) {}
    ~busy_crew() {
        is_over_ = true;
        thread_.join();
    }
    busy_crew(const busy_crew&) = delete;
    busy_crew& operator=(const busy_crew&) = delete;

    void wait_for_bursts(int count) {
        const int since = bursts_;
        for (int now = since; now - since < count; now = bursts_) bursts_.wait(now);
    }

private:
    std::atomic<int> bursts_{0};
    std::atomic<bool> is_over_{false};
    std::thread thread_;
};

template <typename TFunction>
TFunction* function(void* library, const char* name) {
    void* const found = dlsym(library, name);
    if (found == nullptr) fail(std::string("there is no ") + name + ": is libprof.so in the process?");
    return reinterpret_cast<TFunction*>(found);
}

void* load(const char* path) {
    void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) fail(path == nullptr ? "no library was named" : dlerror());
    return library;
}

struct names {
    std::string change;
    const char* libprof = nullptr;
    const char* client = nullptr;
};

void change(const names& given, const std::function<void()>& launch_some) {
    for (int i = 0; i < recordings; ++i) {
        const bool records = given.change == "start-stop";
        if (given.change == "join" && i == 0) (void)function<int()>(load(given.libprof), "InitializeInjection")();
        if (records && function<int(const char* const*)>(RTLD_DEFAULT, "prof_start")(nullptr) != 0) {
            fail(function<const char*()>(RTLD_DEFAULT, "prof_last_error")());
        }
        launch_some();
        if (records && function<int()>(RTLD_DEFAULT, "prof_stop")() != 0) {
            fail(function<const char*()>(RTLD_DEFAULT, "prof_last_error")());
        }
        launch_some();
    }
}

std::string subscribe(const names& given) {
    void* const client = load(given.client);
    if (function<int(int)>(client, "client_start")(0) != 0) return function<const char*()>(client, "client_problem")();
    return function<int()>(client, "client_stop")() == 0 ? "free" : "free, but could not be let go";
}

std::string window_ms(crew& launches, int steps, int settle) {
    for (int i = 0; i < settle; ++i) (void)launches.burst();
    std::vector<double> bursts;
    bursts.reserve(static_cast<std::size_t>(steps));
    for (int i = 0; i < steps; ++i) bursts.push_back(launches.burst() * launches_a_burst / 1e6);
    return std::to_string(quantile(bursts, 0.5)) + " " + std::to_string(quantile(bursts, 0));
}

std::string answer(const std::string& line, const names& given, crew& one, crew& two) {
    std::istringstream words(line);
    std::string what;
    int steps = 0;
    int settle = 0;
    words >> what;
    if (what == "change") {
        busy_crew first(one);
        busy_crew second(two);
        change(given, [&] {
            first.wait_for_bursts(bursts_a_recording);
            second.wait_for_bursts(bursts_a_recording);
        });
        return "done";
    }
    if (what == "subscribe") return subscribe(given);
    if (!(words >> steps >> settle) || steps < 1 || (what != "launches" && what != "launches-two-threads")) {
        fail("the line '" + line + "': there are launches and launches-two-threads STEPS SETTLE, change, subscribe");
    }
    return window_ms(what == "launches" ? one : two, steps, settle);
}

}  // namespace
}  // namespace launch_cost

int main(int argc, char** argv) {
    using namespace launch_cost;
    const names given{argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : nullptr, argc > 3 ? argv[3] : nullptr};
    if (given.change != "none" && given.change != "join" && given.change != "start-stop") {
        fail("usage: launch_turns none|join|start-stop [LIBPROF [CLIENT_LIBRARY]]");
    }
    move_heap();
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::printf("launch_turns: skipped, there is no GPU\n");
        return skip;
    }
    crew one(1);
    crew two(2);
    for (crew* each : {&one, &two}) (void)window_ms(*each, 3, 0);
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(line, given, one, two) << std::endl;
    return 0;
}
