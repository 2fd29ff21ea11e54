// The writing end of one thread: its ring, and the little that must be remembered between a push and its pop so that
// what is recorded stays paired.
//
// Touched by its own thread only. Cost of a write: one copy and one release store. In a training step
// microseconds of other work lie between two writes, so what one needs comes from far: the first cache line has nearly
// all of it.
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
#include "ring/known_texts.hpp"
#include "ring/region.hpp"
#include "ring/spsc_ring.hpp"

namespace prof {

class alignas(64) producer {
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
    // The same where the clock is one that needs no call (has_tick_counter()), else 0: one look for both.
    std::uint32_t direct_epoch() const noexcept { return direct_epoch_; }
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
    int push(std::size_t domain, TFill&& fill) noexcept {
        return open(domain, fill);
    }
    template <typename TFill>
    int pop(std::size_t domain, TFill&& fill) noexcept {
        return close(domain, fill);
    }
    int push(const record& r) noexcept { return open(r.domain, copy_of{r}); }
    int pop(const record& r) noexcept { return close(r.domain, copy_of{r}); }

    // The same for adopt_push and adopt_pop, whose pairs are no domain's.
    int adopt_push(const record& r) noexcept { return open(adoptions, copy_of{r}); }
    int adopt_pop(const record& r) noexcept { return close(adoptions, copy_of{r}); }

    // At most one API call is open at a time: the outermost. One that never returned (a longjmp) gives way to the next.
    // One that is dropped is open all the same, so that the driver's call inside it is not taken for it. `key`:
    // correlation_key() of the call and of the recording under way.
    template <typename TFill>
    void open_api(std::uint64_t key, api_domain domain, TFill&& fill) noexcept {
        if (open_api_.is_kept) [[unlikely]]
            out_.give_back(1);
        const bool is_kept = out_.take(2);
        open_api_ = {key, domain, is_kept};
        if (!is_kept) [[unlikely]]
            return drop(drop_cause::ring_full);
        out_.put(fill);
    }
    template <typename TFill>
    void close_api(TFill&& fill) noexcept {
        const bool is_kept = open_api_.is_kept;
        open_api_ = {};
        if (!is_kept) [[unlikely]]
            return;
        out_.put(fill);  // its place was kept
    }
    // Whether open_api() would record the call without more ado.
    bool can_open_api() const noexcept { return !open_api_.is_kept && out_.has_room(2); }
    bool has_open_api() const noexcept { return open_api_.key != no_call; }
    // The driver's call in one of the runtime's has its key.
    bool is_inside_api(std::uint64_t key) const noexcept { return open_api_.key == key; }
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
    // The same of a symbol that is known already; null if it is not.
    const known_texts::entry* known_symbol(const char* symbol, std::uint32_t generation) noexcept {
        const known_texts::entry* const known = generation == symbols_ ? known_.find(symbol) : nullptr;
        return known != nullptr && known->is_symbol != 0 ? known : nullptr;
    }

private:
    static constexpr std::size_t adoptions = domain_limit;  // their pairs nest as a domain's do
    struct domain_state {
        static constexpr std::uint32_t none = UINT32_MAX;
        std::uint32_t depth = 0;
        std::uint32_t first_dropped = none;  // the level that found the ring full: it and those above are not recorded
    };
    static constexpr std::uint64_t no_call = UINT64_MAX;
    struct api_call {
        std::uint64_t key = no_call;  // correlation_key()
        api_domain domain = api_domain::none;
        std::uint16_t is_kept = 0;  // recorded; its return has a place
    };
    // `known`: what was known of another text there; may be null.
    [[gnu::noinline]] std::uint32_t learn(const char* text, known_texts::entry* known) noexcept;

    template <typename TFill>
    int open(std::size_t domain, TFill&& fill) noexcept {
        domain_state& d = domains_[domain];
        const std::uint32_t level = d.depth++;
        if (level >= d.first_dropped || !out_.take(2)) [[unlikely]]
            return open_dropped(domain, level);
        out_.put(fill);
        return static_cast<int>(level);
    }

    template <typename TFill>
    int close(std::size_t domain, TFill&& fill) noexcept {
        domain_state& d = domains_[domain];
        const std::uint32_t level = d.depth - 1;  // that of a pop too many is above all others
        if (level >= d.first_dropped) [[unlikely]]
            return close_dropped(domain);
        d.depth = level;
        out_.put(fill);  // its place was kept
        return static_cast<int>(level);
    }

    // Of what is called last, so that the short way needs no stack.
    int open_dropped(std::size_t domain, std::uint32_t level) noexcept;
    int close_dropped(std::size_t domain) noexcept;
    void drop(drop_cause cause) noexcept;
    bool write_window(std::uint32_t epoch) noexcept;

    api_call open_api_;
    std::uint32_t symbols_ = 0;  // their generation
    std::uint32_t direct_epoch_ = 0;
    ring_producer<record> out_;  // its last word is the first that is not in the first cache line
    std::uint32_t epoch_ = 0;
    std::array<domain_state, domain_limit + 1> domains_{};  // and adoptions
    name_table names_;                                      // the region's: one load less
    region* region_ = nullptr;
    ring_header* ring_ = nullptr;
    known_texts known_;
};

}  // namespace prof
