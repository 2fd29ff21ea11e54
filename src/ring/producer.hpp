// The writing end of one thread: its ring, and the little that must be remembered between a push and its pop so that
// what is recorded stays paired.
//
// Touched by its own thread only. Cost of a write: one copy and one release store.
//
// Invariants
//  1. A recorded push has its pop, a recorded api_enter its api_exit: an opening record is written only if, besides
//     it, the closings of everything open would still fit (`reserved_`).
//  2. If a push is dropped, so is everything in its domain until its pop: pairs are dropped whole, and counted.
#pragma once

#include <array>
#include <cstdint>

#include "record/drop.hpp"
#include "record/record.hpp"
#include "ring/region.hpp"
#include "ring/spsc_ring.hpp"

namespace prof {

class producer {
    struct copy_of {
        const record& from;
        void operator()(record& slot) const noexcept { slot = from; }
    };

public:
    void attach(region& where, ring_header& ring, std::uint32_t epoch) noexcept;
    // As attach(), for a ring of which this is the first record: one that is heard only says so.
    void attach_anew(region& where, ring_header& ring, std::uint32_t epoch) noexcept;
    // Begins a later epoch in the same ring, with a record that says so. False if there is no room for it: then nothing
    // has changed.
    bool begin_epoch(region& where, std::uint32_t epoch) noexcept;
    std::uint32_t epoch() const noexcept { return epoch_; }
    ring_header* ring() const noexcept { return ring_; }
    region& where() const noexcept { return *region_; }  // REQUIRES: attached

    void write(const record& r) noexcept {
        if (!out_.write(r, reserved_)) [[unlikely]]
            drop(drop_cause::ring_full);
    }

    // Push and pop return the 0-based level of the range, as NVTX wants it. `fill` writes the record to its place in
    // the ring, and is not called for one that is dropped. (A record that is put together elsewhere field by field and
    // then copied as a whole costs some 10 ns more: the processor cannot hand the small stores on to the wide loads.)
    template <typename TFill>
    int push(std::uint32_t domain, TFill&& fill) noexcept {
        return open(domains_[domain], fill);
    }
    template <typename TFill>
    int pop(std::uint32_t domain, TFill&& fill) noexcept {
        return close(domains_[domain], fill);
    }
    int push(const record& r) noexcept { return push(r.domain, copy_of{r}); }
    int pop(const record& r) noexcept { return pop(r.domain, copy_of{r}); }

    // The same for adopt_push and adopt_pop, whose pairs are no domain's.
    int adopt_push(const record& r) noexcept { return open(adoptions_, copy_of{r}); }
    int adopt_pop(const record& r) noexcept { return close(adoptions_, copy_of{r}); }

    // At most one API call is open at a time: the outermost. One that never returned (a longjmp) gives way to the next.
    // One that is dropped is open all the same, so that the driver's call inside it is not taken for it.
    void open_api(const record& r) noexcept {
        if (open_api_.is_kept) [[unlikely]]
            --reserved_;
        const bool is_kept = out_.write(r, reserved_ + 1);
        if (is_kept) [[likely]] {
            ++reserved_;
        } else {
            drop(drop_cause::ring_full);
        }
        open_api_ = {r.value, r.domain, is_kept};
    }
    void close_api(const record& r) noexcept {
        const bool is_kept = open_api_.is_kept;
        open_api_ = {};
        if (!is_kept) [[unlikely]]
            return;
        --reserved_;
        (void)out_.write(r);  // its place was kept
    }
    std::uint64_t open_api_key() const noexcept { return open_api_.value; }
    bool is_open_api(const record& r) const noexcept {
        return open_api_.value == r.value && open_api_.domain == r.domain;
    }

    // The name of a text, by its address: a small cache in front of the name table, checked against the bytes, since
    // another text may stand there later (a buffer used again, a module unloaded).
    std::uint32_t name_of(const char* text) noexcept;

private:
    struct domain_state {
        std::uint32_t depth = 0;
        std::uint32_t suppressed = 0;  // pushes not recorded, counted from the first that found the ring full
    };
    struct api_call {
        std::uint64_t value = 0;  // correlation key; 0: none
        std::uint16_t domain = 0;
        bool is_kept = false;  // recorded; its return has a place
    };
    struct known_text {
        const char* text = nullptr;
        std::uint32_t name = 0;
    };

    template <typename TFill>
    int open(domain_state& d, TFill&& fill) noexcept {
        const auto level = static_cast<int>(d.depth++);
        if (d.suppressed != 0) [[unlikely]] {
            ++d.suppressed;
            drop(drop_cause::enclosing_range_dropped);
        } else if (record* slot = out_.next_slot(reserved_ + 1); slot == nullptr) [[unlikely]] {
            d.suppressed = 1;
            drop(drop_cause::ring_full);
        } else {
            ++reserved_;
            fill(*slot);
            out_.publish();
        }
        return level;
    }

    template <typename TFill>
    int close(domain_state& d, TFill&& fill) noexcept {
        if (d.depth == 0) [[unlikely]] {
            // While it is only heard, nobody misses the range.
            if (!is_heard_only(epoch_)) drop(drop_cause::pop_without_push);
            return -1;
        }
        --d.depth;
        if (d.suppressed != 0) [[unlikely]] {
            --d.suppressed;
        } else if (record* slot = out_.next_slot()) [[likely]] {  // its place was kept
            --reserved_;
            fill(*slot);
            out_.publish();
        }
        return static_cast<int>(d.depth);
    }

    void drop(drop_cause cause) noexcept;
    bool write_window(std::uint32_t epoch) noexcept;

    ring_producer<record> out_;
    std::size_t reserved_ = 0;
    api_call open_api_;
    region* region_ = nullptr;
    ring_header* ring_ = nullptr;
    std::uint32_t epoch_ = 0;
    std::array<domain_state, domain_limit> domains_{};
    domain_state adoptions_;
    alignas(64) std::array<std::array<known_text, 4>, 64> known_{};  // a set is a cache line, the latest first
};

}  // namespace prof
