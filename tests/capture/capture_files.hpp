// SPDX-License-Identifier: Apache-2.0
// For tests of and with capture files: files as bytes, captures as lists of chunks.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/reader.hpp"
#include "support/scratch_directory.hpp"

namespace prof::test {

using byte_string = std::vector<unsigned char>;

// A file in memory that may be read by its path: for the tests that read thousands of them.
class memory_file {
public:
    memory_file() : descriptor_(memfd_create("capture", MFD_CLOEXEC)) {}
    ~memory_file() { close(descriptor_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
    void hold(const byte_string& bytes) const {
        if (ftruncate(descriptor_, 0) != 0 ||
            pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
            throw std::runtime_error("cannot write a file in memory");
        }
    }

private:
    int descriptor_;
};

inline byte_string read_bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& path, const byte_string& bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

// The CRC-32 of the reversed polynomial 0xEDB88320, bit by bit: not zlib's code.
inline std::uint32_t crc32_by_hand(const unsigned char* bytes, std::size_t count) {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (std::size_t i = 0; i < count; ++i) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1) ^ 0xEDB88320U : crc >> 1;
    }
    return ~crc;
}

// A chunk that outlives its reader.
struct kept_chunk {
    format::chunk_type type{};
    std::uint64_t aux = 0;
    byte_string payload;
    bool recovered = false;

    bool operator==(const kept_chunk&) const = default;
};

inline std::vector<kept_chunk> read_all(capture_reader& reader) {
    std::vector<kept_chunk> all;
    chunk next;
    while (reader.next(next)) {
        const auto* begin = reinterpret_cast<const unsigned char*>(next.payload.data());
        all.push_back({next.type, next.aux, {begin, begin + next.payload.size()}, next.recovered});
    }
    return all;
}

template <typename TValue>
TValue value_at(const byte_string& bytes, std::size_t offset) {
    TValue value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

template <typename TValue>
void put_at(byte_string& bytes, std::size_t offset, const TValue& value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// Makes the checksums of the chunk at `offset` right again after its header or payload was changed.
inline void seal_chunk(byte_string& bytes, std::size_t offset) {
    const auto stored = value_at<std::uint32_t>(bytes, offset + offsetof(format::chunk_header, stored_bytes));
    const std::size_t payload = offset + sizeof(format::chunk_header);
    if (stored <= bytes.size() - payload) {
        put_at(bytes, offset + offsetof(format::chunk_header, payload_crc32),
               crc32_by_hand(bytes.data() + payload, stored));
    }
    constexpr std::size_t checked = offsetof(format::chunk_header, header_crc32);
    put_at(bytes, offset + checked, crc32_by_hand(bytes.data() + offset, checked));
}

// Where the chunks of an undamaged capture begin, and the end of the file.
inline std::vector<std::size_t> chunk_offsets(const byte_string& bytes) {
    std::vector<std::size_t> offsets;
    std::size_t at = sizeof(format::file_header);
    while (at < bytes.size()) {
        offsets.push_back(at);
        const auto stored = value_at<std::uint32_t>(bytes, at + offsetof(format::chunk_header, stored_bytes));
        at += sizeof(format::chunk_header) + (std::size_t{stored} + 7) / 8 * 8;
    }
    offsets.push_back(at);
    return offsets;
}

}  // namespace prof::test
