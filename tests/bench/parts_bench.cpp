// The parts that a range's cost is made of, each by itself. For the whole, see range_cost.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "record/clock.hpp"
#include "record/record.hpp"
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

}  // namespace
}  // namespace prof

BENCHMARK_MAIN();
