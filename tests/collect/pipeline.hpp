// SPDX-License-Identifier: Apache-2.0
// The whole way of a recording in one process and on one thread, without libprof.so: NVTX and CUPTI hooks, rings,
// collector, capture. The program's threads are producers that take turns. The plan decides when each ring is drained,
// and in which order CUPTI's buffers come.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "capture/writer.hpp"
#include "collect/actor.hpp"
#include "collect/collector.hpp"
#include "collect/random_program.hpp"
#include "hooks/cupti/tracer.hpp"
#include "ring/producer.hpp"
#include "ring/region.hpp"

namespace prof::test {

struct drain_plan {
    enum class buffers : std::uint8_t { as_they_fill, held, held_and_reversed };

    std::uint32_t ring_records = 4096;
    std::size_t buffer_bytes = 1U << 16;
    buffers delivery = buffers::as_they_fill;
    std::uint32_t round_one_in = 0;         // after how many steps on average a round is made; 0: only where it must
    std::uint32_t flush_one_in = 0;         // … CUPTI is asked for its buffers
    std::uint32_t housekeeping_one_in = 0;  // … the rest of a drain thread's work is done
    std::size_t tracer_known_at = 0;        // step before which the collector learns of the tracer
    bool deflate = false;
    std::uint32_t key_frame_one_in = 0;  // … the capture gets a key frame; all of it is kept. 0: none
    std::uint32_t seed = 0;

    static drain_plan random(std::uint32_t seed, std::size_t steps);
    std::string text() const;
};

class pipeline {
public:
    pipeline(const std::string& path, const drain_plan& plan, const std::vector<std::string>& threads);
    ~pipeline();
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    void become(int thread);  // who calls the hooks from now on
    void stop_observing();    // the gate is shut …
    void open_gate();         // … and open
    void after_step(std::size_t number);
    void finish();

private:
    struct virtual_thread {
        ring_header* ring = nullptr;
        producer out;
    };
    bool any_ring_fills() const;
    bool one_in(std::uint32_t n) { return n != 0 && random_() % n == 0; }

    drain_plan plan_;
    std::mt19937 random_;
    std::uint64_t key_frames_ = 0;
    region region_;
    std::unique_ptr<capture_writer> writer_;
    std::unique_ptr<collector> collector_;
    std::unique_ptr<cupti_tracer> tracer_;
    std::deque<virtual_thread> threads_;
};

// Runs the program on a fresh simulated GPU and leaves its capture at `path`; the program learns what was executed.
void carry_out(random_program& program, const drain_plan& plan, const std::string& path);

}  // namespace prof::test
