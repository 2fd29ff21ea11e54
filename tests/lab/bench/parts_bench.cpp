// SPDX-License-Identifier: Apache-2.0
// The parts that a range's cost is made of, each by itself. For the whole, see range_cost.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "record/record.hpp"
#include "ring/producer.hpp"
#include "ring/region.hpp"
#include "ring/spsc_ring.hpp"

namespace prof {
namespace {

void clock_read(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(ticks_now());
}
BENCHMARK(clock_read);

// The consumer is played by the same thread: the cost of the caches' traffic between two is not in it.
void ring_write(benchmark::State& state) {
    constexpr std::size_t capacity = 1U << 15;
    ring_counters<std::uint64_t> counters;
    std::vector<record> slots(capacity);
    ring_producer<record> out(&counters, slots.data(), capacity);
    ring_consumer<record> in(&counters, slots.data(), capacity);
    record r;
    for (auto _ : state) {
        r.ticks += 1;
        if (!out.write(r)) {
            in.release(in.peek().end);
            (void)out.write(r);
        }
    }
}
BENCHMARK(ring_write);

// A name that the table knows already, of so many bytes.
void intern_known_name(benchmark::State& state) {
    region_options options;
    options.place = "memory";
    region where(options);
    const std::string name(static_cast<std::size_t>(state.range(0)), 'n');
    for (auto _ : state) benchmark::DoNotOptimize(where.intern(name));
}
BENCHMARK(intern_known_name)->Arg(8)->Arg(20)->Arg(80);

// Kernels of so many names, launched in turn; 300 characters, as a template's symbol has.
void symbol_of_a_kernel(benchmark::State& state) {
    region_options options;
    options.place = "memory";
    region where(options);
    producer out;
    out.attach(where, *where.claim_ring(1), 1);
    std::vector<std::string> symbols;
    for (std::int64_t i = 0; i < state.range(0); ++i)
        symbols.push_back("_Z" + std::to_string(i) + std::string(296, 'k'));
    std::size_t next = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(out.symbol_of(symbols[next].c_str(), 1));
        next = next + 1 == symbols.size() ? 0 : next + 1;
    }
}
BENCHMARK(symbol_of_a_kernel)->Arg(1)->Arg(20)->Arg(100)->Arg(300);

}  // namespace
}  // namespace prof

BENCHMARK_MAIN();
