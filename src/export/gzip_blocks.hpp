// SPDX-License-Identifier: Apache-2.0
// The blocks of one gzip stream, compressed by several threads and put together in order. Each block begins with the
// end of the one before it as its dictionary, and ends on a byte's boundary: readers see a stream like any other.
//
// One thread gives blocks and takes what comes out. Memory: a few blocks a thread.
#pragma once

#include <zlib.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace prof {

class gzip_blocks {
public:
    static constexpr std::size_t block_bytes = 1U << 20;

    // Throws std::system_error if no thread can be created.
    explicit gzip_blocks(unsigned threads);
    ~gzip_blocks();
    gzip_blocks(const gzip_blocks&) = delete;
    gzip_blocks& operator=(const gzip_blocks&) = delete;

    // What the stream begins with.
    static std::string_view header() noexcept;
    void add(std::string block, bool is_last);
    // Whether so many blocks are under way that the next one has to wait.
    bool is_full() const noexcept { return under_way_.size() >= most_under_way_; }
    // What the next block has become, once it is compressed; nothing if none is under way or, without `wait`, if it is
    // not ready. Throws std::bad_alloc.
    std::optional<std::string> take(bool wait);
    // What the stream ends with, when all blocks have been taken.
    std::string trailer() const;

private:
    struct block {
        std::string bytes;
        std::string dictionary;
        bool is_last = false;
        std::string compressed{};
        uLong crc = 0;
        bool is_done = false;
        bool has_failed = false;
    };
    void work();
    static void compress(z_stream& stream, block& of);

    std::size_t most_under_way_;
    std::string dictionary_;  // for the next block
    std::deque<std::unique_ptr<block>> under_way_;
    uLong crc_ = 0;
    std::uint64_t bytes_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<block*> waiting_;  // for a thread; with the mutex, as the marks of blocks
    bool ends_ = false;           // likewise
    std::vector<std::thread> threads_;
};

}  // namespace prof
