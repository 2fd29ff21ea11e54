// SPDX-License-Identifier: Apache-2.0
#include "capture/payload.hpp"

#include "base/clock.hpp"
#include "capture/gpu_chunks.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

template <typename TElement>
bool is_whole_array(std::span<const std::byte> payload) noexcept {
    return payload.size() % sizeof(TElement) == 0;
}

bool is_record_block(std::span<const std::byte> payload) noexcept {
    if (payload.size() < sizeof(std::uint64_t) || !is_whole_array<record>(payload.subspan(sizeof(std::uint64_t)))) {
        return false;
    }
    const record_block block = records_of(payload);
    return block.first_number <= UINT64_MAX - block.records.size();
}

}  // namespace

bool is_known(format::chunk_type type) noexcept {
    return type >= format::chunk_type::properties && type <= format::chunk_type::known_graphs;
}

bool well_formed(format::chunk_type type, std::span<const std::byte> payload) noexcept {
    switch (type) {
        case format::chunk_type::properties:
            return for_each_property(payload, [](std::string_view, std::string_view) {});
        case format::chunk_type::names:
            return for_each_name(payload, [](std::uint32_t, std::string_view) {});
        case format::chunk_type::labels:
            return is_whole_array<label>(payload);
        case format::chunk_type::thread:
            return payload.size() == sizeof(format::thread_entry);
        case format::chunk_type::records:
        case format::chunk_type::open:
        case format::chunk_type::graph_context:
        case format::chunk_type::known_graphs:
            return is_record_block(payload);
        case format::chunk_type::clocks:
            return is_whole_array<clock_snapshot>(payload);
        case format::chunk_type::drops:
            return is_whole_array<format::drop_entry>(payload);
        case format::chunk_type::end:
            return payload.size() == sizeof(format::end_entry);
        case format::chunk_type::windows:
            return is_whole_array<format::window_entry>(payload);
        case format::chunk_type::key_frame:
            return payload.size() == sizeof(format::key_frame_entry);
        case format::chunk_type::kernels:
        case format::chunk_type::transfers:
        case format::chunk_type::graphs:
        case format::chunk_type::devices:
            break;
    }
    bool is_whole = false;
    with_gpu_record_of(
        type, [&]<typename TRecord>(std::type_identity<TRecord>) { is_whole = is_whole_array<TRecord>(payload); });
    return is_whole;
}

std::uint64_t records_in(format::chunk_type type, std::size_t payload_bytes) noexcept {
    switch (type) {
        case format::chunk_type::records:
        case format::chunk_type::graph_context:
            return (payload_bytes - sizeof(std::uint64_t)) / sizeof(record);
        default:
            break;
    }
    std::uint64_t count = 0;
    with_gpu_record_of(type, [&]<typename TRecord>(std::type_identity<TRecord>) {
        if (gpu_chunk<TRecord>::is_work) count = payload_bytes / sizeof(TRecord);
    });
    return count;
}

}  // namespace prof
