// SPDX-License-Identifier: Apache-2.0
#include "export/example_captures.hpp"

#include <bit>
#include <cmath>
#include <random>

#include "record/label.hpp"
#include "support/torch_records.hpp"

namespace prof {
namespace {

constexpr cuda_function cuda_launch_kernel{api_domain::runtime, 211};
constexpr cuda_function cuda_memcpy_async{api_domain::runtime, 41};
constexpr cuda_function cuda_memset_async{api_domain::runtime, 51};
constexpr cuda_function cuda_graph_launch{api_domain::runtime, 311};
constexpr cuda_function cuda_begin_capture{api_domain::runtime, 315, api_class::begins_graph_capture};
constexpr cuda_function cu_launch_kernel{api_domain::driver, 307};
constexpr cuda_function cu_memcpy_htod_async{api_domain::driver, 277};

// A copy from the host, or between devices.
transfer_record transfer(transfer_kind kind, std::uint64_t correlation, std::uint64_t start_ns, std::uint64_t end_ns,
                         std::uint64_t bytes, std::uint32_t stream) {
    transfer_record t = transfer_between(kind, start_ns, end_ns, correlation, bytes, {.stream = stream});
    t.copy_kind = kind == transfer_kind::memcpy_peer ? 10 : 1;
    t.source_kind = kind == transfer_kind::memcpy_peer ? 3 : 1;
    t.destination_kind = 3;
    return t;
}

void describe(capture_builder& capture, const char* rank) {
    capture.parts().properties = {{"pid", "4711"},
                                  {"name", "train.py"},
                                  {"rank", rank},
                                  {"hostname", "node7"},
                                  {"world_size", "8"},
                                  {"command", "python train.py"},
                                  {"executable", "/usr/bin/python3.11"}};
    capture.h200();
}

}  // namespace

timeline eventful_capture() {
    capture_builder capture;
    describe(capture, "3");
    const std::uint16_t other = capture.domain("data \"loader\"");
    const std::uint16_t counters = capture.domain("prof.counters");
    thread_script& main = capture.thread("python");
    thread_script& autograd = capture.thread("pt_autograd_0");
    const auto key = [](std::uint32_t id, std::uint32_t epoch = 1) { return correlation_key(epoch, id); };

    // Main: iteration [1000, 9000) with forward [1100, 3000); domain 1's batch [2000, 4000) cuts forward's end, and has
    // decode [2100, 3500) inside, so both stand on a second row.
    main.push(1000, "iteration 1");
    main.add({.ticks = 1100,
              .value = std::bit_cast<std::uint64_t>(0.5),
              .name = capture.name("forward"),
              .color = 0xFF00FF7F,
              .category = 9,
              .kind = record_kind::range_push,
              .flags = static_cast<std::uint8_t>(payload_type::f64)});
    main.call(1200, 1250, key(1), cuda_launch_kernel, "_Z4gemmPf");
    main.call(1300, 1350, key(2), cuda_memcpy_async);
    main.push(2000, "batch", other);
    main.push(2100, "decode", other);
    main.call(2200, 2300, key(3), cuda_graph_launch);
    main.pop(3000);         // forward
    main.pop(3500, other);  // decode
    main.pop(4000, other);  // batch
    main.mark(4100, "checkpoint");
    const auto loss = [&](std::uint64_t ns, double value) {
        main.add({.ticks = ns,
                  .value = std::bit_cast<std::uint64_t>(value),
                  .name = capture.name("loss"),
                  .domain = counters,
                  .kind = record_kind::mark,
                  .flags = static_cast<std::uint8_t>(payload_type::f64)});
    };
    loss(4150, 0.75);
    loss(4160, std::nan(""));
    main.push(4200, hostile_name);
    main.call(4300, 4340, key(4), cuda_memset_async);
    main.call(4400, 4440, key(5), cu_launch_kernel, hostile_name);
    main.pop(4500);
    main.start(4600, "prefetch", 77);
    main.push(5000, "backward");
    // Autograd launches for backward, with a range of its own.
    autograd.push(5100, "checkpoint recompute");
    autograd.call(5200, 5230, key(6), cuda_launch_kernel, "backward_kernel");
    autograd.pop(5300);
    main.pop(6000);
    main.pop(9000);
    loss(9100, 0.5);
    // After a second attachment of CUPTI the correlation ids begin anew.
    main.call(9200, 9260, key(1, 2), cuda_launch_kernel, "late_kernel");
    // One whose work never completed, one that never returned, and one with a number we do not know.
    main.call(9300, 9320, key(7), cuda_launch_kernel, "lost_kernel");
    main.call(9400, 9420, key(8), {api_domain::runtime, 99'999});
    main.add(enter_record(9450, key(10), cuda_memcpy_async));
    autograd.end(9500, 77);

    // Stream 7: gemm [2000, 5000); the graph's three kernels [5000, 5500), [5500, 6500) and, beside it, [6000, 7000).
    capture.kernel(key(1), 2000, 5000, {}, "_Z4gemmPf");
    capture.kernel(key(3), 5000, 5500, {}, "graph_a");
    capture.kernel(key(3), 5500, 6500, {}, "graph_b");
    capture.kernel(key(3), 6000, 7000, {}, "graph_b");
    capture.kernel(key(6), 7000, 8000, {}, "backward_kernel");
    capture.kernel(key(1, 2), 9600, 9700, {}, "late_kernel");
    capture.kernel(key(99), 9800, 9900, {}, "launched before");
    for (kernel_record& kernel : capture.parts().kernels) {
        kernel.grid[0] = 264;
        kernel.grid[1] = kernel.grid[2] = kernel.block[1] = kernel.block[2] = 1;
        kernel.block[0] = 256;
        kernel.registers_per_thread = 32;
        kernel.static_shared_bytes = 16;
        kernel.dynamic_shared_bytes = 1000;
        if (kernel.correlation == key(3)) kernel.graph_id = 5;
    }
    // Stream 20: a copy [2500, 4500), a set of no length at 4600, a kernel with the hostile name, a copy between GPUs.
    capture.transfer(transfer(transfer_kind::memcpy, key(2), 2500, 4500, 4'000'000, 20));
    capture.transfer(transfer(transfer_kind::memset, key(4), 4600, 4600, 512, 20));
    capture.kernel(key(5), 4700, 4800, {.stream = 20}, hostile_name);
    capture.transfer(transfer(transfer_kind::memcpy_peer, key(9), 4900, 5000, 100, 20));

    capture.parts().drops[static_cast<std::uint32_t>(drop_cause::ring_full)] = 12;
    return capture.build();
}

timeline dense_capture() {
    capture_builder capture;
    describe(capture, "0");
    thread_script& main = capture.thread("python");
    std::mt19937 random(5);
    std::uint64_t host_ns = 1'763'643'600'123'456'789;
    std::uint64_t gpu_ns = host_ns + 5'001;
    // Hours into a run, where a double of microseconds has few digits left for the fraction.
    capture.parts().clocks = {{.ticks = host_ns - 20'000'000'000'000,
                               .realtime_ns = host_ns - 20'000'000'000'000,
                               .cupti_ns = host_ns - 20'000'000'000'000},
                              {.ticks = host_ns, .realtime_ns = host_ns, .cupti_ns = host_ns}};
    for (std::uint32_t i = 1; i <= 2'000; ++i) {
        if (i % 10 == 1) main.push(host_ns, "step " + std::to_string(i / 10));
        const std::uint64_t length = 1 + random() % 400;
        main.call(host_ns, host_ns + length, correlation_key(1, i), cuda_launch_kernel);
        host_ns += length;
        if (i % 10 == 0) main.pop(host_ns);
        const std::uint64_t end_ns = gpu_ns + random() % 3000;
        capture.kernel(correlation_key(1, i), gpu_ns, end_ns, {}, "kernel_" + std::to_string(i % 7));
        gpu_ns = end_ns;
    }
    return capture.build();
}

timeline graph_capture() {
    capture_builder capture;
    describe(capture, "0");
    thread_script& main = capture.thread("python");
    const auto key = [](std::uint32_t id) { return correlation_key(1, id); };
    main.push(0, "prepare");
    main.call(10, 20, key(1), cuda_begin_capture);
    main.push(30, "forward").node(40, 1).node(50, 2).pop(60).push(70, "backward").node(80, 3).pop(90);
    main.copy(100, 11, 1).copy(110, 12, 2).copy(120, 13, 3).pop(200);
    for (std::uint32_t step = 1; step <= 2; ++step) {
        const std::uint64_t t = std::uint64_t{step} * 1000;
        main.push(t, "step " + std::to_string(step));
        main.call(t + 10, t + 30, key(1 + step), cuda_graph_launch);
        main.pop(t + 50);
        capture.kernel(key(1 + step), t + 100, t + 200, {.graph_node = 11}, "attention");
        capture.kernel(key(1 + step), t + 200, t + 250, {.graph_node = 12}, "mlp");
        capture.kernel(key(1 + step), t + 260, t + 560, {.graph_node = 13}, "gradients");
    }
    for (kernel_record& kernel : capture.parts().kernels) kernel.graph_id = 6;
    main.push(3000, "whole");
    main.call(3010, 3030, key(9), cuda_graph_launch);
    main.pop(3050);
    capture.graph(key(9), 3100, 3400, 7);
    return capture.build();
}

timeline edge_capture() {
    capture_builder capture;
    describe(capture, "0");
    thread_script& main = capture.thread("python");
    const auto key = [](std::uint32_t id) { return correlation_key(1, id); };
    capture.parts().labels.push_back({label_kind::stream, capture.name("compute"), stream_key(1, 7)});
    capture.parts().labels.push_back({label_kind::stream, capture.name("copies"), stream_key(2, 7)});
    // As captures had it before they knew contexts.
    capture.parts().labels.push_back({label_kind::stream, capture.name("either"), 13});
    main.call(10, 15, key(1), cuda_launch_kernel);
    main.call(20, 25, key(2), cuda_launch_kernel);
    main.call(30, 35, key(3), cuda_launch_kernel);
    main.call(40, 45, key(4), cuda_launch_kernel);
    capture.kernel(key(1), 100, 200).kernel(key(2), 110, 210, {.context = 2});
    capture.kernel(key(3), 300, 400, {.stream = 13, .context = 2})
        .kernel(key(4), 300, 400, {.device = 1, .context = 3});

    std::uint64_t now = 1000;
    const auto range = [&](const char* name, std::uint64_t value, payload_type type) {
        main.add({.ticks = now,
                  .value = value,
                  .name = capture.name(name),
                  .kind = record_kind::range_push,
                  .flags = static_cast<std::uint8_t>(type)});
        main.pop(now + 5);
        now += 10;
    };
    range("largest u64", UINT64_MAX, payload_type::u64);
    range("smallest i64", std::uint64_t{1} << 63, payload_type::i64);
    range("largest i64", INT64_MAX, payload_type::i64);
    range("2^53 + 1", (std::uint64_t{1} << 53) + 1, payload_type::u64);
    range("2^53 - 1", (std::uint64_t{1} << 53) - 1, payload_type::u64);
    range("-2^53 - 1", ~(std::uint64_t{1} << 53), payload_type::i64);
    range("-1", UINT64_MAX, payload_type::i64);
    range("bytes", UINT64_MAX, payload_type::bytes);
    return capture.build();
}

timeline hta_capture() {
    capture_builder capture;
    describe(capture, "0");
    capture.parts().properties["api_calls"] = "driver";
    capture.parts().properties["cuda_runtime"] = "program";
    capture.parts().properties["pytorch"] = "ops";
    thread_script& main = capture.thread("python");
    const auto key = [](std::uint32_t id) { return correlation_key(1, id); };
    constexpr std::uint64_t us = 1000;
    const auto launch = [&](std::uint64_t at_us, std::uint32_t id, const char* kernel) {
        main.call(at_us * us, (at_us + 10) * us, key(id), cu_launch_kernel, kernel);
    };

    // All in microseconds. Stream 7 computes: a [100, 200), a [220, 320), b [400, 500); stream 20 communicates:
    // [300, 450); stream 24 copies [150, 250).
    main.push(0, "forward");
    main.add(torch_push(capture, 5 * us, "aten::mm"));
    launch(10, 1, "_Z8kernel_a");
    main.call(30 * us, 40 * us, key(2), cu_memcpy_htod_async);
    launch(50, 3, "_Z8kernel_a");
    main.pop(65 * us).pop(70 * us);
    main.push(80 * us, "backward");
    launch(90, 4, "ncclKernel_AllReduce");
    main.add(torch_push(capture, 340 * us, "aten::add"));
    launch(350, 5, "_Z8kernel_b");
    main.pop(365 * us).pop(370 * us);
    capture.kernel(key(1), 100 * us, 200 * us, {}, "_Z8kernel_a");
    capture.transfer(transfer(transfer_kind::memcpy, key(2), 150 * us, 250 * us, 1'000'000, 24));
    capture.kernel(key(3), 220 * us, 320 * us, {}, "_Z8kernel_a");
    capture.kernel(key(4), 300 * us, 450 * us, {.stream = 20}, "ncclKernel_AllReduce");
    capture.kernel(key(5), 400 * us, 500 * us, {}, "_Z8kernel_b");
    return capture.build();
}

timeline steps_capture(unsigned rank) {
    capture_builder capture;
    describe(capture, rank == 0 ? "0" : "1");
    capture.parts().properties["api_calls"] = "driver";
    capture.parts().properties["cuda_runtime"] = "program";
    const std::uint16_t phases = capture.domain(std::string(phase_domain));
    thread_script& main = capture.thread("python");
    constexpr std::uint64_t us = 1000;
    constexpr std::uint64_t length = 1000;
    const std::uint64_t late = rank == 0 ? 0 : 200;
    std::uint32_t id = 0;
    const auto launch = [&](std::uint64_t at, std::uint64_t start, std::uint64_t end, std::uint32_t stream,
                            const char* kernel) {
        const std::uint64_t key = correlation_key(1, ++id);
        main.call(at * us, (at + 10) * us, key, cu_launch_kernel, kernel);
        capture.kernel(key, start * us, end * us, {.stream = stream}, kernel);
    };
    main.push(0, "startup", phases);
    for (std::uint64_t step = 1; step <= 5; ++step) {
        const std::uint64_t t = step * length;
        main.pop(t * us, phases).push(t * us, "step", phases);
        main.push((t + 10) * us, "iteration").push((t + 20) * us, "forward", phases);
        launch(t + 30, t + 50, t + 350 + late, 7, "_Z8kernel_a");
        main.pop((t + 100) * us, phases).push((t + 110) * us, "backward", phases);
        launch(t + 120, t + 400 + late, t + 800, 20, "ncclKernel_AllReduce");
        main.pop((t + 810) * us, phases).pop((t + 820) * us);
    }
    main.pop(6 * length * us, phases);
    return capture.build();
}

}  // namespace prof
