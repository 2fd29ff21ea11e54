// For fuzzers: any bytes made into a capture whose magics and checksums are right, so that what lies behind them is
// reached; and a mutator that changes a capture chunk by chunk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "capture/capture_files.hpp"
#include "capture/format.hpp"

namespace prof::test {

inline void seal(byte_string& bytes) {
    if (bytes.size() < sizeof(format::file_header)) return;
    put_at(bytes, 0, format::magic);
    put_at(bytes, offsetof(format::file_header, version), format::version);
    put_at(bytes, offsetof(format::file_header, header_bytes), std::uint32_t{sizeof(format::file_header)});
    put_at(bytes, offsetof(format::file_header, crc32), crc32_by_hand(bytes.data(), 52));
    std::size_t at = sizeof(format::file_header);
    while (at + sizeof(format::chunk_header) <= bytes.size()) {
        put_at(bytes, at, format::chunk_magic);
        seal_chunk(bytes, at);
        const auto stored = value_at<std::uint32_t>(bytes, at + offsetof(format::chunk_header, stored_bytes));
        at += sizeof(format::chunk_header) + (std::size_t{stored} + 7) / 8 * 8;
    }
}

// Header and payload of each chunk.
using chunk_list = std::vector<byte_string>;

inline chunk_list split_chunks(const byte_string& bytes) {
    chunk_list out;
    const std::vector<std::size_t> offsets = chunk_offsets(bytes);
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
        if (offsets[i + 1] > bytes.size() || offsets[i] + sizeof(format::chunk_header) > bytes.size()) break;
        out.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                         bytes.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
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

// `mutate(bytes, most)` changes a payload in place. What comes out has the form of a capture.
template <typename TMutate>
byte_string mutate_capture(const byte_string& bytes, std::size_t most, unsigned seed, TMutate&& mutate) {
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
            const std::size_t used = bytes.size() - payload.size();
            const std::size_t room = most > used ? most - used : payload.size();
            payload.resize(std::max(payload.size(), room));
            payload.resize(mutate(payload, stored, room));
            // Whole elements: what is not is refused at once.
            set_payload(chunk, payload);
        }
    }
    byte_string out = join_chunks(bytes, chunks);
    return out.size() <= most ? out : bytes;
}

}  // namespace prof::test
