// SPDX-License-Identifier: Apache-2.0
// Which line a thread is at while it runs other code for long between two CUDA calls, and whether it runs at all. The
// drain thread looks, at its own pace, and leaves what it saw in the thread's box; the thread records it with its next
// call.
//
// A thread that runs moves its frames, so they are read through the kernel, which reports an address that is none, and
// each is checked before it counts. What is read while it changes may be a line that was run a moment before or after.
//
// Hooks: offer() and take(), which make no call of the kernel. The drain thread: sample_stretches(), some 50 us for
// each thread that is in such a stretch.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "hooks/lines/thread_account.hpp"

namespace prof {

struct found_python;

struct sampled_line {
    static constexpr std::size_t most_text = 400;

    std::array<char, most_text> text{};  // "function\nfile"
    std::uint16_t size = 0;
    std::uint16_t index = 0;
    std::uint32_t line = 0;
    bool is_library = false;

    std::string_view name() const noexcept { return {text.data(), size}; }
};

struct stretch_sample {
    static constexpr std::size_t most_lines = 8;

    std::uint64_t ticks = 0;
    std::uint32_t depth = 0;
    std::uint32_t count = 0;
    std::array<sampled_line, most_lines> lines{};
    stretch_account account{};
};

// One thread's, whose address is that of its word `latest_call`, in which it has the time of its latest CUDA call.
class sample_box {
public:
    // For the thread itself: where its frames are found; null: it has none. Any number of times.
    void offer(const void* python_thread) noexcept {
        // relaxed: the drain thread checks what is there.
        python_thread_.store(python_thread, std::memory_order_relaxed);
    }
    // For the thread itself: whether there is a sample later than `since`. It is the caller's until release().
    const stretch_sample* take(std::uint64_t since) noexcept;
    void release() noexcept { phase_.store(phase::empty, std::memory_order_release); }

private:
    enum class phase : std::uint8_t { empty, being_written, full, being_read };
    friend class stretch_sampler;
    friend sample_box* sample_box_of(const std::uint64_t& latest_call) noexcept;

    std::atomic<const std::uint64_t*> latest_call_{nullptr};
    std::atomic<std::uint64_t> thread_{0};  // as pthread_self()
    std::atomic<std::uint64_t> number_{0};  // number_of_this_thread()
    std::atomic<pid_t> tid_{0};
    std::atomic<const void*> python_thread_{nullptr};
    std::atomic<phase> phase_{phase::empty};
    stretch_sample sample_{};
    thread_accountant accountant_{};  // the drain thread's
};

// The box of the calling thread; null if all are in use.
sample_box* sample_box_of(const std::uint64_t& latest_call) noexcept;

// Samples every thread that is in a stretch longer than the bound. For the drain thread.
void sample_stretches() noexcept;

// Before the first sample_stretches() that is to find anything: whose frames they are.
void set_sampled_python(const found_python& found, bool (*is_of_library)(std::string_view file) noexcept) noexcept;

}  // namespace prof
