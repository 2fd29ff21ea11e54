// SPDX-License-Identifier: Apache-2.0
// Reads a capture's chunks on a thread of its own while the calling thread works with those before. For commands, which
// have the machine to themselves; inside a profiled program the calling thread reads.
//
// Chunks are handed over some at a time, since waking a thread costs as much as reading a small chunk. They are those
// of the reader, in its order. Memory: about a megabyte, or some chunks if these are larger.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "capture/reader.hpp"

namespace prof {

class read_ahead {
public:
    // REQUIRES: the reader outlives it, and is not used by others meanwhile. Throws std::system_error if there is no
    // thread.
    explicit read_ahead(capture_reader& reader);
    ~read_ahead();
    read_ahead(const read_ahead&) = delete;
    read_ahead& operator=(const read_ahead&) = delete;

    // As capture_reader::next(), with its exceptions. The payload is valid until the next call.
    bool next(chunk& out);
    // As capture_reader::read_bytes(), of the latest chunk.
    std::uint64_t read_bytes() const noexcept { return read_bytes_; }

private:
    struct held_chunk {
        chunk what;             // without its payload
        std::size_t first = 0;  // the payload's place in the batch: the first word, and its bytes
        std::size_t bytes = 0;
        std::uint64_t read_bytes = 0;
    };
    class batch {
    public:
        void clear() noexcept;
        void add(const chunk& added, std::uint64_t read_bytes);
        bool is_full() const noexcept;
        std::size_t size() const noexcept { return chunks_.size(); }
        chunk at(std::size_t index) const;
        std::uint64_t read_bytes(std::size_t index) const { return chunks_[index].read_bytes; }

    private:
        std::vector<held_chunk> chunks_;
        std::vector<std::uint64_t> words_;  // so that payloads are aligned; never shrinks, since growing clears memory
        std::size_t used_ = 0;              // of words_
    };

    void read_all();
    // False if nobody wants chunks any more.
    bool wait_for_room();
    void hand_over();

    capture_reader& reader_;
    std::array<batch, 4> batches_;  // a ring
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t filled_ = 0;   // batches filled since the beginning; guarded by mutex_, like the next three
    std::size_t emptied_ = 0;  // and emptied
    bool is_over_ = false;
    bool is_wanted_ = true;
    std::exception_ptr failure_;
    const batch* held_ = nullptr;  // the batch `emptied_`, if the caller works with it
    std::size_t next_ = 0;         // the next chunk in it
    std::uint64_t read_bytes_ = 0;
    std::thread thread_;
};

}  // namespace prof
