// CUPTI's activity buffers: a bounded pool, and the queue of completed ones.
//
// take() runs on the application's threads (CUPTI asks in the middle of a launch), complete() on those or on CUPTI's
// own thread: neither locks or allocates. next_completed(), give_back() and keep_ahead() belong to the drain thread.
//
// The pool lies in the mapping that survives the process where that has room for it (ring/region_layout.hpp), else in
// memory of its own. A buffer for whose place there is no storage when it is wanted gets memory of its own, too. The
// pool is touched only as buffers come into use; a buffer that was given back last is taken first, so a quiet program
// touches few. What is taken is all zeros, so that of a process that died one sees what CUPTI has written.
//
// Invariant: a byte of the pool is read or written only if its buffer is in use (place_state): else there may be no
// storage for it, and to read it, too, is a SIGBUS.
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

    // `buffer_bytes` and `count` are those of a pool outside the mapping. Throws prof::error if memory cannot be
    // reserved.
    activity_buffers(region& where, std::size_t buffer_bytes, std::uint32_t count);
    ~activity_buffers();
    activity_buffers(const activity_buffers&) = delete;
    activity_buffers& operator=(const activity_buffers&) = delete;

    std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }

    // A free buffer, or null when all are in use. 8-byte aligned.
    std::uint8_t* take() noexcept;
    // When take() has none, for versions of CUPTI that do not survive a null buffer: a completed one that has not been
    // read yet, whose records are lost; else one beyond the pool (one mmap), which may be null too. So there are never
    // more beyond the pool than CUPTI holds at a time.
    std::uint8_t* reclaim_unread() noexcept;
    // False, and nothing is touched, if it is no buffer of ours that is out.
    bool complete(std::uint8_t* data, std::size_t valid_bytes) noexcept;

    // That of the latest use of any buffer.
    std::uint64_t last_number() const noexcept { return last_number_.load(); }

    // What was taken before this is not waited for: CUPTI has dropped it, or another client has it.
    void await_from_now() noexcept;
    // For whoever asks CUPTI for all of its buffers, by one thread at a time: note_filled() before each time,
    // outlasts() after it. True if a buffer with records in it was out before, and still is after two such times: CUPTI
    // has given it to somebody else. (After one it may be out because a launch was under way.)
    void note_filled() noexcept;
    bool outlasts() noexcept;

    bool next_completed(completed& out) noexcept;  // in order of completion, but after reclaim_unread()
    // REQUIRES: what was read of it is in the capture, or given up.
    void give_back(std::uint8_t* data) noexcept;

    // Gives back those that CUPTI took up to this use and has still: it is gone since, and with it what was in them,
    // from launches that came when it was about to go. Those that were recorded show as launches without a GPU record.
    void take_back(std::uint64_t last_number) noexcept;
    // Puts storage behind the buffers that come next, so that take() need not.
    void keep_ahead() noexcept;

private:
    using header = buffer_header;
    static constexpr std::size_t header_bytes = sizeof(buffer_header);

    enum class place_state : std::uint8_t {
        empty,    // no storage
        coming,   // a thread is about to have some
        waiting,  // storage, and nobody has taken it yet
        in_use,   // taken once; from then on it is this buffer's for good
    };
    struct place {
        std::atomic<place_state> state{place_state::empty};
        std::byte* memory = nullptr;  // its own; null: in the pool. Does not change once it is in use
    };

    bool is_ours(const std::uint8_t* data) const noexcept;
    header* at(std::uint32_t index) const noexcept;
    static header* of(std::uint8_t* data) noexcept;
    static std::uint8_t* data_of(header* buffer) noexcept;
    static bool is_out(const header* buffer) noexcept;
    bool is_in_use(std::uint32_t index) const noexcept;
    bool is_out_with_records(std::uint32_t index) const noexcept;
    bool claim(place& what, place_state from, place_state to) const noexcept;
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
    std::atomic<std::uint32_t> in_use_{0};  // so many of them
    // index + 1 in the low half, a tag that grows with each change above it: without it a buffer taken and given back
    // between another thread's load and exchange would corrupt the list.
    std::atomic<std::uint64_t> free_{0};
    std::array<std::atomic<header*>, 256> extras_{};  // those beyond the pool that there are
    std::atomic<header*> completed_{nullptr};         // newest first
    struct awaited {
        std::uint64_t number = 0;  // of the buffer's use in which it was noted
        int times = 0;             // that it was not among all of CUPTI's buffers
    };
    std::uint64_t awaited_after_ = 0;  // the use's number
    std::vector<awaited> awaited_;     // by index; those beyond the pool are left out
    header* ready_ = nullptr;          // the drain thread's: oldest first
};

}  // namespace prof
