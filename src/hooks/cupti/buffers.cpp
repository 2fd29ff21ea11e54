#include "hooks/cupti/buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "record/error.hpp"

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
        // relaxed: nobody else has the pool yet.
        stored_.store(1, std::memory_order_relaxed);
        keep_ahead();
        return;
    }
    is_own_memory_ = true;
    // relaxed: as above.
    stored_.store(count, std::memory_order_relaxed);
    memory_ = static_cast<std::byte*>(reserve(stride_ * count));
    if (memory_ == nullptr) {
        throw error("cannot reserve " + std::to_string(stride_ * count) + " bytes for CUPTI's buffers");
    }
}

activity_buffers::~activity_buffers() {
    if (is_own_memory_) munmap(memory_, stride_ * count_);
}

void activity_buffers::keep_ahead() noexcept {
    // relaxed: take() looks again; storage that comes twice is no harm.
    const std::uint32_t stored = stored_.load(std::memory_order_relaxed);
    if (stored == count_ || untouched_.load(std::memory_order_relaxed) < stored) return;
    if (region_.allocate_buffer(stored)) stored_.store(stored + 1, std::memory_order_relaxed);
}

// The number comes before the state: who finds it taken knows which use it is.
std::uint8_t* activity_buffers::hand_out(header* buffer) noexcept {
    // relaxed: a plain counter; ordered by the release below.
    buffer->number.store(last_number_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    buffer->state.store(static_cast<std::uint32_t>(buffer_state::taken), std::memory_order_release);
    return data_of(buffer);
}

activity_buffers::header* activity_buffers::at(std::uint32_t index) const noexcept {
    return std::launder(reinterpret_cast<header*>(memory_ + stride_ * index));
}

std::uint8_t* activity_buffers::data_of(header* buffer) noexcept {
    return reinterpret_cast<std::uint8_t*>(buffer) + header_bytes;
}

// relaxed: who counts on one that is taken meanwhile looks again.
std::uint32_t activity_buffers::touched() const noexcept {
    return std::min(untouched_.load(std::memory_order_relaxed), count_);
}

// acquire: what was handed out is known whole.
bool activity_buffers::is_out(const header* buffer) noexcept {
    return buffer->state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(buffer_state::taken);
}

activity_buffers::header* activity_buffers::of(std::uint8_t* data) noexcept {
    return std::launder(reinterpret_cast<header*>(data - header_bytes));
}

std::uint8_t* activity_buffers::take() noexcept {
    // acquire: the last owner is done with what it hands over.
    std::uint64_t top = free_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(top) != 0) {
        const std::uint32_t index = static_cast<std::uint32_t>(top) - 1;
        // relaxed: if another thread took this buffer meanwhile the value is stale, and the tag makes the exchange
        // fail.
        const std::uint32_t below = at(index)->next_free.load(std::memory_order_relaxed);
        const std::uint64_t next = (tag_of(top) + tag_step) | below;
        if (free_.compare_exchange_weak(top, next, std::memory_order_acquire, std::memory_order_acquire)) {
            return hand_out(at(index));
        }
    }
    // relaxed: hands out disjoint buffers that nobody had before. The first look keeps the counter from wrapping.
    if (untouched_.load(std::memory_order_relaxed) >= count_) return nullptr;
    const std::uint32_t index = untouched_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return nullptr;
    // A burst has overtaken the drain thread. Writing where there is no storage would be a SIGBUS.
    if (index >= stored_.load(std::memory_order_relaxed) && !region_.allocate_buffer(index)) return nullptr;
    // Storage that is all zeros is a header: nothing is constructed there while others look whether it is out.
    at(index)->index = index;
    return hand_out(at(index));
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
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_) + header_bytes;
    if (address >= begin && address < begin + stride_ * count_) return (address - begin) % stride_ == 0;
    return std::any_of(extras_.begin(), extras_.end(), [&](const std::atomic<header*>& known) {
        return known.load() != nullptr && reinterpret_cast<std::uintptr_t>(known.load()) + header_bytes == address;
    });
}

std::uint8_t* activity_buffers::take_by_force() noexcept {
    // acquire: pairs with put_in_queue()'s release. The whole queue is taken, so there is no ABA; what is not kept goes
    // back. Another thread that looks meanwhile finds it empty, and takes one beyond the pool.
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

// A record begins with its kind, which is not 0, and what is handed out is all zeros. CUPTI may be writing there: then
// either answer will do, but the thread sanitizer is not to ask.
[[gnu::no_sanitize_thread]] bool activity_buffers::is_out_with_records(std::uint32_t index) const noexcept {
    const header* const buffer = at(index);
    if (!is_out(buffer)) return false;
    return *reinterpret_cast<const volatile std::uint32_t*>(reinterpret_cast<const std::byte*>(buffer) +
                                                            header_bytes) != 0;
}

void activity_buffers::await_from_now() noexcept {
    // relaxed: nothing is taken meanwhile that could be waited for.
    awaited_after_ = last_number_.load(std::memory_order_relaxed);
    std::fill(awaited_.begin(), awaited_.end(), awaited{});
}

void activity_buffers::note_filled() noexcept {
    // relaxed: a buffer that is taken meanwhile is noted the next time.
    for (std::uint32_t index = 0, end = touched(); index < end; ++index) {
        if (!is_out_with_records(index)) continue;
        const std::uint64_t number = at(index)->number.load(std::memory_order_relaxed);
        if (number > awaited_after_ && awaited_[index].number != number) awaited_[index] = {number, 0};
    }
}

bool activity_buffers::outlasts() noexcept {
    bool any = false;
    for (std::uint32_t index = 0, end = touched(); index < end; ++index) {
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
    // release: the length comes before the state.
    done->state.store(static_cast<std::uint32_t>(buffer_state::completed), std::memory_order_release);
    put_in_queue(done, done);
    return true;
}

// A list, newest first.
void activity_buffers::put_in_queue(header* newest, header* oldest) noexcept {
    // relaxed: the exchange decides. release: the buffers' contents are seen by the drain thread.
    header* before = completed_.load(std::memory_order_relaxed);
    do {
        oldest->next = before;
    } while (!completed_.compare_exchange_weak(before, newest, std::memory_order_release, std::memory_order_relaxed));
}

bool activity_buffers::next_completed(completed& out) noexcept {
    if (ready_ == nullptr) {
        // acquire: pairs with put_in_queue()'s release. The whole list is taken at once, so there is no ABA here.
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
    // relaxed: written before it was completed.
    out = {data_of(first), first->valid_bytes, first->number.load(std::memory_order_relaxed)};
    return true;
}

void activity_buffers::take_back(std::uint64_t last_number) noexcept {
    for (std::uint32_t index = 0, end = touched(); index < end; ++index) {
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
    // Free first: what is being wiped is nothing to recover. release: keeps the order.
    buffer->state.store(static_cast<std::uint32_t>(buffer_state::free), std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    std::memset(data, 0, std::min(buffer->valid_bytes, buffer_bytes_));
    // relaxed: the exchange decides. release: we are done with the contents.
    std::uint64_t top = free_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        buffer->next_free.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
        next = (tag_of(top) + tag_step) | (buffer->index + 1);
    } while (!free_.compare_exchange_weak(top, next, std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace prof
