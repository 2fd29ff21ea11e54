// The writing end of one thread: its ring, and the little that must be remembered between a push and its pop so that
// what is recorded stays paired.
//
// Touched by its own thread only. Cost of a write: one copy and one release store.
//
// Invariants
//  1. A recorded push has its pop, a recorded api_enter its api_exit: an opening record is written only with a place
//     for its closing, which nothing else is given.
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
        if (!out_.write(r)) [[unlikely]]
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
    template <typename TFill>
    void open_api(std::uint64_t key, api_domain domain, TFill&& fill) noexcept {
        if (open_api_.is_kept) [[unlikely]]
            out_.give_back(1);
        const bool is_kept = out_.take(2);
        open_api_ = {key, domain, is_kept};
        if (!is_kept) [[unlikely]]
            return drop(drop_cause::ring_full);
        fill(out_.next_slot());
        out_.publish();
    }
    template <typename TFill>
    void close_api(TFill&& fill) noexcept {
        const bool is_kept = open_api_.is_kept;
        open_api_ = {};
        if (!is_kept) [[unlikely]]
            return;
        fill(out_.next_slot());  // its place was kept
        out_.publish();
    }
    std::uint64_t open_api_key() const noexcept { return open_api_.key; }
    bool is_open_api(std::uint64_t key, api_domain domain) const noexcept {
        return open_api_.key == key && open_api_.domain == domain;
    }

    // The name of a text, by its address: a small cache in front of the name table, checked against the bytes, since
    // another text may stand there later (a buffer used again, a module unloaded).
    std::uint32_t name_of(const char* text) noexcept;

    // The name of a kernel's symbol, by its address alone: the driver's text stays as it is for as long as its module
    // is loaded. (Its hundreds of bytes would come from far: other kernels and the program itself have had the caches
    // meanwhile.) `generation` is another number after a module was unloaded; 0 if nobody tells of that, then the bytes
    // are compared.
    std::uint32_t symbol_of(const char* symbol, std::uint32_t generation) noexcept;

private:
    struct domain_state {
        static constexpr std::uint32_t none = UINT32_MAX;
        std::uint32_t depth = 0;
        std::uint32_t first_dropped = none;  // the level that found the ring full: it and those above are not recorded
    };
    struct api_call {
        std::uint64_t key = 0;  // of correlation; 0: none
        api_domain domain = api_domain::none;
        bool is_kept = false;  // recorded; its return has a place
    };
    struct known_text {
        const char* text = nullptr;
        std::uint32_t name = 0;  // 0: it found no place in the table
        std::uint32_t length : 31 = 0;
        std::uint32_t is_symbol : 1 = 0;  // of the generation below
    };
    known_text intern(const char* text) noexcept;
    std::array<known_text, 4>& set_of(const char* text) noexcept;
    std::uint32_t name_of_new(const char* symbol, std::uint32_t generation) noexcept;

    template <typename TFill>
    int open(domain_state& d, TFill&& fill) noexcept {
        const std::uint32_t level = d.depth++;
        if (level >= d.first_dropped) [[unlikely]] {
            drop(drop_cause::enclosing_range_dropped);
        } else if (!out_.take(2)) [[unlikely]] {
            d.first_dropped = level;
            drop(drop_cause::ring_full);
        } else {
            fill(out_.next_slot());
            out_.publish();
        }
        return static_cast<int>(level);
    }

    template <typename TFill>
    int close(domain_state& d, TFill&& fill) noexcept {
        const std::uint32_t level = d.depth - 1;  // that of a pop too many is above all others
        if (level >= d.first_dropped) [[unlikely]]
            return close_dropped(d);
        d.depth = level;
        fill(out_.next_slot());  // its place was kept
        out_.publish();
        return static_cast<int>(level);
    }

    int close_dropped(domain_state& d) noexcept;
    void drop(drop_cause cause) noexcept;
    bool write_window(std::uint32_t epoch) noexcept;

    ring_producer<record> out_;
    api_call open_api_;
    region* region_ = nullptr;
    name_table names_;  // the region's: one load less
    ring_header* ring_ = nullptr;
    std::uint32_t epoch_ = 0;
    std::uint32_t symbols_ = 0;  // their generation
    std::array<domain_state, domain_limit> domains_{};
    domain_state adoptions_;
    alignas(64) std::array<std::array<known_text, 4>, 64> known_{};  // a set is a cache line, the latest first
};

}  // namespace prof
