// SPDX-License-Identifier: Apache-2.0
// A training loop on the CPU, with a flaw or without, whose times are known. It sleeps where others compute, so that a
// machine that does other work, too, changes them little. Prints how long the flaw took in each step, in ns.
//
//     host_only_program phases|ranges STEPS clean|loader|logging|slow|busy
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <prof/range.hpp>

namespace {

using std::chrono::milliseconds;

void compute(milliseconds time) { std::this_thread::sleep_for(time); }

// By its own clock.
std::chrono::nanoseconds in_flaw{};
void flaw(milliseconds time) {
    const auto begin = std::chrono::steady_clock::now();
    compute(time);
    in_flaw += std::chrono::steady_clock::now() - begin;
}

// Uses the CPU. perf sees it by its name.
[[gnu::noinline]] void busy_function(milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    volatile int counted = 0;
    while (std::chrono::steady_clock::now() < until) {
        for (int i = 0; i < 100'000; ++i) counted = counted + 1;
    }
}

struct flaws {
    bool loader = false;
    bool logging = false;
    bool slow = false;
    bool busy = false;
};

void step_of_phases(const flaws& has, bool is_slow) {
    PROF_PHASE("step");
    {
        PROF_PHASE("data");
        if (has.loader) flaw(milliseconds(40));
    }
    {
        PROF_PHASE("forward");
        compute(milliseconds(20));
        if (has.busy) busy_function(milliseconds(20));
        if (is_slow) flaw(milliseconds(200));
    }
    {
        PROF_PHASE("backward");
        compute(milliseconds(30));
    }
    {
        PROF_PHASE("optimizer");
        compute(milliseconds(5));
    }
    if (has.logging) flaw(milliseconds(40));
}

void step_of_ranges(const flaws& has, bool is_slow) {
    PROF_RANGE("iteration");
    {
        PROF_RANGE("data");
        if (has.loader) flaw(milliseconds(40));
    }
    {
        PROF_RANGE("solve");
        compute(milliseconds(50));
        if (is_slow) flaw(milliseconds(200));
    }
    if (has.logging) flaw(milliseconds(40));
}

}  // namespace

int main(int count, char** values) {
    if (count != 4) return 2;
    const std::string name = values[3];
    const flaws has{name == "loader", name == "logging", name == "slow", name == "busy"};
    const int steps = std::atoi(values[2]);
    for (int step = 0; step < steps; ++step) {
        const bool is_slow = has.slow && step % 5 == 3;
        if (std::string(values[1]) == "phases") {
            step_of_phases(has, is_slow);
        } else {
            step_of_ranges(has, is_slow);
        }
        std::printf("%lld\n", static_cast<long long>(in_flaw.count()));
        in_flaw = {};
    }
}
