// SPDX-License-Identifier: Apache-2.0
// Compresses bytes as they come, in the format of gzip: on the calling thread, with 0.5 MB of memory, or on several
// threads of its own (gzip_blocks.hpp).
#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/zlib_memory.hpp"
#include "export/gzip_blocks.hpp"

namespace prof {

class gzip_stream {
public:
    // `threads`: of its own; 0: the calling thread compresses, as in a program that is profiled.
    explicit gzip_stream(unsigned threads = 0) {
        if (threads > 0) {
            try {
                blocks_ = std::make_unique<gzip_blocks>(threads);
                return;
            } catch (const std::system_error&) {  // no thread can be created
            }
        }
        out_.resize(piece_bytes);
        if (deflateInit2(&stream_, level, Z_DEFLATED, MAX_WBITS + gzip_header, memory_level, Z_DEFAULT_STRATEGY) !=
            Z_OK) {
            throw std::bad_alloc{};
        }
    }
    ~gzip_stream() {
        if (!blocks_) deflateEnd(&stream_);
    }
    gzip_stream(const gzip_stream&) = delete;
    gzip_stream& operator=(const gzip_stream&) = delete;

    // Calls `write` with what comes out. `at_end`: these are the last bytes.
    template <typename TWrite>
    void compress(std::string_view bytes, bool at_end, TWrite&& write) {
        if (blocks_) return compress_in_blocks(bytes, at_end, write);
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
    template <typename TWrite>
    void compress_in_blocks(std::string_view bytes, bool at_end, TWrite&& write) {
        if (!std::exchange(has_header_, true)) write(gzip_blocks::header());
        while (!bytes.empty()) {
            const std::string_view piece = bytes.substr(0, gzip_blocks::block_bytes - block_.size());
            if (block_.empty()) block_.reserve(gzip_blocks::block_bytes);
            block_ += piece;
            bytes.remove_prefix(piece.size());
            if (block_.size() < gzip_blocks::block_bytes) break;
            blocks_->add(std::exchange(block_, {}), false);
            while (const auto done = blocks_->take(blocks_->is_full())) write(*done);
        }
        if (!at_end) return;
        blocks_->add(std::exchange(block_, {}), true);
        while (const auto done = blocks_->take(true)) write(*done);
        write(blocks_->trailer());
    }

    // The fastest level: traces are so repetitive that slower levels gain little.
    static constexpr int level = 1;
    static constexpr int memory_level = 8;  // tables that fit into a core's cache, which is faster than larger ones
    static constexpr std::size_t piece_bytes = 256U << 10;
    static constexpr int gzip_header = 16;  // added to the window bits: selects a gzip header instead of zlib's

    z_stream stream_ = unbegun_stream<z_stream>();
    std::vector<Bytef> out_;
    std::unique_ptr<gzip_blocks> blocks_;
    std::string block_;  // the next one, as far as it has come
    bool has_header_ = false;
};

}  // namespace prof
