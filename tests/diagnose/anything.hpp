// SPDX-License-Identifier: Apache-2.0
// Captures of calls, operations and steps at random times, whether or not a program could have done that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "diagnose/simulated_program.hpp"
#include "record/label.hpp"
#include "support/capture_builder.hpp"

namespace prof::diagnose_test {

struct anything {
    explicit anything(std::uint32_t seed) : random(seed) {
        const std::uint16_t own = capture.domain("prof");
        const std::uint16_t phases = capture.domain(std::string(phase_domain));
        std::vector<thread_script*> threads{&capture.thread("python"), &capture.thread("pt_autograd_0"),
                                            &capture.thread("other")};
        std::vector<std::uint64_t> free_at(threads.size(), 0);
        // One window of all, or two; steps in none, some or all of it.
        const bool has_steps = below(4) != 0;
        const std::uint64_t scale = below(3) == 0 ? 10 : 3'000;
        std::uint64_t now = 1'000;
        std::uint64_t number = 0;
        const std::uint32_t count = 20 + below(120);
        bool is_open = false;
        std::uint64_t gpu_now = now;
        for (std::uint32_t i = 0; i < count; ++i) {
            now += 1 + below(static_cast<std::uint32_t>(scale * (below(12) == 0 ? 40 : 2)));
            const std::uint32_t which = below(3) == 0 ? 1 + below(2) : 0;
            thread_script& thread = *threads[which];
            if (which == 0 && now > free_at[0]) {
                if (has_steps && below(8) == 0) {
                    if (is_open) thread.pop(now, phases);
                    is_open = false;
                    thread.add({.ticks = now,
                                .value = number++,
                                .name = capture.name("step"),
                                .domain = own,
                                .kind = record_kind::mark,
                                .flags = static_cast<std::uint8_t>(payload_type::u64)});
                    continue;
                }
                if (below(10) == 0) {
                    if (is_open) {
                        thread.pop(now, phases);
                    } else {
                        thread.push(now, "backward", phases);
                    }
                    is_open = !is_open;
                    continue;
                }
            }
            if (now <= free_at[which]) continue;
            const std::uint64_t correlation = i + 1;
            const std::uint64_t length = 1 + below(static_cast<std::uint32_t>(scale * (below(6) == 0 ? 30 : 2)));
            const cuda_function kinds[] = {launch_kernel,      memcpy_async,    memcpy_blocking, stream_synchronize,
                                           device_synchronize, malloc_blocking, launch_kernel,   launch_kernel};
            const std::uint32_t kind = below(8);
            free_at[which] = now + length;
            thread.add(enter_record(now, correlation, kinds[kind], capture.name("kernel")));
            // Another call inside this one.
            if (below(10) == 0 && length > 3) {
                thread.call(now + 1, now + 2, 100'000 + correlation, kinds[below(8)]);
                if (below(2) == 0) add_op(100'000 + correlation, now + 1, gpu_now, scale, 0);
            }
            thread.exit(now + length, correlation);
            if (kind < 3 || kind > 5) {
                const std::uint32_t ops = below(12) == 0 ? 4 : 1;  // a graph's
                for (std::uint32_t k = 0; k < ops; ++k) add_op(correlation, now, gpu_now, scale, kind);
            }
        }
        if (is_open) threads[0]->pop(std::max(now + 1, free_at[0] + 1), phases);
        // Work whose launch is unknown.
        for (std::uint32_t i = below(3); i > 0; --i) add_op(900'000 + i, now / 2, gpu_now, scale, 0);
    }

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

    // In order, or overlapping; up to 3 µs before its launch, as clocks differ.
    void add_op(std::uint64_t correlation, std::uint64_t called, std::uint64_t& gpu_now, std::uint64_t scale,
                std::uint32_t kind) {
        const std::uint64_t early =
            below(6) == 0 ? below(static_cast<std::uint32_t>(std::min<std::uint64_t>(scale, 900))) : 0;
        std::uint64_t start = called - early + (below(2) == 0 ? below(static_cast<std::uint32_t>(4 * scale)) : 0);
        if (below(4) != 0) start = std::max(start, gpu_now + below(static_cast<std::uint32_t>(scale)));
        const std::uint64_t end = start + below(static_cast<std::uint32_t>(scale * (below(5) == 0 ? 50 : 3)));
        gpu_now = std::max(gpu_now, end);
        const placement on{.stream = 7 + below(3), .device = below(5) == 0 ? 1U : 0U};
        if (kind == 1 || kind == 2) {
            transfer_record t = transfer_between(transfer_kind::memcpy, start, end, correlation, 64, on);
            t.copy_kind = static_cast<std::uint8_t>(1 + below(2));
            capture.transfer(t);
        } else {
            capture.kernel(correlation, start, end, on);
        }
    }

    capture_builder capture;
    std::mt19937 random;
};

}  // namespace prof::diagnose_test
