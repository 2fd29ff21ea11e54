// SPDX-License-Identifier: Apache-2.0
// A training loop on the CPU, with a flaw or without, whose times are known. It sleeps where others compute, so that a
// machine that does other work, too, changes them little.
//
//     host_only_program phases|ranges STEPS clean|loader|logging|slow
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include <prof/range.hpp>

namespace {

using std::chrono::milliseconds;

void compute(milliseconds time) { std::this_thread::sleep_for(time); }

// As long as it takes a step, or not.
struct flaws {
    bool loader = false;
    bool logging = false;
    bool slow = false;
};

void step_of_phases(const flaws& has, bool is_slow) {
    PROF_PHASE("step");
    {
        PROF_PHASE("data");
        if (has.loader) compute(milliseconds(100));
    }
    {
        PROF_PHASE("forward");
        compute(milliseconds(20));
        if (is_slow) compute(milliseconds(500));
    }
    {
        PROF_PHASE("backward");
        compute(milliseconds(30));
    }
    {
        PROF_PHASE("optimizer");
        compute(milliseconds(5));
    }
    if (has.logging) compute(milliseconds(100));
}

void step_of_ranges(const flaws& has, bool is_slow) {
    PROF_RANGE("iteration");
    {
        PROF_RANGE("data");
        if (has.loader) compute(milliseconds(100));
    }
    {
        PROF_RANGE("solve");
        compute(milliseconds(120));
        if (is_slow) compute(milliseconds(500));
    }
    if (has.logging) compute(milliseconds(100));
}

}  // namespace

int main(int count, char** values) {
    if (count != 4) return 2;
    const std::string flaw = values[3];
    const flaws has{flaw == "loader", flaw == "logging", flaw == "slow"};
    const int steps = std::atoi(values[2]);
    for (int step = 0; step < steps; ++step) {
        const bool is_slow = has.slow && step % 5 == 3;
        if (std::string(values[1]) == "phases") {
            step_of_phases(has, is_slow);
        } else {
            step_of_ranges(has, is_slow);
        }
    }
}
