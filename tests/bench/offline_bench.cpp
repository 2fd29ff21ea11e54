// What reading and exporting a recording costs: records a second of each stage, on one thread and on a recording made
// here, so that only the processor counts. Its shape is that of an eager training step: ranges two deep, a launch and a
// kernel each, a few dozen kernel names, a copy now and then.
//
//   offline_bench --benchmark_filter=Chrome          the items are trace events (slices and arrows)
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/projection.hpp"
#include "export/chrome_trace.hpp"
#include "timeline/build.hpp"
#include "timeline/capture_builder.hpp"

namespace prof {
namespace {

constexpr int steps = 500;
constexpr int launches_a_step = 200;
constexpr std::uint64_t ns_a_launch = 1000;

std::string kernel_symbol(int number) {
    return "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm" +
           std::to_string(3 + number % 40) + "EEEEviT0_T1_";
}

capture_contents recording() {
    capture_builder capture;
    thread_script& thread = capture.thread("python");
    std::uint64_t now = 1'000'000;
    std::uint64_t correlation = 1;
    for (int step = 0; step < steps; ++step) {
        thread.push(now, "iteration " + std::to_string(step));
        for (int launch = 0; launch < launches_a_step; ++launch, ++correlation, now += ns_a_launch) {
            const bool layer = launch % 10 == 0;
            if (layer) thread.push(now + 1, "layer");
            thread.launch(now + 2, correlation, kernel_symbol(launch));
            capture.kernel(correlation, now + 5000, now + 5900, {}, kernel_symbol(launch));
            kernel_record& kernel = capture.parts().kernels.back();
            kernel.grid[0] = static_cast<std::uint32_t>(256 + launch % 16);
            kernel.grid[1] = kernel.grid[2] = kernel.block[1] = kernel.block[2] = 1;
            kernel.block[0] = 128;
            kernel.registers_per_thread = 40;
            if (layer) thread.pop(now + 500);
        }
        thread.pop(now - 1);
    }
    device_record gpu;
    gpu.name = capture.name("NVIDIA H200");
    gpu.compute_capability_major = 9;
    gpu.multiprocessors = 132;
    gpu.max_threads_per_multiprocessor = 2048;
    gpu.max_blocks_per_multiprocessor = 32;
    gpu.registers_per_multiprocessor = 65536;
    gpu.shared_bytes_per_multiprocessor = 228U << 10;
    gpu.warp_size = 32;
    capture.parts().devices.push_back(gpu);
    return capture.contents(4096);
}

std::int64_t record_count(const capture_contents& contents) {
    std::size_t count = contents.kernels.size() + contents.transfers.size();
    for (const record_run& run : contents.runs) count += run.records.size();
    return static_cast<std::int64_t>(count);
}

class counted_bytes : public byte_sink {
public:
    void write(std::string_view bytes) override { count += static_cast<std::int64_t>(bytes.size()); }
    std::int64_t count = 0;
};

void ChromeTrace(benchmark::State& state) {
    const timeline data = build_timeline(recording());
    const attribution att = attribute(data);
    std::int64_t events = 0;
    counted_bytes sink;
    for (auto _ : state) {
        const trace_counts counts = write_chrome_trace(data, att, sink, "bench");
        events += static_cast<std::int64_t>(counts.host_ranges + counts.api_calls + counts.gpu_ops +
                                            counts.projected_ranges + 2 * counts.flows);
    }
    state.SetItemsProcessed(events);
    state.SetBytesProcessed(sink.count);
}
BENCHMARK(ChromeTrace)->Unit(benchmark::kMillisecond);

void BuildTimeline(benchmark::State& state) {
    const capture_contents contents = recording();
    for (auto _ : state) benchmark::DoNotOptimize(build_timeline(contents));
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * record_count(contents));
}
BENCHMARK(BuildTimeline)->Unit(benchmark::kMillisecond);

void Project(benchmark::State& state) {
    const capture_contents contents = recording();
    const timeline data = build_timeline(contents);
    for (auto _ : state) benchmark::DoNotOptimize(project(data, attribute(data)));
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * record_count(contents));
}
BENCHMARK(Project)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prof

BENCHMARK_MAIN();
