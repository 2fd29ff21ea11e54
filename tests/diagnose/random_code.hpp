// SPDX-License-Identifier: Apache-2.0
// Random programs for the simulation: the seed decides all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "diagnose/simulated_program.hpp"

namespace prof::diagnose_test {

struct options_of_programs {
    std::uint32_t strands = 1;
    std::uint32_t streams = 1;  // of each strand
    bool uses_helper = false;
    bool uses_events = false;  // between the streams, and the host's waits for one
    bool records_syncs = true;
};

// Programs whose flaws are of all sizes, from hidden to dominant.
class random_code {
public:
    random_code(std::uint32_t seed, const options_of_programs& options) : random_(seed), options_(options) {
        on.latency_ns = 3 * us + below(5 * us);
        on.next_ns = 500 + below(1'500);
        on.launch_ns = 1 * us + below(static_cast<std::uint32_t>(on.latency_ns - us));
        on.return_ns = 1 * us + below(6 * us);
        on.wait_ns = 500 + below(3 * us);
        on.hand_over_ns = on.next_ns + below(1'500);
        on.records_syncs = options.records_syncs;
        on.clock_skew_ns = below(3) == 0 ? -static_cast<std::int64_t>(below(900)) : 0;
        kernel_ns_ = log_uniform(5 * us, 300 * us);
        compute_ns_ = log_uniform(5 * us, 300 * us);
        for (std::uint32_t strand = 0; strand < options.strands; ++strand) program.push_back(strand_of(strand));
    }

    machine on;
    std::vector<code> program;

    std::uint32_t below(std::int64_t n) {
        return static_cast<std::uint32_t>(random_() % static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)));
    }

private:
    std::int64_t log_uniform(std::int64_t least, std::int64_t most) {
        std::int64_t out = least;
        while (out < most && below(5) != 0) out = out * 3 / 2;
        return out;
    }
    std::int64_t about(std::int64_t ns) { return 1 + ns / 4 + below(ns * 3 / 2); }

    code strand_of(std::uint32_t strand) {
        const std::uint32_t first_stream = strand * options_.streams;
        code out;
        if (strand == 0) out.push_back({action::step});
        out.push_back({action::push, 0, 0, "warm-up"});
        // What shows the usual times of the machine, and the cost of a wait without waiting.
        for (std::uint32_t i = 0; i < options_.streams; ++i) {
            for (const std::int64_t ns : {100 * us, 100 * us}) {
                out.push_back({action::launch, ns, first_stream + i});
                out.push_back({action::compute, 400 * us});
            }
            for (int k = 0; k < 3; ++k) out.push_back({action::launch, 60 * us, first_stream + i});
            out.push_back({action::compute, 400 * us});
            out.push_back({action::wait, 0, first_stream + i});
            out.push_back({action::compute, 10 * us});
        }
        if (options_.strands == 1) out.push_back({action::wait_all});
        out.push_back({action::pop});
        const std::uint32_t steps = 2 + below(4);
        for (std::uint32_t step = 0; step < steps; ++step) {
            if (strand == 0) out.push_back({action::step});
            add_step(out, first_stream, strand == 0 && options_.uses_helper);
        }
        if (strand == 0) {
            out.push_back({action::step});
            out.push_back({action::launch, 50 * us, first_stream});
        }
        return out;
    }

    void add_step(code& out, std::uint32_t first_stream, bool with_helper) {
        const std::uint32_t count = 4 + below(25);
        const std::uint32_t helped_from = with_helper ? below(count) : count;
        const std::uint32_t helped_to = helped_from + 1 + below(6);
        bool is_helped = false;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (i == helped_from) {
                out.push_back({action::push, 0, 0, "backward"});
                out.push_back({action::launch, about(kernel_ns_), first_stream});
                out.push_back({action::to_helper});
                out.push_back({action::launch, about(kernel_ns_), first_stream});
                is_helped = true;
            }
            if (i == helped_to && is_helped) {
                end_help(out, first_stream);
                is_helped = false;
            }
            const std::uint32_t stream = first_stream + below(options_.streams);
            if (options_.uses_events && below(4) == 0) add_event(out, first_stream, stream);
            switch (below(9)) {
                case 0:
                case 1:
                    out.push_back({action::compute, about(compute_ns_)});
                    break;
                case 2:
                    if (below(2) == 0) {
                        const bool knows_stream = options_.streams == 1 || options_.records_syncs;
                        out.push_back({knows_stream ? action::wait : action::wait_all, 0, stream});
                    }
                    break;
                case 3:
                    if (below(3) == 0) out.push_back({action::blocking_copy, about(kernel_ns_ / 2), stream});
                    break;
                case 4:
                    if (options_.strands == 1 && below(3) == 0) out.push_back({action::wait_all});
                    break;
                default:
                    out.push_back({action::launch, about(kernel_ns_), stream});
            }
        }
        if (is_helped) end_help(out, first_stream);
    }

    // Another stream, or the host, waits for what `stream` has to do by now, or by an earlier event of it.
    void add_event(code& out, std::uint32_t first_stream, std::uint32_t stream) {
        const std::uint64_t event = stream * 4 + 1 + below(3);
        if (below(3) != 0) out.push_back({.what = action::record_event, .stream = stream, .event = event});
        if (below(4) == 0) {
            out.push_back({.what = action::wait_event, .event = event});
        } else {
            const std::uint32_t other = first_stream + below(options_.streams);
            out.push_back({.what = action::stream_wait, .stream = other, .event = event});
        }
    }

    void end_help(code& out, std::uint32_t stream) {
        out.push_back({action::from_helper});
        out.push_back({action::launch, about(kernel_ns_), stream});
        out.push_back({action::pop});
    }

    std::mt19937 random_;
    options_of_programs options_;
    std::int64_t kernel_ns_ = 0;
    std::int64_t compute_ns_ = 0;
};

}  // namespace prof::diagnose_test
