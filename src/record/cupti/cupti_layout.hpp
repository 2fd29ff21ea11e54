// SPDX-License-Identifier: Apache-2.0
// Where the fields of CUPTI's activity records are, as offsets in bytes from the start of the record.
//
// Records grow at their end from version to version, and no field has ever moved (checked over the headers of 17
// releases, 12.0 to 13.5; tests/hooks/offsets repeats the check). So one table reads the records of every libcupti.
// Fields of 12.0 are always there. Later fields are read only from the version `since` on (a number of
// cuptiGetVersion).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace prof::layout {

inline constexpr std::uint32_t kind_memcpy = 1;
inline constexpr std::uint32_t kind_memset = 2;
inline constexpr std::uint32_t kind_device = 8;
inline constexpr std::uint32_t kind_concurrent_kernel = 10;
inline constexpr std::uint32_t kind_memcpy_peer = 22;
inline constexpr std::uint32_t kind_graph_trace = 51;

template <typename TValue>
struct field {
    std::size_t offset;
    std::uint32_t since = 0;

    // 0 if the record's version does not have the field.
    TValue read(const void* record, std::uint32_t version) const noexcept {
        TValue value{};
        if (version >= since) std::memcpy(&value, static_cast<const std::byte*>(record) + offset, sizeof value);
        return value;
    }
};

using u8 = field<std::uint8_t>;
using u16 = field<std::uint16_t>;
using u32 = field<std::uint32_t>;
using u64 = field<std::uint64_t>;
using text = field<const char*>;

inline constexpr u32 kind{0};

namespace kernel {  // CUpti_ActivityKernel9 and later
inline constexpr u8 cache_config{4};
inline constexpr u8 shared_memory_config{5};
inline constexpr u16 registers_per_thread{6};
inline constexpr u64 start{16};
inline constexpr u64 end{24};
inline constexpr u64 completed{32};
inline constexpr u32 device{40};
inline constexpr u32 context{44};
inline constexpr u32 stream{48};
inline constexpr u32 grid_x{52};
inline constexpr u32 grid_y{56};
inline constexpr u32 grid_z{60};
inline constexpr u32 block_x{64};
inline constexpr u32 block_y{68};
inline constexpr u32 block_z{72};
inline constexpr u32 static_shared{76};
inline constexpr u32 dynamic_shared{80};
inline constexpr u32 local_per_thread{84};
inline constexpr u32 correlation{92};
inline constexpr u64 grid_id{96};
inline constexpr text name{104};
inline constexpr u64 queued{120};
inline constexpr u64 submitted{128};
inline constexpr u8 launch_type{136};
inline constexpr u8 carveout_is_requested{137};
inline constexpr u8 carveout_requested{138};
inline constexpr u32 shared_executed{140};
inline constexpr u64 graph_node{144};
inline constexpr u32 shared_limit_config{152};
inline constexpr u32 graph{156};
inline constexpr u32 channel{168};
inline constexpr u32 channel_type{172};
inline constexpr u32 cluster_x{176};
inline constexpr u32 cluster_y{180};
inline constexpr u32 cluster_z{184};
inline constexpr u32 cluster_scheduling_policy{188};
inline constexpr u64 local_total{192};
inline constexpr u32 max_potential_cluster{200};
inline constexpr u32 max_active_clusters{204};
inline constexpr u8 is_device_launched{208, 130000};
inline constexpr u32 priority{216, 130100};
}  // namespace kernel

namespace memcpy {  // CUpti_ActivityMemcpy5 and later
inline constexpr u8 copy_kind{4};
inline constexpr u8 source_kind{5};
inline constexpr u8 destination_kind{6};
inline constexpr u8 flags{7};
inline constexpr u64 bytes{8};
inline constexpr u64 start{16};
inline constexpr u64 end{24};
inline constexpr u32 device{32};
inline constexpr u32 context{36};
inline constexpr u32 stream{40};
inline constexpr u32 correlation{44};
inline constexpr u64 graph_node{64};
inline constexpr u32 graph{72};
inline constexpr u32 channel{76};
inline constexpr u32 channel_type{80};
inline constexpr u8 is_device_launched{84, 130000};
inline constexpr u64 copy_count{88, 26};
}  // namespace memcpy

namespace memcpy_peer {  // CUpti_ActivityMemcpyPtoP4; up to `stream` as memcpy
inline constexpr u32 source_device{44};
inline constexpr u32 source_context{48};
inline constexpr u32 destination_device{52};
inline constexpr u32 destination_context{56};
inline constexpr u32 correlation{60};
inline constexpr u64 graph_node{72};
inline constexpr u32 graph{80};
inline constexpr u32 channel{84};
inline constexpr u32 channel_type{88};
}  // namespace memcpy_peer

namespace memset {  // CUpti_ActivityMemset4 and later; bytes to correlation as memcpy
inline constexpr u32 value{4};
inline constexpr u16 flags{48};
inline constexpr u16 memory_kind{50};
inline constexpr u64 graph_node{64};
inline constexpr u32 graph{72};
inline constexpr u32 channel{76};
inline constexpr u32 channel_type{80};
inline constexpr u8 is_device_launched{84, 130000};
}  // namespace memset

namespace graph_trace {
inline constexpr u32 correlation{4};
inline constexpr u64 start{8};
inline constexpr u64 end{16};
inline constexpr u32 device{24};
inline constexpr u32 graph{28};
inline constexpr u32 context{32};
inline constexpr u32 stream{36};
}  // namespace graph_trace

namespace device {  // CUpti_ActivityDevice4 and later
inline constexpr u64 memory_bandwidth_kbytes_per_s{8};
inline constexpr u64 global_memory{16};
inline constexpr u32 warp_size{32};
inline constexpr u32 core_clock_khz{36};
inline constexpr u32 multiprocessors{44};
inline constexpr u32 max_warps_per_multiprocessor{52};
inline constexpr u32 max_blocks_per_multiprocessor{56};
inline constexpr u32 shared_per_multiprocessor{60};
inline constexpr u32 registers_per_multiprocessor{64};
inline constexpr u32 registers_per_block{68};
inline constexpr u32 shared_per_block{72};
inline constexpr u32 max_threads_per_block{76};
inline constexpr u32 compute_capability_major{104};
inline constexpr u32 compute_capability_minor{108};
inline constexpr u32 id{112};
inline constexpr std::size_t uuid{120};  // 16 bytes
inline constexpr text name{136};
}  // namespace device

// The size of a record of this kind in the buffers of this CUPTI version; 0 for kinds that are not read. For versions
// newer than the known ones it is the smallest possible size.
constexpr std::size_t record_bytes(std::uint32_t kind_number, std::uint32_t version) noexcept {
    switch (kind_number) {
        case kind_concurrent_kernel:
            return version >= 130400   ? 248
                   : version >= 130300 ? 232
                   : version >= 130100 ? 224
                   : version >= 130000 ? 216
                                       : 208;
        case kind_memcpy:
            return version >= 130400 ? 112 : version >= 26 ? 96 : 88;
        case kind_memcpy_peer:
            return 96;
        case kind_memset:
            return version >= 130400 ? 104 : 88;
        case kind_graph_trace:
            return version >= 21 ? 56 : 48;
        case kind_device:
            return version >= 130200 ? 192 : version >= 20 ? 184 : 176;
        default:
            return 0;
    }
}

}  // namespace prof::layout
