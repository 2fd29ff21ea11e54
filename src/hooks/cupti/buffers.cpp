// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/error.hpp"

namespace prof {
namespace {

void* reserve(std::size_t bytes) noexcept {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

constexpr std::uint64_t tag_step = 1ULL << 32;
constexpr std::uint64_t tag_of(std::uint64_t word) noexcept { return word & ~(tag_step - 1); }

}  // namespace

activity_buffers::activity_buffers(region& where, std::size_t buffer_bytes, std::uint32_t count)
    : region_(where),
      buffer_bytes_(buffer_bytes),
      stride_((buffer_bytes + header_bytes + 4095) / 4096 * 4096),
      count_(count),
      awaited_(std::max(count, where.buffers().count)) {
    if (const buffer_area shared = where.buffers(); shared.count != 0 && where.allocate_buffer(0)) {
        memory_ = shared.memory;
        buffer_bytes_ = shared.bytes;
        stride_ = shared.stride;
        count_ = shared.count;
        places_ = std::vector<place>(count_);
        // relaxed: no other thread has the pool yet.
        places_.front().state.store(place_state::waiting, std::memory_order_relaxed);
        return;
    }
    is_own_memory_ = true;
    memory_ = static_cast<std::byte*>(reserve(stride_ * count));
    if (memory_ == nullptr) {
        throw error("cannot reserve " + std::to_string(stride_ * count) + " bytes for CUPTI's buffers");
    }
    places_ = std::vector<place>(count_);
    for (place& buffer_place : places_) buffer_place.state.store(place_state::waiting, std::memory_order_relaxed);
}

activity_buffers::~activity_buffers() {
    if (is_own_memory_) munmap(memory_, stride_ * count_);
    for (const place& buffer_place : places_) {
        if (buffer_place.memory != nullptr) munmap(buffer_place.memory, stride_);
    }
}

// Changes a place's state. Returns true for one thread only.
bool activity_buffers::claim(place& claimed, place_state expected, place_state desired) const noexcept {
    // acquire: storage that another thread has allocated is visible.
    return claimed.state.compare_exchange_strong(expected, desired, std::memory_order_acquire,
                                                 std::memory_order_relaxed);
}

// Allocates storage for the next place that take() will use, if it has none.
void activity_buffers::keep_ahead() noexcept {
    for (std::uint32_t index = 0; index < count_; ++index) {
        place& next = places_[index];
        // relaxed: a hint; a state that changes a moment later makes the result no worse.
        const place_state state = next.state.load(std::memory_order_relaxed);
        if (state == place_state::in_use) continue;
        if (state != place_state::empty || !claim(next, place_state::empty, place_state::coming)) return;
        const bool stored = region_.allocate_buffer(index);
        // release: pairs with claim()'s acquire.
        next.state.store(stored ? place_state::waiting : place_state::empty, std::memory_order_release);
        return;
    }
}

// The number is stored before the state: a reader that sees the state `taken` sees the number of this use.
std::uint8_t* activity_buffers::hand_out(header* buffer) noexcept {
    // relaxed: a plain counter; ordered by the release below.
    buffer->number.store(last_number_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    buffer->state.store(static_cast<std::uint32_t>(buffer_state::taken), std::memory_order_release);
    return data_of(buffer);
}

activity_buffers::header* activity_buffers::at(std::uint32_t index) const noexcept {
    std::byte* const own = places_[index].memory;
    return std::launder(reinterpret_cast<header*>(own != nullptr ? own : memory_ + stride_ * index));
}

std::uint8_t* activity_buffers::data_of(header* buffer) noexcept {
    return reinterpret_cast<std::uint8_t*>(buffer) + header_bytes;
}

// acquire: the buffer's address and header are visible. For a buffer that is being taken meanwhile either answer is
// fine.
bool activity_buffers::is_in_use(std::uint32_t index) const noexcept {
    return places_[index].state.load(std::memory_order_acquire) == place_state::in_use;
}

// acquire: all that was written before the buffer was handed out is visible.
bool activity_buffers::is_out(const header* buffer) noexcept {
    return buffer->state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(buffer_state::taken);
}

activity_buffers::header* activity_buffers::of(std::uint8_t* data) noexcept {
    return std::launder(reinterpret_cast<header*>(data - header_bytes));
}

std::uint8_t* activity_buffers::take() noexcept {
    // acquire: the last owner has finished with the buffer.
    std::uint64_t top = free_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(top) != 0) {
        const std::uint32_t index = static_cast<std::uint32_t>(top) - 1;
        // relaxed: if another thread takes this buffer meanwhile, the value is stale, and the tag makes the exchange
        // fail.
        const std::uint32_t below = at(index)->next_free.load(std::memory_order_relaxed);
        const std::uint64_t next = (tag_of(top) + tag_step) | below;
        if (free_.compare_exchange_weak(top, next, std::memory_order_acquire, std::memory_order_acquire)) {
            return hand_out(at(index));
        }
    }
    return take_unused();
}

// Allocates memory for a place that has no storage. What CUPTI writes there is lost if the process is killed.
bool activity_buffers::give_memory(std::uint32_t index) noexcept {
    places_[index].memory = static_cast<std::byte*>(reserve(stride_));
    return places_[index].memory != nullptr;
}

// Takes a buffer that was never used. Without storage and memory no place is used up, so a later call tries again.
std::uint8_t* activity_buffers::take_unused() noexcept {
    // relaxed: only saves the search once all places are in use.
    if (in_use_.load(std::memory_order_relaxed) == count_) return nullptr;
    for (std::uint32_t index = 0; index < count_; ++index) {
        place& next = places_[index];
        if (!claim(next, place_state::waiting, place_state::coming)) {
            if (!claim(next, place_state::empty, place_state::coming)) continue;
            // A burst has overtaken the drain thread. A write to a place without storage would raise SIGBUS.
            if (!region_.allocate_buffer(index) && !give_memory(index)) {
                next.state.store(place_state::empty, std::memory_order_release);
                return nullptr;
            }
        }
        // Zeroed storage is a valid header, so nothing is constructed there.
        at(index)->index = index;
        std::uint8_t* const data = hand_out(at(index));
        // release: a thread that sees the place in use sees the header and its address.
        next.state.store(place_state::in_use, std::memory_order_release);
        in_use_.fetch_add(1, std::memory_order_relaxed);
        return data;
    }
    return nullptr;
}

std::uint8_t* activity_buffers::take_extra() noexcept {
    void* memory = reserve(stride_);
    if (memory == nullptr) return nullptr;
    auto* fresh = ::new (memory) header;
    fresh->index = extra_buffer;
    for (std::atomic<header*>& known : extras_) {
        header* none = nullptr;
        if (known.compare_exchange_strong(none, fresh)) return hand_out(fresh);
    }
    munmap(memory, stride_);
    return nullptr;
}

void activity_buffers::forget_extra(const header* extra) noexcept {
    for (std::atomic<header*>& known : extras_) {
        if (known.load() == extra) known.store(nullptr);
    }
}

bool activity_buffers::is_ours(const std::uint8_t* data) const noexcept {
    for (std::uint32_t index = 0; index < count_; ++index) {
        if (is_in_use(index) && data_of(at(index)) == data) return true;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    return std::any_of(extras_.begin(), extras_.end(), [&](const std::atomic<header*>& known) {
        return known.load() != nullptr && reinterpret_cast<std::uintptr_t>(known.load()) + header_bytes == address;
    });
}

std::uint8_t* activity_buffers::reclaim_unread() noexcept {
    // acquire: pairs with put_in_queue()'s release. The exchange takes the whole queue, so there is no ABA; all but the
    // newest are put back. Another thread that calls this meanwhile finds the queue empty, and takes a buffer beyond
    // the pool.
    header* const newest = completed_.exchange(nullptr, std::memory_order_acquire);
    if (newest == nullptr) return take_extra();
    if (header* const rest = newest->next; rest != nullptr) {
        header* oldest = rest;
        while (oldest->next != nullptr) oldest = oldest->next;
        put_in_queue(rest, oldest);
    }
    newest->state.store(static_cast<std::uint32_t>(buffer_state::free), std::memory_order_relaxed);
    std::memset(reinterpret_cast<std::byte*>(newest) + header_bytes, 0, std::min(newest->valid_bytes, buffer_bytes_));
    return hand_out(newest);
}

// Every record begins with its kind, which is not 0, and a buffer is handed out zeroed. CUPTI may be writing to it:
// either answer is fine then, so the thread sanitizer is switched off here.
[[gnu::no_sanitize_thread]] bool activity_buffers::is_out_with_records(std::uint32_t index) const noexcept {
    const header* const buffer = at(index);
    if (!is_out(buffer)) return false;
    return *reinterpret_cast<const volatile std::uint32_t*>(reinterpret_cast<const std::byte*>(buffer) +
                                                            header_bytes) != 0;
}

void activity_buffers::await_from_now() noexcept {
    // relaxed: no buffer that is taken meanwhile needs to be awaited.
    awaited_after_ = last_number_.load(std::memory_order_relaxed);
    std::fill(awaited_.begin(), awaited_.end(), awaited{});
}

void activity_buffers::note_filled() noexcept {
    // relaxed: a buffer that is taken meanwhile is noted the next time.
    for (std::uint32_t index = 0; index < count_; ++index) {
        if (!is_in_use(index) || !is_out_with_records(index)) continue;
        const std::uint64_t number = at(index)->number.load(std::memory_order_relaxed);
        if (number > awaited_after_ && awaited_[index].number != number) awaited_[index] = {number, 0};
    }
}

bool activity_buffers::outlasts() noexcept {
    bool any = false;
    for (std::uint32_t index = 0; index < count_; ++index) {
        if (!is_in_use(index)) continue;
        awaited& noted = awaited_[index];
        const bool is_still_out =
            is_out_with_records(index) && at(index)->number.load(std::memory_order_relaxed) == noted.number;
        if (is_still_out && ++noted.times == 2) any = true;
    }
    return any;
}

bool activity_buffers::complete(std::uint8_t* data, std::size_t valid_bytes) noexcept {
    if (!is_ours(data)) return false;
    header* done = of(data);
    done->valid_bytes = valid_bytes;
    // release: the length is stored before the state.
    done->state.store(static_cast<std::uint32_t>(buffer_state::completed), std::memory_order_release);
    put_in_queue(done, done);
    return true;
}

// Enqueues a list, newest first.
void activity_buffers::put_in_queue(header* newest, header* oldest) noexcept {
    // relaxed: the exchange decides. release: the drain thread sees the buffers' contents.
    header* before = completed_.load(std::memory_order_relaxed);
    do {
        oldest->next = before;
    } while (!completed_.compare_exchange_weak(before, newest, std::memory_order_release, std::memory_order_relaxed));
}

bool activity_buffers::next_completed(completed& out) noexcept {
    if (ready_ == nullptr) {
        // acquire: pairs with put_in_queue()'s release. The exchange takes the whole list at once, so there is no ABA.
        header* newest = completed_.exchange(nullptr, std::memory_order_acquire);
        while (newest != nullptr) {
            header* older = newest->next;
            newest->next = ready_;
            ready_ = newest;
            newest = older;
        }
    }
    if (ready_ == nullptr) return false;
    header* first = ready_;
    ready_ = first->next;
    // relaxed: written before the buffer was completed.
    out = {data_of(first), first->valid_bytes, first->number.load(std::memory_order_relaxed)};
    return true;
}

void activity_buffers::take_back(std::uint64_t last_number) noexcept {
    for (std::uint32_t index = 0; index < count_; ++index) {
        if (!is_in_use(index)) continue;
        header* const buffer = at(index);
        // relaxed: as in note_filled().
        if (!is_out(buffer) || buffer->number.load(std::memory_order_relaxed) > last_number) continue;
        buffer->valid_bytes = buffer_bytes_;
        give_back(data_of(buffer));
    }
}

void activity_buffers::give_back(std::uint8_t* data) noexcept {
    header* buffer = of(data);
    if (buffer->index == extra_buffer) {
        forget_extra(buffer);
        munmap(buffer, stride_);
        return;
    }
    // The state becomes free first: recovery must not read a buffer that is being wiped. release: keeps this order.
    buffer->state.store(static_cast<std::uint32_t>(buffer_state::free), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    std::memset(data, 0, std::min(buffer->valid_bytes, buffer_bytes_));
    // relaxed: the exchange decides. release: this thread has finished with the contents.
    std::uint64_t top = free_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        buffer->next_free.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
        next = (tag_of(top) + tag_step) | (buffer->index + 1);
    } while (!free_.compare_exchange_weak(top, next, std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace prof
