// SPDX-License-Identifier: Apache-2.0
// How a capture stores each type of GPU record: one row for each. Writer, reader and recovery use these rows.
#pragma once

#include <type_traits>

#include "capture/format.hpp"
#include "record/gpu_record.hpp"

namespace prof {

// `chunk`: the type of the chunks that hold arrays of the record. `is_work`: the record is a GPU operation, which
// counts among the records of a capture; otherwise it describes something.
template <typename TRecord>
struct gpu_chunk;

template <>
struct gpu_chunk<kernel_record> {
    static constexpr format::chunk_type chunk = format::chunk_type::kernels;
    static constexpr bool is_work = true;
};
template <>
struct gpu_chunk<transfer_record> {
    static constexpr format::chunk_type chunk = format::chunk_type::transfers;
    static constexpr bool is_work = true;
};
template <>
struct gpu_chunk<graph_record> {
    static constexpr format::chunk_type chunk = format::chunk_type::graphs;
    static constexpr bool is_work = true;
};
template <>
struct gpu_chunk<device_record> {
    static constexpr format::chunk_type chunk = format::chunk_type::devices;
    static constexpr bool is_work = false;
};

template <typename TRecord>
concept gpu_record_type = requires { gpu_chunk<TRecord>::chunk; };

// Calls `visit(std::type_identity<TRecord>{})` for the record type of such a chunk. False if it holds no GPU records.
template <typename TVisit>
bool with_gpu_record_of(format::chunk_type chunk, TVisit&& visit) {
    bool found = false;
    gpu_records{}.for_each([&]<typename TRecord>(const std::vector<TRecord>&) {
        if (gpu_chunk<TRecord>::chunk != chunk) return;
        found = true;
        visit(std::type_identity<TRecord>{});
    });
    return found;
}

}  // namespace prof
