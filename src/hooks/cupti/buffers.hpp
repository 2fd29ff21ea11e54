// CUPTI's activity buffers: a bounded pool, and the queue of completed ones.
//
// take() runs on the application's threads (CUPTI asks in the middle of a launch), complete() on those or on CUPTI's
// own thread: neither locks or allocates. next_completed() and give_back() belong to the drain thread.
//
// The pool's memory is reserved once and touched only as buffers come into use; a buffer that was given back last is
// taken first, so a quiet program touches few. A small header in front of each buffer links it into one of the lists.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace prof {

class activity_buffers {
public:
    struct completed {
        std::uint8_t* data = nullptr;
        std::size_t valid_bytes = 0;
    };

    // Throws prof::error if the memory cannot be reserved.
    activity_buffers(std::size_t buffer_bytes, std::uint32_t count);
    ~activity_buffers();
    activity_buffers(const activity_buffers&) = delete;
    activity_buffers& operator=(const activity_buffers&) = delete;

    std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }

    // A free buffer, or null when all are in use. 8-byte aligned.
    std::uint8_t* take() noexcept;
    // When take() has none, for versions of CUPTI that do not survive a null buffer: a completed one that has not been
    // read yet, whose records are lost; else one beyond the pool (one mmap), which may be null too. So there are never
    // more beyond the pool than CUPTI holds at a time.
    std::uint8_t* take_by_force() noexcept;
    void complete(std::uint8_t* data, std::size_t valid_bytes) noexcept;

    bool next_completed(completed& out) noexcept;  // in order of completion, but after take_by_force()
    void give_back(std::uint8_t* data) noexcept;

private:
    struct header {
        header* next = nullptr;  // in the completed list
        std::size_t valid_bytes = 0;
        std::uint32_t index = 0;                  // in the pool; extra_index for one beyond it
        std::atomic<std::uint32_t> next_free{0};  // index + 1; 0 ends the free list
    };
    static constexpr std::size_t header_bytes = 64;
    static constexpr std::uint32_t extra_index = UINT32_MAX;
    static_assert(sizeof(header) <= header_bytes);

    header* at(std::uint32_t index) const noexcept;
    static header* of(std::uint8_t* data) noexcept;
    void put_in_queue(header* newest, header* oldest) noexcept;
    std::uint8_t* take_extra() noexcept;

    std::size_t buffer_bytes_;
    std::size_t stride_;
    std::uint32_t count_;
    std::byte* memory_ = nullptr;
    std::atomic<std::uint32_t> untouched_{0};  // buffers that were never taken begin here
    // index + 1 in the low half, a tag that grows with each change above it: without it a buffer taken and given back
    // between another thread's load and exchange would corrupt the list.
    std::atomic<std::uint64_t> free_{0};
    std::atomic<header*> completed_{nullptr};  // newest first
    header* ready_ = nullptr;                  // the drain thread's: oldest first
};

}  // namespace prof
