// SPDX-License-Identifier: Apache-2.0
#include "record/cupti/cupti_records.hpp"

#include <cstring>

#include "record/cupti/cupti_layout.hpp"
#include "record/record.hpp"

namespace prof {
namespace {

struct source {
    const void* record;
    std::uint32_t version;

    template <typename TValue>
    TValue operator()(const layout::field<TValue>& field) const noexcept {
        return field.read(record, version);
    }
};

kernel_record read_kernel(const source& from, std::uint32_t epoch) noexcept {
    using namespace layout::kernel;
    kernel_record k;
    k.start_ns = from(start);
    k.end_ns = from(end);
    k.completed_ns = from(completed);
    k.queued_ns = from(queued);
    k.submitted_ns = from(submitted);
    k.correlation = correlation_key(epoch, from(correlation));
    k.grid_id = from(grid_id);
    k.graph_node_id = from(graph_node);
    k.local_memory_total_bytes = from(local_total);
    k.graph_id = from(graph);
    k.device = from(device);
    k.context = from(context);
    k.stream = from(stream);
    k.grid[0] = from(grid_x);
    k.grid[1] = from(grid_y);
    k.grid[2] = from(grid_z);
    k.block[0] = from(block_x);
    k.block[1] = from(block_y);
    k.block[2] = from(block_z);
    k.cluster[0] = from(cluster_x);
    k.cluster[1] = from(cluster_y);
    k.cluster[2] = from(cluster_z);
    k.static_shared_bytes = from(static_shared);
    k.dynamic_shared_bytes = from(dynamic_shared);
    k.executed_shared_bytes = from(shared_executed);
    k.local_bytes_per_thread = from(local_per_thread);
    k.channel = from(channel);
    k.registers_per_thread = from(registers_per_thread);
    k.channel_type = static_cast<std::uint8_t>(from(channel_type));
    k.launch_type = from(launch_type);
    k.cluster_scheduling_policy = from(cluster_scheduling_policy);
    k.max_potential_cluster_blocks = from(max_potential_cluster);
    k.max_active_clusters = from(max_active_clusters);
    k.shared_limit_config = from(shared_limit_config);
    k.priority = static_cast<std::int32_t>(from(priority));
    k.cache_config = from(cache_config);
    k.shared_memory_config = from(shared_memory_config);
    k.carveout_is_requested = from(carveout_is_requested);
    k.carveout_requested = from(carveout_requested);
    k.is_device_launched = from(is_device_launched);
    return k;
}

// The fields that copies, peer copies and sets have at the same offsets.
transfer_record read_common(const source& from) noexcept {
    using namespace layout::memcpy;
    transfer_record t;
    t.start_ns = from(start);
    t.end_ns = from(end);
    t.bytes = from(bytes);
    t.device = from(device);
    t.context = from(context);
    t.stream = from(stream);
    return t;
}

transfer_record read_memcpy(const source& from, std::uint32_t epoch) noexcept {
    using namespace layout::memcpy;
    transfer_record t = read_common(from);
    t.kind = transfer_kind::memcpy;
    t.correlation = correlation_key(epoch, from(correlation));
    t.copy_kind = from(copy_kind);
    t.source_kind = from(source_kind);
    t.destination_kind = from(destination_kind);
    t.is_async = from(flags) & 1U;  // CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC
    t.graph_node_id = from(graph_node);
    t.graph_id = from(graph);
    t.channel = from(channel);
    t.channel_type = static_cast<std::uint8_t>(from(channel_type));
    t.is_device_launched = from(is_device_launched);
    t.copy_count = from(copy_count);
    return t;
}

transfer_record read_memcpy_peer(const source& from, std::uint32_t epoch) noexcept {
    using namespace layout::memcpy_peer;
    transfer_record t = read_common(from);
    t.kind = transfer_kind::memcpy_peer;
    t.correlation = correlation_key(epoch, from(correlation));
    t.copy_kind = from(layout::memcpy::copy_kind);
    t.source_kind = from(layout::memcpy::source_kind);
    t.destination_kind = from(layout::memcpy::destination_kind);
    t.is_async = from(layout::memcpy::flags) & 1U;
    t.source_device = from(source_device);
    t.source_context = from(source_context);
    t.destination_device = from(destination_device);
    t.destination_context = from(destination_context);
    t.graph_node_id = from(graph_node);
    t.graph_id = from(graph);
    t.channel = from(channel);
    t.channel_type = static_cast<std::uint8_t>(from(channel_type));
    return t;
}

transfer_record read_memset(const source& from, std::uint32_t epoch) noexcept {
    using namespace layout::memset;
    transfer_record t = read_common(from);
    t.kind = transfer_kind::memset;
    t.correlation = correlation_key(epoch, from(layout::memcpy::correlation));
    t.value = from(value);
    t.destination_kind = static_cast<std::uint8_t>(from(memory_kind));
    t.is_async = static_cast<std::uint8_t>(from(flags) & 1U);  // CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC
    t.graph_node_id = from(graph_node);
    t.graph_id = from(graph);
    t.channel = from(channel);
    t.channel_type = static_cast<std::uint8_t>(from(channel_type));
    t.is_device_launched = from(is_device_launched);
    return t;
}

graph_record read_graph(const source& from, std::uint32_t epoch) noexcept {
    using namespace layout::graph_trace;
    graph_record g;
    g.start_ns = from(start);
    g.end_ns = from(end);
    g.correlation = correlation_key(epoch, from(correlation));
    g.graph_id = from(graph);
    g.device = from(device);
    g.context = from(context);
    g.stream = from(stream);
    return g;
}

device_record read_device(const source& from) noexcept {
    using namespace layout::device;
    device_record d;
    d.global_memory_bytes = from(global_memory);
    d.memory_bandwidth_kbytes_per_s = from(memory_bandwidth_kbytes_per_s);
    d.device = from(id);
    d.compute_capability_major = from(compute_capability_major);
    d.compute_capability_minor = from(compute_capability_minor);
    d.multiprocessors = from(multiprocessors);
    d.max_threads_per_block = from(max_threads_per_block);
    d.max_threads_per_multiprocessor = from(max_warps_per_multiprocessor) * from(warp_size);
    d.max_blocks_per_multiprocessor = from(max_blocks_per_multiprocessor);
    d.registers_per_block = from(registers_per_block);
    d.registers_per_multiprocessor = from(registers_per_multiprocessor);
    d.shared_bytes_per_block = from(shared_per_block);
    d.shared_bytes_per_multiprocessor = from(shared_per_multiprocessor);
    d.warp_size = from(warp_size);
    d.core_clock_khz = from(core_clock_khz);
    std::memcpy(d.uuid, static_cast<const std::byte*>(from.record) + uuid, sizeof d.uuid);
    return d;
}

}  // namespace

cupti_activity read_activity(const void* record, std::uint32_t version, std::uint32_t epoch) noexcept {
    const source from{record, version};
    switch (from(layout::kind)) {
        case layout::kind_concurrent_kernel:
            return {read_kernel(from, epoch), from(layout::kernel::name)};
        case layout::kind_memcpy:
            return {read_memcpy(from, epoch), nullptr};
        case layout::kind_memcpy_peer:
            return {read_memcpy_peer(from, epoch), nullptr};
        case layout::kind_memset:
            return {read_memset(from, epoch), nullptr};
        case layout::kind_graph_trace:
            return {read_graph(from, epoch), nullptr};
        case layout::kind_device:
            return {read_device(from), from(layout::device::name)};
        default:
            return {};
    }
}

}  // namespace prof
