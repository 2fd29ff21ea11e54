// SPDX-License-Identifier: Apache-2.0
// For fuzzers: any bytes made into a capture whose magics and checksums are right, so that what lies behind them is
// reached; and a mutator that changes a capture chunk by chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "capture/capture_files.hpp"
#include "capture/codec.hpp"
#include "capture/format.hpp"
#include "fuzz/changed_number.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace prof::test {

// zlib's checksum: bit by bit it would take half of a fuzzer's time.
inline std::uint32_t crc32_at(const byte_string& bytes, std::size_t begin, std::size_t count) {
    return crc32_of(std::as_bytes(std::span{bytes}).subspan(begin, count));
}

inline void seal(byte_string& bytes) {
    constexpr std::size_t header_bytes = sizeof(format::chunk_header);
    if (bytes.size() < sizeof(format::file_header)) return;
    put_at(bytes, 0, format::magic);
    put_at(bytes, offsetof(format::file_header, version), format::version);
    put_at(bytes, offsetof(format::file_header, header_bytes), std::uint32_t{sizeof(format::file_header)});
    put_at(bytes, offsetof(format::file_header, crc32), crc32_at(bytes, 0, offsetof(format::file_header, crc32)));
    for (std::size_t at = sizeof(format::file_header); at + header_bytes <= bytes.size();) {
        const auto stored = value_at<std::uint32_t>(bytes, at + offsetof(format::chunk_header, stored_bytes));
        put_at(bytes, at, format::chunk_magic);
        if (stored <= bytes.size() - at - header_bytes) {
            put_at(bytes, at + offsetof(format::chunk_header, payload_crc32),
                   crc32_at(bytes, at + header_bytes, stored));
        }
        constexpr std::size_t checked = offsetof(format::chunk_header, header_crc32);
        put_at(bytes, at + checked, crc32_at(bytes, at, checked));
        at += header_bytes + (std::size_t{stored} + 7) / 8 * 8;
    }
}

// Header and payload of each chunk.
using chunk_list = std::vector<byte_string>;

inline chunk_list split_chunks(const byte_string& bytes) {
    chunk_list out;
    std::size_t at = sizeof(format::file_header);
    while (at + sizeof(format::chunk_header) <= bytes.size()) {
        const auto stored = value_at<std::uint32_t>(bytes, at + offsetof(format::chunk_header, stored_bytes));
        const std::size_t whole = sizeof(format::chunk_header) + (std::size_t{stored} + 7) / 8 * 8;
        if (whole > bytes.size() - at) break;
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(whole));
        at += whole;
    }
    return out;
}

// In the order given, numbered and sealed anew; not deflated, since the payload is written plainly.
inline byte_string join_chunks(const byte_string& header, const chunk_list& chunks) {
    byte_string out(header.begin(), header.begin() + sizeof(format::file_header));
    std::uint32_t sequence = 0;
    for (byte_string chunk : chunks) {
        put_at(chunk, offsetof(format::chunk_header, sequence), sequence++);
        out.insert(out.end(), chunk.begin(), chunk.end());
    }
    seal(out);
    return out;
}

// Gives a chunk another payload.
inline void set_payload(byte_string& chunk, const byte_string& payload) {
    const auto size = static_cast<std::uint32_t>(payload.size());
    chunk.resize(sizeof(format::chunk_header));
    put_at(chunk, offsetof(format::chunk_header, stored_bytes), size);
    put_at(chunk, offsetof(format::chunk_header, raw_bytes), size);
    put_at(chunk, offsetof(format::chunk_header, flags), std::uint32_t{0});
    chunk.insert(chunk.end(), payload.begin(), payload.end());
    chunk.resize((chunk.size() + 7) / 8 * 8);
}

// What comes out has the form of a capture: of a chunk the payload, the type or the place is another.
inline byte_string mutate_capture(const byte_string& bytes, std::size_t most, unsigned seed) {
    chunk_list chunks = split_chunks(bytes);
    if (chunks.empty()) return bytes;
    std::minstd_rand random(seed);
    const std::size_t which = random() % chunks.size();
    byte_string& chunk = chunks[which];
    switch (random() % 8) {
        case 0:
            chunks.push_back(chunk);
            break;
        case 1:
            std::swap(chunk, chunks[random() % chunks.size()]);
            break;
        case 2:
            if (chunks.size() > 1) chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(which));
            break;
        case 3:
            put_at(chunk, offsetof(format::chunk_header, aux), std::uint64_t{random() % 4});
            break;
        case 4:
            put_at(chunk, offsetof(format::chunk_header, type), static_cast<std::uint32_t>(random() % 20));
            break;
        default: {
            const auto stored = value_at<std::uint32_t>(chunk, offsetof(format::chunk_header, stored_bytes));
            const auto begin = chunk.begin() + sizeof(format::chunk_header);
            byte_string payload(begin, begin + std::min<std::ptrdiff_t>(stored, chunk.end() - begin));
            // Neither of the two below takes an empty payload.
            if (payload.empty()) payload.push_back(0);
            const std::size_t size = payload.size();
            const std::size_t used = bytes.size() - std::min(bytes.size(), size);
            const std::size_t room = std::max(size, most > used ? most - used : 0);
            payload.resize(room);
            if (random() % 2 == 0) {
                change_number(payload.data(), size, random);
                payload.resize(size);
            } else {
                payload.resize(LLVMFuzzerMutate(payload.data(), size, room));
            }
            set_payload(chunk, payload);
        }
    }
    byte_string out = join_chunks(bytes, chunks);
    return out.size() <= most ? out : bytes;
}

// As LLVMFuzzerCustomMutator() has it.
inline std::size_t mutate_capture_in_place(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    const byte_string changed = mutate_capture(byte_string(data, data + size), most, seed);
    std::memcpy(data, changed.data(), changed.size());
    return changed.size();
}

}  // namespace prof::test
