// SPDX-License-Identifier: Apache-2.0
// What records of collective operations hold beside numbers: words as small numbers, and how they are packed. Part of
// the capture format: numbers are never reused, new ones are added at the end. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prof {

enum class collective_function : std::uint8_t {
    other = 0,
    all_reduce = 1,
    broadcast = 2,
    reduce = 3,
    all_gather = 4,
    reduce_scatter = 5,
    send = 6,
    recv = 7,
    all_to_all = 8,
    gather = 9,
    scatter = 10,
};

enum class collective_type : std::uint8_t {
    unknown = 0,
    i8 = 1,
    u8 = 2,
    i32 = 3,
    u32 = 4,
    i64 = 5,
    u64 = 6,
    f16 = 7,
    f32 = 8,
    f64 = 9,
    bf16 = 10,
    f8_e4m3 = 11,
    f8_e5m2 = 12,
};

// NCCL's algorithms and protocols. They are decided when the work is enqueued.
enum class collective_algorithm : std::uint8_t {
    unknown = 0,
    tree = 1,
    ring = 2,
    collnet_direct = 3,
    collnet_chain = 4,
    nvls = 5,
    nvls_tree = 6,
    pat = 7,
};
enum class collective_protocol : std::uint8_t { unknown = 0, ll = 1, ll128 = 2, simple = 3 };

// Of an element; 0: not known.
constexpr std::size_t size_of(collective_type type) noexcept {
    switch (type) {
        case collective_type::i8:
        case collective_type::u8:
        case collective_type::f8_e4m3:
        case collective_type::f8_e5m2:
            return 1;
        case collective_type::f16:
        case collective_type::bf16:
            return 2;
        case collective_type::i32:
        case collective_type::u32:
        case collective_type::f32:
            return 4;
        case collective_type::i64:
        case collective_type::u64:
        case collective_type::f64:
            return 8;
        case collective_type::unknown:
            break;
    }
    return 0;
}

// In the flags of the records.
enum collective_flags : std::uint8_t {
    collective_is_captured = 1,       // into a graph
    collective_is_p2p = 2,            // a send or a receive: `color` is the peer
    collective_begins_copies = 4,     // the copies that carry it are launched next
    collective_ends_copies = 8,       // they have been launched
    collective_launched_before = 16,  // the library announces no launches: the kernel is the thread's latest one
};

// A communicator that has no number: there were too many.
inline constexpr std::uint16_t no_communicator = UINT16_MAX;
inline constexpr std::uint64_t no_sequence = UINT64_MAX;

struct packed_call {
    std::uint64_t count = 0;  // elements; 48 bits
    collective_function function = collective_function::other;
    collective_type type = collective_type::unknown;
};
constexpr std::uint64_t pack(const packed_call& call) noexcept {
    return (call.count & ((std::uint64_t{1} << 48) - 1)) |
           std::uint64_t{static_cast<std::uint8_t>(call.function)} << 48 |
           std::uint64_t{static_cast<std::uint8_t>(call.type)} << 56;
}
constexpr packed_call unpack_call(std::uint64_t value) noexcept {
    return {value & ((std::uint64_t{1} << 48) - 1), static_cast<collective_function>(value >> 48 & 0xFF),
            static_cast<collective_type>(value >> 56)};
}

struct packed_work {
    std::uint8_t channels = 0;
    collective_algorithm algorithm = collective_algorithm::unknown;
    collective_protocol protocol = collective_protocol::unknown;
    collective_function function = collective_function::other;
};
constexpr std::uint32_t pack(const packed_work& work) noexcept {
    return work.channels | std::uint32_t{static_cast<std::uint8_t>(work.algorithm)} << 8 |
           std::uint32_t{static_cast<std::uint8_t>(work.protocol)} << 16 |
           std::uint32_t{static_cast<std::uint8_t>(work.function)} << 24;
}
constexpr packed_work unpack_work(std::uint32_t value) noexcept {
    return {static_cast<std::uint8_t>(value), static_cast<collective_algorithm>(value >> 8 & 0xFF),
            static_cast<collective_protocol>(value >> 16 & 0xFF), static_cast<collective_function>(value >> 24)};
}

// The name of a communicator's label: its id in hexadecimal, its ranks, this process's rank in it, its hosts (decimal),
// and the name that the program gave to it, with a space between each.
struct communicator_facts {
    std::uint64_t id = 0;
    std::uint32_t ranks = 0;
    std::uint32_t rank = 0;
    std::uint32_t nodes = 0;
};

}  // namespace prof
