// SPDX-License-Identifier: Apache-2.0
#include "scenario.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "context_sections.hpp"
#include "graph_sections.hpp"
#include "stage.hpp"

namespace truth {
namespace {

constexpr std::uint64_t us = 1000;
constexpr std::uint64_t gate_ns = 300 * us;  // long enough to queue what is to run without a gap behind it

// Ranges in ranges, by PROF_RANGE and by NVTX's default domain, with work at every level.
void nested(stage& on) {
    for (int step = 1; step <= 5; ++step) {
        open_ranges in;
        const open_range iteration(on, in, "nested " + std::to_string(step));
        {
            const open_range forward(on, in, "forward", open_range::style::default_domain);
            on.spin_on(in, 0, 0, kernel::forward, 400 * us);
            for (int layer = 1; layer <= 3; ++layer) {
                const open_range inner(on, in, "layer " + std::to_string(layer));
                on.spin_on(in, 0, 0, kernel::layer, 150 * us);
            }
        }
        {
            const open_range backward(on, in, "backward", open_range::style::default_domain);
            on.spin_on(in, 0, 0, kernel::backward, 800 * us);
            on.spin_on(in, 0, 0, kernel::backward, 300 * us);
        }
        on.spin_on(in, 0, 0, kernel::optimizer, 250 * us);
    }
}

// Three streams at once: the sum is three times what the GPU was busy for.
void streams(stage& on) {
    open_ranges in;
    const open_range all(on, in, "streams");
    for (int round = 1; round <= 4; ++round) {
        const open_range overlap(on, in, "overlap " + std::to_string(round));
        for (int stream = 0; stream < 3; ++stream) on.spin_on(in, 0, stream, kernel::side, 2'000 * us);
    }
}

void tiny(stage& on) {
    open_ranges in;
    const open_range all(on, in, "tiny");
    for (int i = 0; i < 2'000; ++i) on.spin_on(in, 0, 0, kernel::tiny, 0);
}

// Each thread its ranges and its stream.
void threads(stage& on) {
    std::vector<std::thread> workers;
    for (int number = 1; number <= 4; ++number) {
        workers.emplace_back([&on, number] {
            must(cudaSetDevice(0), "cudaSetDevice");
            open_ranges in;
            const open_range own(on, in, "worker " + std::to_string(number));
            for (int i = 0; i < 10; ++i) {
                const open_range task(on, in, "task");
                on.spin_on(in, 0, number - 1, kernel::side, 100 * us);
            }
            on.spin_on(in, 0, number - 1, kernel::layer, 200 * us);
        });
    }
    for (std::thread& worker : workers) worker.join();
}

// As PyTorch does it: the work of `backward` is launched by another thread while this one waits.
void autograd(stage& on) {
    open_ranges in;
    const open_range step(on, in, "autograd");
    {
        const open_range forward(on, in, "forward");
        on.spin_on(in, 0, 0, kernel::forward, 300 * us);
    }
    const open_range backward(on, in, "backward");
    open_ranges adopted = in;
    adopted.adopted = in.instances.size();
    std::thread engine([&on, &adopted] {
        pthread_setname_np(pthread_self(), "pt_autograd_0");
        must(cudaSetDevice(0), "cudaSetDevice");
        on.spin_on(adopted, 0, 0, kernel::backward, 500 * us);
        {
            const open_range recompute(on, adopted, "recompute");
            on.spin_on(adopted, 0, 0, kernel::forward, 200 * us);
        }
        {
            const open_range reduce(on, adopted, "reduce", open_range::style::library);
            on.spin_on(adopted, 0, 0, kernel::side, 100 * us);
        }
    });
    engine.join();
}

// Two domains whose pops interleave: the library's range outlives the one it was opened in.
void interleaved(stage& on) {
    open_ranges in;
    const open_range all(on, in, "interleaved");
    open_ranges outer = in;
    std::optional<open_range> first;
    first.emplace(on, outer, "first");
    open_ranges both = outer;
    std::optional<open_range> second;
    second.emplace(on, both, "second", open_range::style::library);
    on.spin_on(both, 0, 0, kernel::layer, 200 * us);
    open_ranges only_second = both;
    std::erase(only_second.instances, outer.instances.back());
    first.reset();
    on.spin_on(only_second, 0, 0, kernel::side, 300 * us);
    second.reset();
    on.spin_on(in, 0, 0, kernel::optimizer, 100 * us);
}

void copies(stage& on) {
    constexpr std::size_t large = 64U << 20;
    void* pinned = nullptr;
    void* first = nullptr;
    void* second = nullptr;
    must(cudaMallocHost(&pinned, large), "cudaMallocHost");
    must(cudaMalloc(&first, large), "cudaMalloc");
    must(cudaMalloc(&second, large), "cudaMalloc");
    {
        open_ranges in;
        const open_range all(on, in, "copies");
        {
            const open_range upload(on, in, "upload");
            on.copy(in, 0, 0, first, pinned, large, cudaMemcpyHostToDevice);
            on.copy(in, 0, 0, first, pinned, 4096, cudaMemcpyHostToDevice);
        }
        {
            const open_range move(on, in, "move");
            on.copy(in, 0, 0, second, first, large, cudaMemcpyDeviceToDevice);
            on.set(in, 0, 0, first, 16U << 20);
        }
        const open_range download(on, in, "download");
        on.copy(in, 0, 0, pinned, second, 8U << 20, cudaMemcpyDeviceToHost);
    }
    on.wait();
    must(cudaFreeHost(pinned), "cudaFreeHost");
    must(cudaFree(first), "cudaFree");
    must(cudaFree(second), "cudaFree");
}

// Ranges of the process: they overlap, and end on another thread than they began on.
void process_ranges(stage& on) {
    open_ranges in;
    const open_range all(on, in, "process_ranges");
    prof::process_range one("request 1");
    const std::uint32_t first = on.out().open("request 1", true);
    on.begin_process_range(first);
    on.spin_on(in, 0, 0, kernel::side, 200 * us);
    prof::process_range two("request 2");
    const std::uint32_t second = on.out().open("request 2", true);
    on.begin_process_range(second);
    on.spin_on(in, 0, 0, kernel::side, 300 * us);
    std::thread closer([&] {
        must(cudaSetDevice(0), "cudaSetDevice");
        open_ranges nothing;
        on.spin_on(nothing, 0, 1, kernel::layer, 100 * us);
        one.end();
    });
    closer.join();
    on.end_process_range(first);
    on.spin_on(in, 0, 0, kernel::optimizer, 150 * us);
    two.end();
    on.end_process_range(second);
    on.spin_on(in, 0, 0, kernel::side, 50 * us);
}

// CUDA's own stop watch around a range on one stream. A kernel in front holds the stream until all is queued.
void events(stage& on) {
    open_ranges in;
    const open_range all(on, in, "events");
    const cudaStream_t stream = on.stream(0, 0);
    cudaEvent_t before = nullptr;
    cudaEvent_t after = nullptr;
    must(cudaEventCreate(&before), "cudaEventCreate");
    must(cudaEventCreate(&after), "cudaEventCreate");
    for (int round = 0; round < 10; ++round) {
        {
            const open_range gate(on, in, "gate");
            on.spin_on(in, 0, 0, kernel::gate, gate_ns);
        }
        must(cudaEventRecord(before, stream), "cudaEventRecord");
        std::string path;
        {
            const open_range timed(on, in, "timed " + std::to_string(round));
            path = in.path;
            for (int i = 0; i < 5; ++i) on.spin_on(in, 0, 0, kernel::forward, 400 * us);
        }
        must(cudaEventRecord(after, stream), "cudaEventRecord");
        must(cudaEventSynchronize(after), "cudaEventSynchronize");
        float elapsed_ms = 0;
        must(cudaEventElapsedTime(&elapsed_ms, before, after), "cudaEventElapsedTime");
        on.out().add(timed_by_events{path, 1e6 * static_cast<double>(elapsed_ms)});
    }
}

std::uint64_t host_now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

// A kernel of known length, a while of something else on the host, and a call that waits for what is left of it.
void waits(stage& on) {
    constexpr std::uint64_t kernel_ns = 3'000 * us;
    constexpr std::uint64_t meanwhile_ns = 1'000 * us;
    constexpr std::size_t bytes = 4096;
    std::vector<char> host(bytes);
    void* device = nullptr;
    cudaEvent_t done = nullptr;
    must(cudaMalloc(&device, bytes), "cudaMalloc");
    must(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "cudaEventCreate");
    open_ranges in;
    const open_range all(on, in, "waits");
    const auto wait = [&](const std::string& name, int stream, auto&& prepare, auto&& call) {
        for (int round = 1; round <= 5; ++round) {
            const open_range own(on, in, name + " " + std::to_string(round));
            const std::uint64_t launched = host_now_ns();
            on.spin_on(in, 0, stream, kernel::side, kernel_ns);
            prepare();
            while (host_now_ns() - launched < meanwhile_ns) {
            }
            const std::uint64_t called = host_now_ns();
            must(call(), name.c_str());
            // The kernel cannot have begun before its launch was called.
            const std::uint64_t gone = std::min(called - launched, kernel_ns);
            on.out().add(timed_wait{in.path, host_now_ns() - called, waits_take_time() ? kernel_ns - gone : 0});
        }
    };
    const auto nothing = [] {};
    const cudaStream_t stream = on.stream(0, 0);
    wait("stream", 0, nothing, [&] { return cudaStreamSynchronize(stream); });
    wait(
        "event", 0, [&] { must(cudaEventRecord(done, stream), "cudaEventRecord"); },
        [&] { return cudaEventSynchronize(done); });
    wait("device", 0, nothing, [] { return cudaDeviceSynchronize(); });
    wait("copy", stage::legacy_stream, nothing, [&] {
        operation op;
        op.what = operation::kind::copy;
        op.bytes = bytes;
        on.note(op, in);
        return cudaMemcpy(host.data(), device, bytes, cudaMemcpyDeviceToHost);
    });
}

// Both GPUs, each under its range, and copies between them.
void devices(stage& on) {
    if (!enable_peer_access()) std::fprintf(stderr, "truth: the devices cannot reach each other's memory\n");
    constexpr std::size_t bytes = 32U << 20;
    void* memory[2] = {nullptr, nullptr};
    for (int device = 0; device < 2; ++device) {
        must(cudaSetDevice(device), "cudaSetDevice");
        must(cudaMalloc(&memory[device], bytes), "cudaMalloc");
    }
    {
        open_ranges in;
        const open_range all(on, in, "devices");
        for (int device = 0; device < 2; ++device) {
            must(cudaSetDevice(device), "cudaSetDevice");
            const open_range own(on, in, device == 0 ? "on_first" : "on_second");
            for (int i = 0; i < 5; ++i) on.spin_on(in, device, 0, kernel::forward, 300 * us);
        }
        on.wait();
        const open_range exchange(on, in, "exchange");
        must(cudaSetDevice(0), "cudaSetDevice");
        on.copy_peer(in, memory[1], 1, memory[0], 0, bytes);
        must(cudaSetDevice(1), "cudaSetDevice");
        on.copy_peer(in, memory[0], 0, memory[1], 1, bytes / 2);
    }
    on.wait();
}

// A range that the program never closes.
void left_open(stage& on) {
    static open_ranges in;
    static const auto* forever = new open_range(on, in, "left_open");
    (void)forever;
    on.spin_on(in, 0, 0, kernel::side, 100 * us);
}

struct section {
    const char* name;
    void (*run)(stage&);
    int devices;
    bool compares_clocks = false;
};

constexpr section sections[] = {
    {"nested", nested, 1},
    {"streams", streams, 1},
    {"tiny", tiny, 1},
    {"threads", threads, 1},
    {"autograd", autograd, 1},
    {"interleaved", interleaved, 1},
    {"graphs", graphs, 1},
    {"copies", copies, 1},
    {"process_ranges", process_ranges, 1},
    {"conditional", conditional, 1},
    {"children", children, 1},
    {"updates", updates, 1},
    {"body_alone", body_alone, 1, true},
    {"launch_kinds", launch_kinds, 1},
    {"contexts", contexts, 1},
    {"green_contexts", green_contexts, 1},
    {"events", events, 1},
    {"waits", waits, 1},
    {"devices", devices, 2},
    {"left_open", left_open, 1},
};

}  // namespace

const std::vector<std::string>& section_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const section& each : sections) all.emplace_back(each.name);
        return all;
    }();
    return names;
}

std::string machine() {
    int count = 0;
    must(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    std::string text;
    for (int device = 0; device < count; ++device) {
        cudaDeviceProp properties{};
        must(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
        text += (device == 0 ? "" : ", ") + std::string(properties.name);
    }
    return text;
}

std::vector<std::string> run_sections(const std::vector<std::string>& wanted, journal& out) {
    int count = 0;
    must(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    stage on(out);
    // Each part on a thread of its own, so that none depends on what another left open, or may be the one that another
    // thread works for.
    const auto on_its_own = [](auto&& part) {
        std::thread runs([&] {
            must(cudaSetDevice(0), "cudaSetDevice");
            part();
        });
        runs.join();
    };
    on_its_own([&] { on.prepare(std::min(count, 2)); });
    std::vector<std::string> carried_out;
    for (const section& each : sections) {
        if (std::find(wanted.begin(), wanted.end(), each.name) == wanted.end()) continue;
        if (count < each.devices || (each.compares_clocks && !clocks_agree())) continue;
        bool is_done = false;
        on_its_own([&] {
            try {
                each.run(on);
                is_done = true;
            } catch (const unavailable& lacking) {
                std::fprintf(stderr, "truth: %s is left out: %s\n", each.name, lacking.what.c_str());
            }
        });
        on.wait();
        if (is_done) carried_out.emplace_back(each.name);
    }
    on_its_own([&] {
        open_ranges in;
        const open_range read(on, in, "read_stamps");
        on.read_stamps(in);
    });
    return carried_out;
}

}  // namespace truth
