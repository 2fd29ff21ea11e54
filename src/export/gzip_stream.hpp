// SPDX-License-Identifier: Apache-2.0
// Compresses bytes as they come, in the format of gzip. One thread; 0.5 MB of memory.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "base/zlib_memory.hpp"

namespace prof {

class gzip_stream {
public:
    gzip_stream() : out_(piece_bytes) {
        if (deflateInit2(&stream_, level, Z_DEFLATED, MAX_WBITS + gzip_header, memory_level, Z_DEFAULT_STRATEGY) !=
            Z_OK) {
            throw std::bad_alloc{};
        }
    }
    ~gzip_stream() { deflateEnd(&stream_); }
    gzip_stream(const gzip_stream&) = delete;
    gzip_stream& operator=(const gzip_stream&) = delete;

    // Calls `write` with what comes out. `at_end`: these are the last bytes.
    template <typename TWrite>
    void compress(std::string_view bytes, bool at_end, TWrite&& write) {
        do {
            const std::string_view piece = bytes.substr(0, UINT32_MAX);  // zlib counts in 32 bits
            bytes.remove_prefix(piece.size());
            // zlib's interface lacks const, but zlib does not write through next_in.
            stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
            stream_.avail_in = static_cast<uInt>(piece.size());
            const int flush = at_end && bytes.empty() ? Z_FINISH : Z_NO_FLUSH;
            do {
                stream_.next_out = out_.data();
                stream_.avail_out = static_cast<uInt>(out_.size());
                deflate(&stream_, flush);
                write(std::string_view(reinterpret_cast<const char*>(out_.data()), out_.size() - stream_.avail_out));
            } while (stream_.avail_out == 0);
        } while (!bytes.empty());
    }

private:
    // The fastest level: traces are so repetitive that slower levels gain little.
    static constexpr int level = 1;
    static constexpr int memory_level = 8;  // tables that fit into a core's cache, which is faster than larger ones
    static constexpr std::size_t piece_bytes = 256U << 10;
    static constexpr int gzip_header = 16;  // added to the window bits: selects a gzip header instead of zlib's

    z_stream stream_ = unbegun_stream<z_stream>();
    std::vector<Bytef> out_;
};

}  // namespace prof
