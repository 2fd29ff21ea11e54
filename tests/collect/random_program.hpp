// SPDX-License-Identifier: Apache-2.0
// Little training programs made at random: threads (some of them autograd's), ranges of several domains, launches of
// every kind, captured graphs and their replays. A program is a list of steps in one order over all threads, so that
// what its GPU work belongs to follows from the list alone; the oracle is given the list and never a timeline.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/expected_rows.hpp"
#include "analysis/oracle.hpp"
#include "timeline/timeline.hpp"

namespace prof::test {

inline constexpr int device_count = 2;
inline constexpr int streams_per_device = 3;
inline constexpr int kernel_count = 4;
inline constexpr int domain_count = 3;  // NVTX's default one, libprof's own, "NCCL"

struct program_step {
    enum class act : std::uint8_t {
        push,
        pop,
        start,  // start/end: `id` says which
        end,
        mark,
        kernel,
        copy,  // host to device
        set,
        peer,
        replay,  // of graphs[id]
        unseen,  // a kernel launched while nothing is recorded
    };
    act what = act::mark;
    int thread = 0;
    int domain = 0;
    std::string name;
    int device = 0;
    int stream = 0;
    int kernel = 0;
    int id = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t bytes = 0;
    std::uint64_t idle_ns = 0;  // passes on the virtual clock before it
    int launch = -1;            // index into oracle::program::launches
};

// Captured before the first step, by a thread with no range open.
struct captured_graph {
    struct node {
        int kernel = 0;
        std::uint64_t duration_ns = 0;
    };
    int thread = 0;
    int device = 0;
    int stream = 0;
    std::vector<node> nodes;
};

struct process_range {
    static constexpr int never = 1 << 30;

    std::string name;
    int started = 0;  // number of the step
    int ended = never;
    int thread = 0;  // that started it
};

// What was executed: an operation as the simulated GPU wrote it down.
struct executed {
    oracle::gpu_work work;
    std::uint32_t kind = 0;  // fake_gpu_kind
    std::string kernel;
    std::uint64_t bytes = 0;
};

struct program_options {
    bool unseen_launches = true;
};

class random_program {
public:
    random_program(std::uint32_t seed, const program_options& options);

    std::vector<std::string> threads;  // kernel names
    std::vector<captured_graph> graphs;
    std::vector<program_step> steps;
    std::vector<process_range> process_ranges;
    std::uint64_t pops_without_push = 0;
    std::uint64_t left_open = 0;

    // The run is over: `done` are a launching step's operations, in the order of the steps.
    void ran(const program_step& step, const std::vector<executed>& done);
    void forget_runs();

    // Everything in `data`, compared with the program and the simulated GPU's journal.
    void check(const timeline& data) const;

    const oracle::program& truth() const { return truth_; }
    static const oracle::folding& folded();

private:
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
    int any_thread() { return static_cast<int>(below(static_cast<std::uint32_t>(threads.size()))); }
    void add_graph(std::uint32_t trainers);
    void add_step(const program_options& options);
    program_step place(program_step::act what);
    void add_push();
    void add_pop();
    void add_start_or_end();
    void add_launch(const program_options& options);
    void check_rows(const timeline& data) const;
    void check_process_ranges(const projection& p) const;
    void check_kernels(const timeline& data) const;
    void check_transfers(const timeline& data) const;
    void check_parents(const projection& p, const oracle::verdicts& judged) const;

    std::mt19937 random_;
    bool one_domain_ = false;
    oracle::program truth_;
    std::vector<executed> executed_;
};

// All that a report shows but the host's own times and those of the clock: the same however the run was drained.
std::vector<std::string> report_lines(const timeline& data);

// How many programs to run and from which seed on: PROF_RANDOM_PROGRAMS and PROF_RANDOM_SEED, for long runs and to
// repeat a failure.
std::uint32_t program_count(std::uint32_t otherwise);
std::uint32_t first_seed();

}  // namespace prof::test
