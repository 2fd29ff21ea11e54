// SPDX-License-Identifier: Apache-2.0
// Programs made at random, as a capture and as the oracle's description of the same. The seed decides all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/oracle.hpp"
#include "support/capture_builder.hpp"

namespace prof::property_test {

inline const std::map<std::string, std::string> folded_names = {
    {"step 1", "step #"}, {"step 2", "step #"}, {"forward", "forward"}, {"layer 10", "layer #"}};

struct random_program {
    oracle::program program;
    capture_builder capture;
    std::mt19937 random;
    std::vector<thread_script*> threads;
    std::int64_t now = 10;
    int events = 0;
    std::uint64_t next_correlation = 1;
    std::uint64_t next_work = 1;
    std::uint64_t next_node = 1;
    std::vector<std::uint64_t> launched_ids;  // per node: that of its last copy
    bool seeded_even = false;
    bool is_long = false;

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

    // A long program has one trainer and some hundred events, most of them steps, few in one another: names recur in
    // rows.
    explicit random_program(std::uint32_t seed, bool long_one = false)
        : random(seed), seeded_even(seed % 2 == 0), is_long(long_one) {
        const std::uint32_t trainers = is_long ? 1 : 1 + below(3);
        const std::uint32_t autograd = below(3);
        for (std::uint32_t i = 0; i < trainers + autograd; ++i) {
            const bool works_for_others = i >= trainers;
            program.works_for_others.push_back(works_for_others);
            threads.push_back(&capture.thread((works_for_others ? "pt_autograd_" : "trainer ") + std::to_string(i)));
        }
        (void)capture.domain("prof");
        const std::uint32_t length = is_long ? 100 + below(300) : 5 + below(60);
        for (std::uint32_t i = 0; i < length; ++i) add_event();
        for (std::uint32_t i = below(3); i > 0; --i) {
            program.unmatched.push_back(add_kernel(1'000'000 + i, program.unmatched.size() + 5));
        }
    }

    void add_event() {
        now += below(4);
        ++events;
        const auto thread = static_cast<int>(below(static_cast<std::uint32_t>(threads.size())));
        const auto domain = static_cast<std::uint16_t>(is_long ? 0 : below(2));
        if (is_long && below(2) == 0) return below(9) < 4 ? push(thread, domain) : pop(thread, domain);
        // Every other program has none of the last three.
        const std::uint32_t kind = below(seeded_even ? 24 : 27);
        if (kind < (is_long ? 4U : 6U)) {
            push(thread, domain);
        } else if (kind < 9) {
            pop(thread, domain);
        } else if (kind < 17) {
            launch(thread, [&](std::uint64_t correlation) { return add_kernel(correlation, now); });
        } else if (kind < 19) {
            begin_capture(thread);
        } else if (kind < 21) {
            for (std::uint32_t i = below(4); i > 0; --i) add_node(thread);
        } else if (kind < 24) {
            launch(thread, [&](std::uint64_t correlation) { return add_node_kernel(correlation); });
        } else if (kind == 24) {
            take_place(thread);
        } else if (kind == 25) {
            adopt(thread);
        } else {
            leave(thread);
        }
    }

    // Nothing else happens in the same nanosecond, since beginnings are told from the rest by time.
    void begin_capture(int thread) {
        ++now;
        program.captures.push_back({thread, now});
        threads[static_cast<std::size_t>(thread)]->begin_capture(static_cast<std::uint64_t>(now), next_correlation++);
        ++now;
    }

    // A node, and up to three copies of it in a row, made by any thread.
    void add_node(int thread) {
        program.nodes.push_back({thread, events, now});
        std::uint64_t id = (std::uint64_t{7} << 32) + next_node++;
        threads[static_cast<std::size_t>(thread)]->node(static_cast<std::uint64_t>(now), id);
        for (std::uint32_t i = below(4); i > 0; --i) {
            const std::uint64_t copy = (std::uint64_t{9} << 32) + next_node++;
            threads[below(static_cast<std::uint32_t>(threads.size()))]->copy(static_cast<std::uint64_t>(now), copy, id);
            id = copy;
        }
        launched_ids.push_back(id);
    }

    oracle::gpu_work add_node_kernel(std::uint64_t correlation) {
        oracle::gpu_work w = add_kernel(correlation, now);
        const auto known = static_cast<std::uint32_t>(launched_ids.size());
        const std::uint32_t which = below((is_long ? std::min(known, 6U) : known) + 1);
        w.node = which == known ? -2 : static_cast<int>(which);
        capture.parts().kernels.back().graph_node_id = w.node < 0 ? 12'345 : launched_ids[which];
        return w;
    }

    void take_place(int thread) {
        program.places.push_back({program.places.size() + 1, thread, events, now});
        threads[static_cast<std::size_t>(thread)]->here(static_cast<std::uint64_t>(now), program.places.size());
    }

    // Now and then a place that is not in the capture.
    void adopt(int thread) {
        const auto known = static_cast<std::uint32_t>(program.places.size());
        const std::uint64_t place = known == 0 || below(8) == 0 ? 1000 : 1 + below(known);
        program.frames.push_back({thread, place, events});
        threads[static_cast<std::size_t>(thread)]->adopt(static_cast<std::uint64_t>(now), place);
    }

    void leave(int thread) {
        for (auto f = program.frames.rbegin(); f != program.frames.rend(); ++f) {
            if (f->thread != thread || f->popped != 1 << 30) continue;
            f->popped = events;
            break;
        }
        threads[static_cast<std::size_t>(thread)]->leave(static_cast<std::uint64_t>(now));
    }

    void push(int thread, std::uint16_t domain) {
        auto name = folded_names.begin();
        std::advance(name, is_long && below(4) != 0 ? 2 + below(2) : below(4));
        oracle::range r{program.ranges.size() + 1, name->first, thread, domain, events};
        r.start = now;
        program.ranges.push_back(r);
        threads[static_cast<std::size_t>(thread)]->add({.ticks = static_cast<std::uint64_t>(now),
                                                        .value = r.id,
                                                        .name = capture.name(r.name),
                                                        .domain = domain,
                                                        .kind = record_kind::range_push});
    }

    void pop(int thread, std::uint16_t domain) {
        for (auto r = program.ranges.rbegin(); r != program.ranges.rend(); ++r) {
            if (r->thread != thread || r->domain != domain || r->end != INT64_MAX) continue;
            r->closed = events;
            r->end = now;
            break;
        }
        threads[static_cast<std::size_t>(thread)]->pop(static_cast<std::uint64_t>(now), domain);
    }

    template <typename TAddWork>
    void launch(int thread, TAddWork&& add_work) {
        const std::uint64_t correlation = next_correlation++;
        threads[static_cast<std::size_t>(thread)]
            ->enter(static_cast<std::uint64_t>(now), correlation)
            .exit(static_cast<std::uint64_t>(now), correlation);
        oracle::launch l{thread, events, now, {}};
        for (std::uint32_t i = below(3); i > 0; --i) l.work.push_back(add_work(correlation));
        program.launches.push_back(l);
    }

    template <typename TTime>
    oracle::gpu_work add_kernel(std::uint64_t correlation, TTime after) {
        oracle::gpu_work w;
        w.id = next_work++;
        w.start = static_cast<std::int64_t>(after) + below(150);
        w.end = w.start + below(40);
        w.device = below(2);
        w.stream = 7 + below(3);
        capture.kernel(correlation, static_cast<std::uint64_t>(w.start), static_cast<std::uint64_t>(w.end),
                       {.stream = w.stream, .device = w.device});
        capture.parts().kernels.back().local_memory_total_bytes = w.id;
        return w;
    }
};

}  // namespace prof::property_test
