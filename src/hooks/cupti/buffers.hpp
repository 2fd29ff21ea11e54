// SPDX-License-Identifier: Apache-2.0
// CUPTI's activity buffers: a bounded pool of them, and the queue of completed ones.
//
// Threads: take() runs on the application's threads, since CUPTI requests a buffer in the middle of a launch.
// complete() runs on those or on CUPTI's own thread. Neither locks or allocates. next_completed(), give_back() and
// keep_ahead() belong to the drain thread.
//
// Memory: the pool lies in the shared mapping, which survives the process, if that has room for it
// (ring/region_layout.hpp). Otherwise it is allocated separately. A buffer gets memory of its own if its place in the
// mapping has no storage when it is needed. The pool's pages are touched only as buffers come into use. The buffer that
// was given back last is taken first, so a quiet program touches few pages. A buffer is all zeros when it is taken, so
// that recovery can find what CUPTI wrote before a process died.
//
// Invariant: a byte of the pool is read or written only while its buffer is in use (place_state). Otherwise there may
// be no storage behind it, and even a read raises SIGBUS.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/region.hpp"

namespace prof {

class activity_buffers {
public:
    struct completed {
        std::uint8_t* data = nullptr;
        std::size_t valid_bytes = 0;
        std::uint64_t number = 0;  // of this use of the buffer
    };

    // `buffer_bytes` and `count` describe a pool outside the mapping. Throws prof::error if memory cannot be reserved.
    activity_buffers(region& where, std::size_t buffer_bytes, std::uint32_t count);
    ~activity_buffers();
    activity_buffers(const activity_buffers&) = delete;
    activity_buffers& operator=(const activity_buffers&) = delete;

    std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }

    // Returns a free buffer, 8-byte aligned, or null when all are in use.
    std::uint8_t* take() noexcept;
    // For versions of CUPTI that crash on a null buffer, when take() returned null. Reuses a completed buffer that has
    // not been read yet; its records are lost. If there is none, maps a buffer beyond the pool (one mmap), and returns
    // null if that fails. So the number of buffers beyond the pool never exceeds what CUPTI holds at a time.
    std::uint8_t* reclaim_unread() noexcept;
    // Enqueues a buffer that CUPTI has completed. Returns false, and touches nothing, unless this pool handed the
    // buffer out.
    bool complete(std::uint8_t* data, std::size_t valid_bytes) noexcept;

    // The number of the latest use of any buffer.
    std::uint64_t last_number() const noexcept { return last_number_.load(); }

    // Buffers taken before this call are not awaited: CUPTI has dropped them, or another client has them.
    void await_from_now() noexcept;
    // For a thread that flushes all of CUPTI's buffers, one thread at a time: note_filled() before each flush,
    // outlasts() after it. outlasts() returns true if a buffer with records was handed out before, and is still out
    // after two flushes. Then CUPTI has given it to another client. (After a single flush a launch under way may still
    // hold it.)
    void note_filled() noexcept;
    bool outlasts() noexcept;

    bool next_completed(completed& out) noexcept;  // in order of completion, but after reclaim_unread()
    // Makes a buffer free again. REQUIRES: its records are in the capture, or given up.
    void give_back(std::uint8_t* data) noexcept;

    // Frees the buffers that CUPTI took up to this use and has not returned. CUPTI was finalized since, and their
    // records are lost with it; they are of launches made just before. Such launches appear without a GPU record.
    void take_back(std::uint64_t last_number) noexcept;
    // Allocates storage for the buffers that take() will need next.
    void keep_ahead() noexcept;

private:
    using header = buffer_header;
    static constexpr std::size_t header_bytes = sizeof(buffer_header);

    enum class place_state : std::uint8_t {
        empty,    // no storage
        coming,   // a thread is allocating its storage
        waiting,  // has storage, and was never taken
        in_use,   // was taken at least once; the place stays with this buffer for good
    };
    struct place {
        std::atomic<place_state> state{place_state::empty};
        std::byte* memory = nullptr;  // its own memory; null: it lies in the pool. Constant once the place is in use
    };

    bool is_ours(const std::uint8_t* data) const noexcept;
    header* at(std::uint32_t index) const noexcept;
    static header* of(std::uint8_t* data) noexcept;
    static std::uint8_t* data_of(header* buffer) noexcept;
    static bool is_out(const header* buffer) noexcept;
    bool is_in_use(std::uint32_t index) const noexcept;
    bool is_out_with_records(std::uint32_t index) const noexcept;
    bool claim(place& claimed, place_state expected, place_state desired) const noexcept;
    bool give_memory(std::uint32_t index) noexcept;
    std::uint8_t* take_unused() noexcept;
    void put_in_queue(header* newest, header* oldest) noexcept;
    std::uint8_t* take_extra() noexcept;
    void forget_extra(const header* extra) noexcept;
    std::uint8_t* hand_out(header* buffer) noexcept;

    region& region_;
    std::size_t buffer_bytes_;
    std::size_t stride_;
    std::uint32_t count_;
    std::byte* memory_ = nullptr;
    bool is_own_memory_ = false;
    std::atomic<std::uint64_t> last_number_{0};
    std::vector<place> places_;             // by index
    std::atomic<std::uint32_t> in_use_{0};  // how many places are in use
    // Low half: index + 1 of the first free buffer. High half: a tag that grows with each change. Without the tag, a
    // buffer that is taken and given back between another thread's load and exchange would corrupt the list.
    std::atomic<std::uint64_t> free_{0};
    std::array<std::atomic<header*>, 256> extras_{};  // the buffers beyond the pool that exist
    std::atomic<header*> completed_{nullptr};         // newest first
    struct awaited {
        std::uint64_t number = 0;  // of the use in which the buffer was noted
        int times = 0;             // how many flushes it has outlasted
    };
    std::uint64_t awaited_after_ = 0;  // number of a use
    std::vector<awaited> awaited_;     // by index; buffers beyond the pool are not tracked
    header* ready_ = nullptr;          // owned by the drain thread: oldest first
};

}  // namespace prof
