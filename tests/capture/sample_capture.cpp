// SPDX-License-Identifier: Apache-2.0
#include "capture/sample_capture.hpp"

namespace prof::test {
namespace {

sample make_sample() {
    sample s;
    s.properties = {{"hostname", "node17"}, {"rank", "3"}, {"command", std::string{"train \xFF\0\n.py", 12}}};
    s.names = {{1, "forward"}, {3, "gemm_kernel"}, {5, "NVIDIA H200"}, {7, "layer\xC3\x28"}};
    s.labels = {{label_kind::domain, 7, 1}, {label_kind::stream, 1, 0x1'0000'0007}};
    s.thread = {.uid = 1, .tid = 4711, .name = {"python3"}};

    const std::uint64_t key = correlation_key(1, 17);
    s.records = {
        {.ticks = 1000,
         .value = 0x4045'0000'0000'0000,
         .name = 1,
         .color = 0xFF76B900,
         .category = 9,
         .domain = 1,
         .kind = record_kind::range_push,
         .flags = static_cast<std::uint8_t>(payload_type::f64)},
        {.ticks = 1100, .value = key, .name = 3, .category = 211, .domain = 2, .kind = record_kind::api_enter},
        {.ticks = 1250, .value = key, .kind = record_kind::api_exit},
        {.ticks = 1300, .domain = 1, .kind = record_kind::range_pop},
    };

    kernel_record k;
    k.start_ns = 5'000'000'000;
    k.end_ns = 5'000'002'500;
    k.completed_ns = 5'000'002'600;
    k.queued_ns = 4'999'999'000;
    k.submitted_ns = 4'999'999'500;
    k.correlation = key;
    k.grid_id = 77;
    k.graph_node_id = 0x200000001;
    k.local_memory_total_bytes = 0x300000002;
    k.graph_id = 6;
    k.name = 3;
    k.device = 2;
    k.context = 1;
    k.stream = 7;
    k.grid[0] = 132, k.grid[1] = 2, k.grid[2] = 3;
    k.block[0] = 256, k.block[1] = 4, k.block[2] = 5;
    k.cluster[0] = 8, k.cluster[1] = 9, k.cluster[2] = 10;
    k.static_shared_bytes = 1024;
    k.dynamic_shared_bytes = 2048;
    k.executed_shared_bytes = 4096;
    k.local_bytes_per_thread = 16;
    k.channel = 11;
    k.registers_per_thread = 168;
    k.channel_type = 12;
    k.launch_type = 13;
    k.cluster_scheduling_policy = 14;
    k.max_potential_cluster_blocks = 15;
    k.max_active_clusters = 16;
    k.shared_limit_config = 17;
    k.priority = -18;
    k.cache_config = 0x21;
    k.shared_memory_config = 19;
    k.carveout_is_requested = 1;
    k.carveout_requested = 20;
    k.is_device_launched = 1;
    s.kernels = {k, k};
    s.kernels[1].start_ns += 10'000;
    s.kernels[1].end_ns += 10'500;

    transfer_record t;
    t.start_ns = 5'000'100'000;
    t.end_ns = 5'000'180'000;
    t.correlation = correlation_key(1, 18);
    t.bytes = 4'194'304;
    t.graph_node_id = 0x400000003;
    t.graph_id = 14;
    t.device = 2;
    t.context = 1;
    t.stream = 7;
    t.source_device = 15;
    t.destination_device = 16;
    t.value = 17;
    t.channel = 18;
    t.channel_type = 19;
    t.kind = transfer_kind::memcpy_peer;
    t.copy_kind = 10;
    t.source_kind = 1;
    t.destination_kind = 3;
    t.is_async = 1;
    t.is_device_launched = 1;
    t.source_context = 20;
    t.destination_context = 21;
    t.copy_count = 22;
    s.transfers = {t};

    graph_record g;
    g.start_ns = 5'000'200'000;
    g.end_ns = 5'000'290'000;
    g.correlation = correlation_key(1, 19);
    g.graph_id = 21;
    g.device = 2;
    g.context = 1;
    g.stream = 7;
    s.graphs = {g};

    s.clocks = {{1000, 2000, 1'750'000'000'000'003'000, 4'000, 50}, {1500, 2250, 1'750'000'000'000'003'250, 4'250, 60}};

    device_record d;
    d.global_memory_bytes = 150'754'820'096;
    d.memory_bandwidth_kbytes_per_s = 4'814'000'000;
    d.device = 2;
    d.compute_capability_major = 9;
    d.compute_capability_minor = 1;
    d.multiprocessors = 132;
    d.max_threads_per_block = 1024;
    d.max_threads_per_multiprocessor = 2048;
    d.max_blocks_per_multiprocessor = 32;
    d.registers_per_block = 65536;
    d.registers_per_multiprocessor = 65537;
    d.shared_bytes_per_block = 49152;
    d.shared_bytes_per_multiprocessor = 233472;
    d.warp_size = 32;
    d.core_clock_khz = 1'980'000;
    d.name = 5;
    for (std::uint8_t i = 0; i < 16; ++i) d.uuid[i] = static_cast<std::uint8_t>(0xA0 + i);
    s.devices = {d};
    s.graph_context = {{.ticks = 4, .value = observed_epoch_bit, .kind = record_kind::window},
                       {.ticks = 5, .value = 0x400000009, .kind = record_kind::graph_node}};
    s.windows = {{.epoch = 3,
                  .warmup_calls = 4,
                  .begin_ticks = 5,
                  .end_ticks = 6,
                  .first_step = 7,
                  .last_step = 8,
                  .drawn_first = 9,
                  .drawn_among = 10,
                  .ends_with_step = 1}};

    s.key_frame = {.begin_ticks = 1290, .latest_call = correlation_key(1, 17), .records = 3, .gpu_records = 2};
    s.drops = {{drop_cause::ring_full, 21}, {drop_cause::labels_full, 22}};
    return s;
}

}  // namespace

const sample& sample_values() {
    static const sample values = make_sample();
    return values;
}

void write_sample(capture_writer& writer) {
    const sample& s = sample_values();
    for (const auto& [key, value] : s.properties) writer.property(key, value);
    writer.names(s.names);
    writer.labels(s.labels);
    writer.thread(s.thread);
    writer.records(s.thread.uid, 0, s.records);
    writer.gpu<kernel_record>(s.kernels);
    writer.gpu<transfer_record>(s.transfers);
    writer.gpu<graph_record>(s.graphs);
    writer.clocks(s.clocks);
    writer.gpu<device_record>(s.devices);
    writer.key_frame(s.key_frame);
    writer.open(1, 3, std::span{s.records}.first(1));
    writer.window(s.windows.front());
    writer.graph_context(s.thread.uid, 7, s.graph_context);
    writer.graph_context(s.thread.uid, 7, s.graph_context, format::chunk_type::known_graphs);
    writer.drops(s.drops);
    writer.end(format::end_reason::exited);
}

}  // namespace prof::test
