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

kernel_record read_kernel(const source& fields, std::uint32_t epoch) noexcept {
    using namespace layout::kernel;
    kernel_record k;
    k.start_ns = fields(start);
    k.end_ns = fields(end);
    k.completed_ns = fields(completed);
    k.queued_ns = fields(queued);
    k.submitted_ns = fields(submitted);
    k.correlation = correlation_key(epoch, fields(correlation));
    k.grid_id = fields(grid_id);
    k.graph_node_id = fields(graph_node);
    k.local_memory_total_bytes = fields(local_total);
    k.graph_id = fields(graph);
    k.device = fields(device);
    k.context = fields(context);
    k.stream = fields(stream);
    k.grid[0] = fields(grid_x);
    k.grid[1] = fields(grid_y);
    k.grid[2] = fields(grid_z);
    k.block[0] = fields(block_x);
    k.block[1] = fields(block_y);
    k.block[2] = fields(block_z);
    k.cluster[0] = fields(cluster_x);
    k.cluster[1] = fields(cluster_y);
    k.cluster[2] = fields(cluster_z);
    k.static_shared_bytes = fields(static_shared);
    k.dynamic_shared_bytes = fields(dynamic_shared);
    k.executed_shared_bytes = fields(shared_executed);
    k.local_bytes_per_thread = fields(local_per_thread);
    k.channel = fields(channel);
    k.registers_per_thread = fields(registers_per_thread);
    k.channel_type = static_cast<std::uint8_t>(fields(channel_type));
    k.launch_type = fields(launch_type);
    k.cluster_scheduling_policy = fields(cluster_scheduling_policy);
    k.max_potential_cluster_blocks = fields(max_potential_cluster);
    k.max_active_clusters = fields(max_active_clusters);
    k.shared_limit_config = fields(shared_limit_config);
    k.priority = static_cast<std::int32_t>(fields(priority));
    k.cache_config = fields(cache_config);
    k.shared_memory_config = fields(shared_memory_config);
    k.carveout_is_requested = fields(carveout_is_requested);
    k.carveout_requested = fields(carveout_requested);
    k.is_device_launched = fields(is_device_launched);
    return k;
}

// The fields that copies, peer copies and sets have at the same offsets.
transfer_record read_common(const source& fields) noexcept {
    using namespace layout::memcpy;
    transfer_record t;
    t.start_ns = fields(start);
    t.end_ns = fields(end);
    t.bytes = fields(bytes);
    t.device = fields(device);
    t.context = fields(context);
    t.stream = fields(stream);
    return t;
}

transfer_record read_memcpy(const source& fields, std::uint32_t epoch) noexcept {
    using namespace layout::memcpy;
    transfer_record t = read_common(fields);
    t.kind = transfer_kind::memcpy;
    t.correlation = correlation_key(epoch, fields(correlation));
    t.copy_kind = fields(copy_kind);
    t.source_kind = fields(source_kind);
    t.destination_kind = fields(destination_kind);
    t.is_async = fields(flags) & 1U;  // CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC
    t.graph_node_id = fields(graph_node);
    t.graph_id = fields(graph);
    t.channel = fields(channel);
    t.channel_type = static_cast<std::uint8_t>(fields(channel_type));
    t.is_device_launched = fields(is_device_launched);
    t.copy_count = fields(copy_count);
    return t;
}

transfer_record read_memcpy_peer(const source& fields, std::uint32_t epoch) noexcept {
    using namespace layout::memcpy_peer;
    transfer_record t = read_common(fields);
    t.kind = transfer_kind::memcpy_peer;
    t.correlation = correlation_key(epoch, fields(correlation));
    t.copy_kind = fields(layout::memcpy::copy_kind);
    t.source_kind = fields(layout::memcpy::source_kind);
    t.destination_kind = fields(layout::memcpy::destination_kind);
    t.is_async = fields(layout::memcpy::flags) & 1U;
    t.source_device = fields(source_device);
    t.source_context = fields(source_context);
    t.destination_device = fields(destination_device);
    t.destination_context = fields(destination_context);
    t.graph_node_id = fields(graph_node);
    t.graph_id = fields(graph);
    t.channel = fields(channel);
    t.channel_type = static_cast<std::uint8_t>(fields(channel_type));
    return t;
}

transfer_record read_memset(const source& fields, std::uint32_t epoch) noexcept {
    using namespace layout::memset;
    transfer_record t = read_common(fields);
    t.kind = transfer_kind::memset;
    t.correlation = correlation_key(epoch, fields(layout::memcpy::correlation));
    t.value = fields(value);
    t.destination_kind = static_cast<std::uint8_t>(fields(memory_kind));
    t.is_async = static_cast<std::uint8_t>(fields(flags) & 1U);  // CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC
    t.graph_node_id = fields(graph_node);
    t.graph_id = fields(graph);
    t.channel = fields(channel);
    t.channel_type = static_cast<std::uint8_t>(fields(channel_type));
    t.is_device_launched = fields(is_device_launched);
    return t;
}

graph_record read_graph(const source& fields, std::uint32_t epoch) noexcept {
    using namespace layout::graph_trace;
    graph_record g;
    g.start_ns = fields(start);
    g.end_ns = fields(end);
    g.correlation = correlation_key(epoch, fields(correlation));
    g.graph_id = fields(graph);
    g.device = fields(device);
    g.context = fields(context);
    g.stream = fields(stream);
    return g;
}

device_record read_device(const source& fields) noexcept {
    using namespace layout::device;
    device_record d;
    d.global_memory_bytes = fields(global_memory);
    d.memory_bandwidth_kbytes_per_s = fields(memory_bandwidth_kbytes_per_s);
    d.device = fields(id);
    d.compute_capability_major = fields(compute_capability_major);
    d.compute_capability_minor = fields(compute_capability_minor);
    d.multiprocessors = fields(multiprocessors);
    d.max_threads_per_block = fields(max_threads_per_block);
    d.max_threads_per_multiprocessor = fields(max_warps_per_multiprocessor) * fields(warp_size);
    d.max_blocks_per_multiprocessor = fields(max_blocks_per_multiprocessor);
    d.registers_per_block = fields(registers_per_block);
    d.registers_per_multiprocessor = fields(registers_per_multiprocessor);
    d.shared_bytes_per_block = fields(shared_per_block);
    d.shared_bytes_per_multiprocessor = fields(shared_per_multiprocessor);
    d.warp_size = fields(warp_size);
    d.core_clock_khz = fields(core_clock_khz);
    std::memcpy(d.uuid, static_cast<const std::byte*>(fields.record) + uuid, sizeof d.uuid);
    return d;
}

}  // namespace

cupti_activity read_activity(const void* record, std::uint32_t version, std::uint32_t epoch) noexcept {
    const source fields{record, version};
    switch (fields(layout::kind)) {
        case layout::kind_concurrent_kernel:
            return {read_kernel(fields, epoch), fields(layout::kernel::name)};
        case layout::kind_memcpy:
            return {read_memcpy(fields, epoch), nullptr};
        case layout::kind_memcpy_peer:
            return {read_memcpy_peer(fields, epoch), nullptr};
        case layout::kind_memset:
            return {read_memset(fields, epoch), nullptr};
        case layout::kind_graph_trace:
            return {read_graph(fields, epoch), nullptr};
        case layout::kind_device:
            return {read_device(fields), fields(layout::device::name)};
        default:
            return {};
    }
}

}  // namespace prof
