// SPDX-License-Identifier: Apache-2.0
// What a pair of range enter and leave costs: with no tool in the process, with libprof loaded but not recording, and
// recording; beside two clock reads, which no profiler can do without.
//
//     range_cost [--rounds N] [--threads N] [--library LIBPROF]
//
// Method: one process. In each round the three states follow each other, each a window of short bursts in which the
// kinds of range and the clock reads alternate, so that a drifting clock rate or a neighbour on the machine meets all
// alike. A window's figure is the median of its bursts; the table shows the median over the rounds, with the middle
// half. What is above the floor is taken within each window first. A recording window is smaller than a ring, so that
// nothing can be dropped however slow the drain thread is; the ranges found in it are counted afterwards, and must be
// those that were made.
#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <array>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "lab/bench/range_subject.hpp"
#include "lab/bench/session_control.hpp"
#include "lab/bench/windows.hpp"
#include "support/scratch_directory.hpp"

namespace prof::bench {
namespace {

constexpr unsigned pairs_a_burst = 400;
constexpr unsigned bursts = 9;                                // a window: one uncounted burst, then these
constexpr std::uint64_t records_in_a_ring = (1U << 20) / 32;  // of each of the first 8 threads, by default
static_assert(std::uint64_t{2} * 3 * pairs_a_burst * (bursts + 1) < records_in_a_ring);

enum state : std::size_t { no_tool, idle, recording, state_count };
constexpr std::array<const char*, state_count> state_titles{"no tool", "libprof, not recording", "libprof, recording"};

std::span<const range_kind> load_kinds(const char* module) {
    void* const loaded = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) throw std::runtime_error(dlerror());
    auto* kinds = reinterpret_cast<range_kinds_function*>(dlsym(loaded, range_kinds_symbol));
    if (kinds == nullptr) throw std::runtime_error(dlerror());
    return kinds();
}

// Registers names and makes the domain. NVTX searches for its tool now.
void first_use(std::span<const range_kind> kinds) {
    for (const range_kind& kind : kinds) (void)kind.burst_ticks(1);
}

// Of one thread, by kind; in ticks a pair.
using window = std::vector<std::vector<double>>;

window run_window(std::span<const range_kind> kinds) {
    window out(kinds.size());
    for (unsigned burst = 0; burst <= bursts; ++burst) {
        for (std::size_t k = 0; k < kinds.size(); ++k) {
            const auto ticks = static_cast<double>(kinds[k].burst_ticks(pairs_a_burst));
            if (burst != 0) out[k].push_back(ticks / pairs_a_burst);
        }
    }
    return out;
}

// Threads that live as long as the measurement, so that their rings are as warm as a training thread's.
class crew {
public:
    explicit crew(unsigned threads) : start_(threads + 1), end_(threads + 1), windows_(threads) {
        for (unsigned t = 0; t < threads; ++t) workers_.emplace_back([this, t] { work(t); });
    }
    ~crew() {
        kinds_ = {};
        start_.arrive_and_wait();
        for (std::thread& worker : workers_) worker.join();
    }
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    // One window on every thread at once; the bursts of all.
    window run(std::span<const range_kind> kinds) {
        kinds_ = kinds;
        start_.arrive_and_wait();
        end_.arrive_and_wait();
        window all(kinds.size());
        for (const window& one : windows_) {
            for (std::size_t k = 0; k < kinds.size(); ++k) all[k].insert(all[k].end(), one[k].begin(), one[k].end());
        }
        return all;
    }

private:
    void work(unsigned t) {
        for (;;) {
            start_.arrive_and_wait();
            if (kinds_.empty()) return;
            windows_[t] = run_window(kinds_);
            end_.arrive_and_wait();
        }
    }

    std::barrier<> start_;
    std::barrier<> end_;
    std::span<const range_kind> kinds_;  // empty: go home; changes hands at the barriers
    std::vector<window> windows_;
    std::vector<std::thread> workers_;
};

struct stopwatch {
    std::uint64_t ticks = ticks_now();
    std::uint64_t ns = clock_ns(CLOCK_MONOTONIC);

    double ns_per_tick() const {
        const auto elapsed_ns = static_cast<double>(clock_ns(CLOCK_MONOTONIC) - ns);
        return elapsed_ns / static_cast<double>(ticks_now() - ticks);
    }
};

void print_table(std::span<const range_kind> kinds, const std::vector<std::vector<series>>& table) {
    const double floor_ns = median(table[no_tool][0].pair_ns);
    std::printf("%-24s %-30s %8s  %-15s %12s %8s\n", "state", "pair", "ns", "middle half", "above floor", "ratio");
    for (std::size_t s = 0; s < state_count; ++s) {
        for (std::size_t k = 0; k < kinds.size(); ++k) {
            const series& line = table[s][k];
            const double ns = median(line.pair_ns);
            std::printf("%-24s %-30s %8.2f  [%5.2f, %5.2f]  %12.2f %8.2f\n", state_titles[s], kinds[k].title, ns,
                        quantile(line.pair_ns, 0.25), quantile(line.pair_ns, 0.75), median(line.above_floor_ns),
                        ns / floor_ns);
        }
    }
}

int measure(const std::string& library, unsigned rounds, unsigned threads) {
    unsetenv("NVTX_INJECTION64_PATH");
    const auto unobserved = load_kinds(PROF_BENCH_UNOBSERVED_MODULE);
    first_use(unobserved);
    const test::scratch_directory scratch;
    const session_control session(library, scratch.path);
    const auto observed = load_kinds(PROF_BENCH_OBSERVED_MODULE);
    first_use(observed);

    std::map<std::string, std::uint64_t> expected;
    for (const range_kind& kind : observed) {
        if (kind.range_name != nullptr) {
            expected[kind.range_name] = std::uint64_t{threads} * pairs_a_burst * (bursts + 1);
        }
    }

    std::vector<std::vector<series>> table(state_count, std::vector<series>(observed.size()));
    const stopwatch whole;
    std::vector<std::array<window, state_count>> results(rounds);
    {
        crew workers(threads);
        session.start();  // faults in the rings' pages, which a thread does once in its life
        (void)workers.run(observed);
        session.stop(expected);
        for (auto& round : results) {
            round[no_tool] = workers.run(unobserved);
            round[idle] = workers.run(observed);
            session.start();
            round[recording] = workers.run(observed);
            session.stop(expected);
        }
    }
    const double ns_per_tick = whole.ns_per_tick();
    for (auto& round : results) {
        for (std::size_t s = 0; s < state_count; ++s) {
            for (auto& burst_ticks : round[s]) {
                for (double& value : burst_ticks) value *= ns_per_tick;
            }
            const double floor_ns = median(round[s][0]);
            for (std::size_t k = 0; k < observed.size(); ++k) table[s][k].add_window(round[s][k], floor_ns);
        }
    }
    std::printf("%u rounds, %u threads on %u processors, %u pairs a burst, %u bursts a window\n", rounds, threads,
                std::thread::hardware_concurrency(), pairs_a_burst, bursts);
    print_table(observed, table);
    return 0;
}

}  // namespace
}  // namespace prof::bench

int main(int argc, char** argv) {
    unsigned rounds = 200;
    unsigned threads = 1;
    std::string library = PROF_BENCH_LIBRARY;
    CLI::App app{"What a range costs, beside two clock reads."};
    app.add_option("--rounds", rounds, "windows of each state")->check(CLI::Range(1U, 100'000U))->capture_default_str();
    app.add_option("--threads", threads, "that make ranges at once")->check(CLI::Range(1U, 8U))->capture_default_str();
    app.add_option("--library", library, "libprof.so of another build, to compare with")->check(CLI::ExistingFile);
    CLI11_PARSE(app, argc, argv);
    try {
        return prof::bench::measure(library, rounds, threads);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "range_cost: %s\n", failure.what());
        return 1;
    }
}
