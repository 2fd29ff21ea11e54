// SPDX-License-Identifier: Apache-2.0
// Views the payloads of chunks from a capture_reader as typed values. Nothing is copied: all results point into the
// payload.
//
// The reader delivers only payloads that are well_formed() for their type. So lengths can be trusted here, values
// cannot: ids, counts, times and texts are as the file has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "capture/format.hpp"
#include "record/record.hpp"

namespace prof {

// The payload as an array: of labels, kernels, transfers, graphs, clocks, devices or drops. A thread, key_frame or end
// payload is an array of one element.
template <typename TElement>
std::span<const TElement> elements(std::span<const std::byte> payload) noexcept {
    return {reinterpret_cast<const TElement*>(payload.data()), payload.size() / sizeof(TElement)};
}

struct record_block {
    // Number of the first record; the numbers of a thread are consecutive, and need not begin at 0.
    std::uint64_t first_number = 0;
    std::span<const record> records;
};

inline record_block records_of(std::span<const std::byte> payload) noexcept {
    std::uint64_t first_number = 0;
    std::memcpy(&first_number, payload.data(), sizeof first_number);
    return {first_number, elements<record>(payload.subspan(sizeof first_number))};
}

// Calls visit(std::uint32_t id, std::string_view text) for each name. Returns false if an entry exceeds the payload.
template <typename TVisitor>
bool for_each_name(std::span<const std::byte> payload, TVisitor&& visit) {
    while (!payload.empty()) {
        std::uint32_t head[2];  // id, bytes
        if (payload.size() < sizeof head) return false;
        std::memcpy(head, payload.data(), sizeof head);
        payload = payload.subspan(sizeof head);
        const std::uint64_t padded = (std::uint64_t{head[1]} + 3) & ~std::uint64_t{3};
        if (payload.size() < padded) return false;
        visit(head[0], std::string_view{reinterpret_cast<const char*>(payload.data()), head[1]});
        payload = payload.subspan(padded);
    }
    return true;
}

// Calls visit(std::string_view key, std::string_view value) for each property. Returns false as above.
template <typename TVisitor>
bool for_each_property(std::span<const std::byte> payload, TVisitor&& visit) {
    while (!payload.empty()) {
        std::uint32_t head[2];  // key bytes, value bytes
        if (payload.size() < sizeof head) return false;
        std::memcpy(head, payload.data(), sizeof head);
        payload = payload.subspan(sizeof head);
        if (payload.size() < std::uint64_t{head[0]} + head[1]) return false;
        const auto* text = reinterpret_cast<const char*>(payload.data());
        visit(std::string_view{text, head[0]}, std::string_view{text + head[0], head[1]});
        payload = payload.subspan(std::size_t{head[0]} + head[1]);
    }
    return true;
}

// The thread's name from the kernel. All 32 bytes may be used, without a zero at the end.
inline std::string_view thread_name(const format::thread_entry& thread) noexcept {
    return {thread.name.data(), strnlen(thread.name.data(), thread.name.size())};
}

// is_known(): this build can read chunks of the type. well_formed(): the payload has the form of its (known) type, that
// is whole elements, texts inside the payload, and record numbers that do not wrap.
bool is_known(format::chunk_type type) noexcept;
bool well_formed(format::chunk_type type, std::span<const std::byte> payload) noexcept;

// The number of records and GPU operations in a well formed chunk, which is what its loss would cost.
std::uint64_t records_in(format::chunk_type type, std::size_t payload_bytes) noexcept;

}  // namespace prof
