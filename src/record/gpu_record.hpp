// SPDX-License-Identifier: Apache-2.0
// GPU work, taken from CUPTI's activity records: kernels, transfers (copies and sets), and CUDA graphs that were
// recorded as one operation each.
//
// Written by the drain thread only, never on the hot path. Stored byte for byte in the capture: little-endian, no
// padding. Times are in ns on CUPTI's clock; 0 means that CUPTI gave none.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

namespace prof {

struct kernel_record {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t completed_ns = 0;  // the kernel and its device-launched children are done
    std::uint64_t queued_ns = 0;     // 0 unless latency timestamps are on
    std::uint64_t submitted_ns = 0;
    std::uint64_t correlation = 0;  // correlation_key()
    std::uint64_t grid_id = 0;
    std::uint64_t graph_node_id = 0;
    std::uint64_t local_memory_total_bytes = 0;
    std::uint32_t graph_id = 0;
    std::uint32_t name = 0;  // mangled symbol
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;  // CUPTI's stream id
    std::uint32_t grid[3] = {};
    std::uint32_t block[3] = {};
    std::uint32_t cluster[3] = {};
    std::uint32_t static_shared_bytes = 0;
    std::uint32_t dynamic_shared_bytes = 0;
    std::uint32_t executed_shared_bytes = 0;
    std::uint32_t local_bytes_per_thread = 0;
    std::uint32_t channel = 0;
    std::uint16_t registers_per_thread = 0;
    std::uint8_t channel_type = 0;  // CUpti_ChannelType
    std::uint8_t launch_type = 0;   // CUpti_ActivityLaunchType
    std::uint32_t cluster_scheduling_policy = 0;
    std::uint32_t max_potential_cluster_blocks = 0;
    std::uint32_t max_active_clusters = 0;
    std::uint32_t shared_limit_config = 0;  // CUpti_FuncShmemLimitConfig
    std::int32_t priority = 0;              // of the stream; CUPTI 13.1 and later
    std::uint8_t cache_config = 0;          // requested in the low, executed in the high half
    std::uint8_t shared_memory_config = 0;
    std::uint8_t carveout_is_requested = 0;
    std::uint8_t carveout_requested = 0;
    std::uint8_t is_device_launched = 0;  // CUPTI 13.0 and later
    std::uint8_t reserved[7] = {};
};
static_assert(sizeof(kernel_record) == 184 && std::is_trivially_copyable_v<kernel_record>);

enum class transfer_kind : std::uint8_t { memcpy = 1, memset = 2, memcpy_peer = 3 };

struct transfer_record {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t correlation = 0;  // correlation_key()
    std::uint64_t bytes = 0;
    std::uint64_t graph_node_id = 0;
    std::uint32_t graph_id = 0;
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    std::uint32_t source_device = 0;       // memcpy_peer
    std::uint32_t destination_device = 0;  // memcpy_peer
    std::uint32_t value = 0;               // memset
    std::uint32_t channel = 0;
    std::uint8_t channel_type = 0;
    transfer_kind kind = transfer_kind::memcpy;
    std::uint8_t copy_kind = 0;    // CUpti_ActivityMemcpyKind: 1 HtoD, 2 DtoH, 8 DtoD, 10 PtoP …
    std::uint8_t source_kind = 0;  // CUpti_ActivityMemoryKind: 1 pageable, 2 pinned, 3 device, 4 array, 5 managed …
    std::uint8_t destination_kind = 0;  // memset: the kind of memory
    std::uint8_t is_async = 0;
    std::uint8_t is_device_launched = 0;  // CUPTI 13.0 and later
    std::uint8_t reserved = 0;
    std::uint32_t source_context = 0;       // memcpy_peer
    std::uint32_t destination_context = 0;  // memcpy_peer
    std::uint64_t copy_count = 0;           // copies in a batch; CUPTI 12.8 and later
};
static_assert(sizeof(transfer_record) == 96 && std::is_trivially_copyable_v<transfer_record>);

// One launch of a CUDA graph that was recorded as a whole: from the start of its first operation to the end of its
// last. Its nodes have no records of their own then.
struct graph_record {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t correlation = 0;  // correlation_key()
    std::uint32_t graph_id = 0;     // of the executable graph
    std::uint32_t device = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
};
static_assert(sizeof(graph_record) == 40 && std::is_trivially_copyable_v<graph_record>);

// One GPU, as described by CUPTI's DEVICE record and the driver. Unknown values are 0.
struct device_record {
    std::uint64_t global_memory_bytes = 0;
    std::uint64_t memory_bandwidth_kbytes_per_s = 0;
    std::uint32_t device = 0;
    std::uint32_t compute_capability_major = 0;
    std::uint32_t compute_capability_minor = 0;
    std::uint32_t multiprocessors = 0;
    std::uint32_t max_threads_per_block = 0;
    std::uint32_t max_threads_per_multiprocessor = 0;
    std::uint32_t max_blocks_per_multiprocessor = 0;
    std::uint32_t registers_per_block = 0;
    std::uint32_t registers_per_multiprocessor = 0;
    std::uint32_t shared_bytes_per_block = 0;
    std::uint32_t shared_bytes_per_multiprocessor = 0;
    std::uint32_t warp_size = 0;
    std::uint32_t core_clock_khz = 0;
    std::uint32_t name = 0;  // id in the name table
    std::uint8_t uuid[16] = {};
};
static_assert(sizeof(device_record) == 88 && std::is_trivially_copyable_v<device_record>);

// An array for each type of GPU record. Code that carries or stores records goes over all of them, and names no type: a
// new type is a member here, and a row in capture/gpu_chunks.hpp.
struct gpu_records {
    std::vector<kernel_record> kernels;
    std::vector<transfer_record> transfers;
    std::vector<graph_record> graphs;
    std::vector<device_record> devices;

    // Calls `visit` with each array.
    template <typename TVisit>
    void for_each(TVisit&& visit) {
        visit_all(*this, visit);
    }
    template <typename TVisit>
    void for_each(TVisit&& visit) const {
        visit_all(*this, visit);
    }
    // The array of that type.
    template <typename TRecord>
    std::vector<TRecord>& of() noexcept {
        std::vector<TRecord>* found = nullptr;
        for_each([&]<typename TEach>(std::vector<TEach>& array) {
            if constexpr (std::is_same_v<TEach, TRecord>) found = &array;
        });
        return *found;
    }

private:
    template <typename TSelf, typename TVisit>
    static void visit_all(TSelf& self, TVisit& visit) {
        visit(self.kernels);
        visit(self.transfers);
        visit(self.graphs);
        visit(self.devices);
    }
};

}  // namespace prof
