// SPDX-License-Identifier: Apache-2.0
// What the records of PyTorch's allocator cost: a pair of allocate and free of the stand-in for it, with the recording
// open, paused and stopped, alternately in one process. The stand-in does less than the allocator itself, of which a
// pair of torch.empty() and its end takes 2.4 us or more.
//
//   allocator_cost [ROUNDS]
#include <prof/prof.h>
#include <prof/range.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fakes/torch/fake_c10.h"

namespace {

constexpr int pairs = 2'000;

double pair_ns() {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < pairs; ++i) fake_c10_free(fake_c10_allocate(1 << 20, 0), 0);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / pairs;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

void need(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "allocator_cost: %s\n", what);
    std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::atoi(arguments[1]) : 200;
    need(rounds > 0, "the number of rounds is to be above 0");
    { PROF_RANGE("begin"); }
    need(prof_is_recording() == 1, "nothing is recorded");
    std::array<std::vector<double>, 3> ns;  // open, paused, and their difference
    for (int round = -1; round < rounds; ++round) {
        const double open = pair_ns();
        need(prof_sync() == PROF_OK && prof_pause() == PROF_OK, "it does not pause");
        const double paused = pair_ns();
        need(prof_resume() == PROF_OK, "it does not resume");
        if (round < 0) continue;
        ns[0].push_back(open);
        ns[1].push_back(paused);
        ns[2].push_back(open - paused);
    }
    need(prof_stop() == PROF_OK, "it does not stop");
    std::vector<double> stopped;
    for (int round = 0; round < rounds; ++round) stopped.push_back(pair_ns());
    std::printf(
        "a pair: recording %.1f ns, paused %.1f ns, stopped %.1f ns; recording adds %.1f ns to it, %.2f %% of 2400\n",
        median(ns[0]), median(ns[1]), median(stopped), median(ns[2]), median(ns[2]) / 24);
    return 0;
}
