// SPDX-License-Identifier: Apache-2.0
// Reads a capture's chunks on a thread of its own while the calling thread works with those before. For commands, which
// have the machine to themselves; inside a profiled program the calling thread reads.
//
// Memory: some chunks. The chunks are those of the reader, in its order.
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
    struct slot {
        chunk what;
        std::vector<std::uint64_t> payload;  // in words, so that it is aligned
        std::uint64_t read_bytes = 0;
    };

    void read_all();
    // False if nobody wants chunks any more.
    bool wait_for_room();

    capture_reader& reader_;
    std::array<slot, 8> slots_;  // a ring
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t filled_ = 0;   // slots filled since the beginning; guarded by mutex_, like the next three
    std::size_t emptied_ = 0;  // and emptied
    bool is_over_ = false;
    bool is_wanted_ = true;
    std::exception_ptr failure_;
    bool holds_slot_ = false;  // the caller has the payload of the slot `emptied_`
    std::uint64_t read_bytes_ = 0;
    std::thread thread_;
};

}  // namespace prof
