// SPDX-License-Identifier: Apache-2.0
// Compiles if libprof's record layout is that of the CUPTI headers on the include path. Never run: every line is a
// static assertion. KERNEL, MEMCPY, MEMCPY_PEER, MEMSET, GRAPH_TRACE and DEVICE name the newest structs of those
// headers (check_record_offsets.py finds them).
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_version.h>

#include <cstddef>
#include <type_traits>

#include "record/cupti/cupti_layout.hpp"

namespace {

template <typename TValue>
constexpr std::size_t width(prof::layout::field<TValue>) {
    return sizeof(TValue);
}

// And all of it takes what recovery believes.
#define SAME_SIZE(TStruct, kind)                                                                        \
    static_assert(sizeof(TStruct) == prof::layout::record_bytes(prof::layout::kind, CUPTI_API_VERSION), \
                  "size: " #TStruct)
SAME_SIZE(KERNEL, kind_concurrent_kernel);
SAME_SIZE(MEMCPY, kind_memcpy);
SAME_SIZE(MEMCPY_PEER, kind_memcpy_peer);
SAME_SIZE(MEMSET, kind_memset);
SAME_SIZE(GRAPH_TRACE, kind_graph_trace);
SAME_SIZE(DEVICE, kind_device);

// A field stands in this version's record exactly if libprof reads it there, at the same place and of the same width.
#define SAME(TStruct, member, layout_field)                                                                    \
    static_assert([]<typename TRecord>() {                                                                     \
        constexpr bool is_there = requires(TRecord record) { record.member; };                                 \
        static_assert(is_there == (CUPTI_API_VERSION >= prof::layout::layout_field.since), "gate: " #member);  \
        if constexpr (is_there) {                                                                              \
            static_assert(offsetof(TRecord, member) == prof::layout::layout_field.offset, "offset: " #member); \
            static_assert(sizeof(TRecord::member) == width(prof::layout::layout_field), "width: " #member);    \
        }                                                                                                      \
        return true;                                                                                           \
    }.template operator()<TStruct>())

SAME(KERNEL, kind, kind);
SAME(KERNEL, cacheConfig, kernel::cache_config);
SAME(KERNEL, sharedMemoryConfig, kernel::shared_memory_config);
SAME(KERNEL, registersPerThread, kernel::registers_per_thread);
SAME(KERNEL, start, kernel::start);
SAME(KERNEL, end, kernel::end);
SAME(KERNEL, completed, kernel::completed);
SAME(KERNEL, deviceId, kernel::device);
SAME(KERNEL, contextId, kernel::context);
SAME(KERNEL, streamId, kernel::stream);
SAME(KERNEL, gridX, kernel::grid_x);
SAME(KERNEL, gridY, kernel::grid_y);
SAME(KERNEL, gridZ, kernel::grid_z);
SAME(KERNEL, blockX, kernel::block_x);
SAME(KERNEL, blockY, kernel::block_y);
SAME(KERNEL, blockZ, kernel::block_z);
SAME(KERNEL, staticSharedMemory, kernel::static_shared);
SAME(KERNEL, dynamicSharedMemory, kernel::dynamic_shared);
SAME(KERNEL, localMemoryPerThread, kernel::local_per_thread);
SAME(KERNEL, correlationId, kernel::correlation);
SAME(KERNEL, gridId, kernel::grid_id);
SAME(KERNEL, name, kernel::name);
SAME(KERNEL, queued, kernel::queued);
SAME(KERNEL, submitted, kernel::submitted);
SAME(KERNEL, launchType, kernel::launch_type);
SAME(KERNEL, isSharedMemoryCarveoutRequested, kernel::carveout_is_requested);
SAME(KERNEL, sharedMemoryCarveoutRequested, kernel::carveout_requested);
SAME(KERNEL, sharedMemoryExecuted, kernel::shared_executed);
SAME(KERNEL, graphNodeId, kernel::graph_node);
SAME(KERNEL, shmemLimitConfig, kernel::shared_limit_config);
SAME(KERNEL, graphId, kernel::graph);
SAME(KERNEL, channelID, kernel::channel);
SAME(KERNEL, channelType, kernel::channel_type);
SAME(KERNEL, clusterX, kernel::cluster_x);
SAME(KERNEL, clusterY, kernel::cluster_y);
SAME(KERNEL, clusterZ, kernel::cluster_z);
SAME(KERNEL, clusterSchedulingPolicy, kernel::cluster_scheduling_policy);
SAME(KERNEL, localMemoryTotal_v2, kernel::local_total);
SAME(KERNEL, maxPotentialClusterSize, kernel::max_potential_cluster);
SAME(KERNEL, maxActiveClusters, kernel::max_active_clusters);
SAME(KERNEL, isDeviceLaunched, kernel::is_device_launched);
SAME(KERNEL, priority, kernel::priority);

SAME(MEMCPY, copyKind, memcpy::copy_kind);
SAME(MEMCPY, srcKind, memcpy::source_kind);
SAME(MEMCPY, dstKind, memcpy::destination_kind);
SAME(MEMCPY, flags, memcpy::flags);
SAME(MEMCPY, bytes, memcpy::bytes);
SAME(MEMCPY, start, memcpy::start);
SAME(MEMCPY, end, memcpy::end);
SAME(MEMCPY, deviceId, memcpy::device);
SAME(MEMCPY, contextId, memcpy::context);
SAME(MEMCPY, streamId, memcpy::stream);
SAME(MEMCPY, correlationId, memcpy::correlation);
SAME(MEMCPY, graphNodeId, memcpy::graph_node);
SAME(MEMCPY, graphId, memcpy::graph);
SAME(MEMCPY, channelID, memcpy::channel);
SAME(MEMCPY, channelType, memcpy::channel_type);
SAME(MEMCPY, isDeviceLaunched, memcpy::is_device_launched);
SAME(MEMCPY, copyCount, memcpy::copy_count);

SAME(MEMCPY_PEER, copyKind, memcpy::copy_kind);
SAME(MEMCPY_PEER, srcKind, memcpy::source_kind);
SAME(MEMCPY_PEER, dstKind, memcpy::destination_kind);
SAME(MEMCPY_PEER, flags, memcpy::flags);
SAME(MEMCPY_PEER, bytes, memcpy::bytes);
SAME(MEMCPY_PEER, start, memcpy::start);
SAME(MEMCPY_PEER, end, memcpy::end);
SAME(MEMCPY_PEER, deviceId, memcpy::device);
SAME(MEMCPY_PEER, contextId, memcpy::context);
SAME(MEMCPY_PEER, streamId, memcpy::stream);
SAME(MEMCPY_PEER, srcDeviceId, memcpy_peer::source_device);
SAME(MEMCPY_PEER, srcContextId, memcpy_peer::source_context);
SAME(MEMCPY_PEER, dstDeviceId, memcpy_peer::destination_device);
SAME(MEMCPY_PEER, dstContextId, memcpy_peer::destination_context);
SAME(MEMCPY_PEER, correlationId, memcpy_peer::correlation);
SAME(MEMCPY_PEER, graphNodeId, memcpy_peer::graph_node);
SAME(MEMCPY_PEER, graphId, memcpy_peer::graph);
SAME(MEMCPY_PEER, channelID, memcpy_peer::channel);
SAME(MEMCPY_PEER, channelType, memcpy_peer::channel_type);

SAME(MEMSET, value, memset::value);
SAME(MEMSET, bytes, memcpy::bytes);
SAME(MEMSET, start, memcpy::start);
SAME(MEMSET, end, memcpy::end);
SAME(MEMSET, deviceId, memcpy::device);
SAME(MEMSET, contextId, memcpy::context);
SAME(MEMSET, streamId, memcpy::stream);
SAME(MEMSET, correlationId, memcpy::correlation);
SAME(MEMSET, flags, memset::flags);
SAME(MEMSET, memoryKind, memset::memory_kind);
SAME(MEMSET, graphNodeId, memset::graph_node);
SAME(MEMSET, graphId, memset::graph);
SAME(MEMSET, channelID, memset::channel);
SAME(MEMSET, channelType, memset::channel_type);
SAME(MEMSET, isDeviceLaunched, memset::is_device_launched);

SAME(GRAPH_TRACE, correlationId, graph_trace::correlation);
SAME(GRAPH_TRACE, start, graph_trace::start);
SAME(GRAPH_TRACE, end, graph_trace::end);
SAME(GRAPH_TRACE, deviceId, graph_trace::device);
SAME(GRAPH_TRACE, graphId, graph_trace::graph);
SAME(GRAPH_TRACE, contextId, graph_trace::context);
SAME(GRAPH_TRACE, streamId, graph_trace::stream);

SAME(DEVICE, globalMemoryBandwidth, device::memory_bandwidth_kbytes_per_s);
SAME(DEVICE, globalMemorySize, device::global_memory);
SAME(DEVICE, numThreadsPerWarp, device::warp_size);
SAME(DEVICE, coreClockRate, device::core_clock_khz);
SAME(DEVICE, numMultiprocessors, device::multiprocessors);
SAME(DEVICE, maxWarpsPerMultiprocessor, device::max_warps_per_multiprocessor);
SAME(DEVICE, maxBlocksPerMultiprocessor, device::max_blocks_per_multiprocessor);
SAME(DEVICE, maxSharedMemoryPerMultiprocessor, device::shared_per_multiprocessor);
SAME(DEVICE, maxRegistersPerMultiprocessor, device::registers_per_multiprocessor);
SAME(DEVICE, maxRegistersPerBlock, device::registers_per_block);
SAME(DEVICE, maxSharedMemoryPerBlock, device::shared_per_block);
SAME(DEVICE, maxThreadsPerBlock, device::max_threads_per_block);
SAME(DEVICE, computeCapabilityMajor, device::compute_capability_major);
SAME(DEVICE, computeCapabilityMinor, device::compute_capability_minor);
SAME(DEVICE, id, device::id);
SAME(DEVICE, name, device::name);
static_assert(offsetof(DEVICE, uuid) == prof::layout::device::uuid && sizeof(DEVICE::uuid) == 16);

static_assert(CUPTI_ACTIVITY_KIND_MEMCPY == prof::layout::kind_memcpy);
static_assert(CUPTI_ACTIVITY_KIND_MEMSET == prof::layout::kind_memset);
static_assert(CUPTI_ACTIVITY_KIND_GRAPH_TRACE == prof::layout::kind_graph_trace);
static_assert(CUPTI_ACTIVITY_KIND_DEVICE == prof::layout::kind_device);
static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == prof::layout::kind_concurrent_kernel);
static_assert(CUPTI_ACTIVITY_KIND_MEMCPY2 == prof::layout::kind_memcpy_peer);

}  // namespace
