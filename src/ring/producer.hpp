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
//
// A program that forgets its pops would have all places set aside for them in the end. Where the ring is full and more
// than half of it is set aside, the domain with the most open ranges gives most of its places back (leak). Its pops
// then take a place when they come, the last few one that is still set aside. Should they ever find none, the thread
// begins anew with its next record: what it had open ends there.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "record/drop.hpp"
#include "record/record.hpp"
#include "ring/gate.hpp"
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
    // The same where the clock is one that needs no call (has_tick_counter()), else no_direct_epoch: one look for both.
    std::uint32_t direct_epoch() const noexcept { return direct_epoch_; }
    ring_header* ring() const noexcept { return ring_; }
    region& where() const noexcept { return *region_; }  // REQUIRES: attached

    void write(const record& r) noexcept {
        if (!out_.write(r) && !(find_room(1) && out_.write(r))) [[unlikely]]
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

    // As push() and pop(), where that takes no more ado: no look at the consumer's side, nothing that is dropped. Else
    // false, and nothing has changed.
    template <typename TFill>
    bool push_at_once(std::size_t domain, TFill&& fill, int& level) noexcept {
        domain_state& d = domains_[domain];
        const std::uint32_t depth = d.depth;
        if (depth >= d.first_dropped || !out_.has_room(2)) [[unlikely]]
            return false;
        d.depth = depth + 1;
        out_.take_some_of_room(2);
        out_.put(fill);
        level = static_cast<int>(depth);
        return true;
    }
    template <typename TFill>
    bool pop_at_once(std::size_t domain, TFill&& fill, int& level) noexcept {
        domain_state& d = domains_[domain];
        const std::uint32_t depth = d.depth - 1;  // that of a pop too many is above all others
        if (depth >= d.first_dropped) [[unlikely]]
            return false;
        d.depth = depth;
        out_.put(fill);  // its place was kept
        level = static_cast<int>(depth);
        return true;
    }

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
        const bool is_kept = out_.take(2) || (find_room(2) && out_.take(2));
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

    // One range fewer is open in the domain, and none is recorded. False if none is.
    bool forget_open(std::size_t domain) noexcept {
        if (domains_[domain].depth == 0) return false;
        --domains_[domain].depth;
        return true;
    }

    // The name of a range, for the record that is written next, and for no other. By the text's address: a small cache
    // in front of the names, checked against the bytes, since another text may stand there later (a buffer used again,
    // a module unloaded).
    std::uint32_t name_of(const char* text) noexcept;
    // The same without the cache.
    std::uint32_t intern(std::string_view text) noexcept;

    // The name of a kernel's symbol, by its address alone: the driver's text stays as it is for as long as its module
    // is loaded. (Its hundreds of bytes would come from far: other kernels and the program itself have had the caches
    // meanwhile.) `generation` is another number after a module was unloaded; 0 if that is not reported, then the bytes
    // are compared. So they are where the symbol found no room among the names that are kept.
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
    // Says that this thread is at a name (ring/name_recycling.hpp). What it knows of names that may be freed soon is
    // forgotten first.
    void begin_naming() noexcept {
        out_.begin_naming();
        if (const std::uint64_t begin = passing_.begin(); begin != names_since_) [[unlikely]]
            forget_names_before(begin);
    }
    [[gnu::noinline]] void forget_names_before(std::uint64_t begin) noexcept;
    [[gnu::always_inline]] inline bool is_text_of(const char* text, const known_texts::entry& known) const noexcept;
    // `known`: what was known of another text there; may be null.
    [[gnu::noinline]] std::uint32_t learn(const char* text, known_texts::entry* known, bool is_symbol) noexcept;

    template <typename TFill>
    int open(std::size_t domain, TFill&& fill) noexcept {
        int level = 0;
        if (push_at_once(domain, fill, level)) [[likely]]
            return level;
        if (!take_for_push(domain)) return open_dropped(domain);
        out_.put(fill);
        return static_cast<int>(domains_[domain].depth++);
    }

    template <typename TFill>
    int close(std::size_t domain, TFill&& fill) noexcept {
        int level = 0;
        if (pop_at_once(domain, fill, level)) [[likely]]
            return level;
        if (!take_for_pop(domain)) return close_dropped(domain);
        out_.put(fill);
        level = static_cast<int>(--domains_[domain].depth);
        end_leak();
        return level;
    }

    // The domain whose pushes have no pops, if there is one: all of its ranges go the long way (first_dropped is 0).
    struct leak {
        static constexpr std::size_t none = SIZE_MAX;
        std::size_t domain = none;
        std::uint32_t kept = 0;  // so many of its open ranges have a place for their pops
        std::uint32_t first_dropped = domain_state::none;
    };
    bool is_leak(std::size_t domain) const noexcept { return leak_.domain == domain; }
    std::uint32_t& first_dropped_of(std::size_t domain) noexcept {
        return is_leak(domain) ? leak_.first_dropped : domains_[domain].first_dropped;
    }
    std::uint32_t most_kept_of_leak() const noexcept { return static_cast<std::uint32_t>(out_.capacity() / 8); }
    [[gnu::cold]] bool find_room(std::uint32_t count) noexcept;
    bool take_for_push(std::size_t domain) noexcept;
    bool take_for_pop(std::size_t domain) noexcept;
    void end_leak() noexcept;
    void begin_anew() noexcept;

    int open_dropped(std::size_t domain) noexcept;
    int close_dropped(std::size_t domain) noexcept;
    void drop(drop_cause cause) noexcept;
    bool write_window(std::uint32_t epoch) noexcept;

    api_call open_api_;
    std::uint32_t symbols_ = 0;  // their generation
    std::uint32_t direct_epoch_ = no_direct_epoch;
    ring_producer<record> out_;  // its last word is the first that is not in the first cache line
    std::uint32_t epoch_ = 0;
    std::array<domain_state, domain_limit + 1> domains_{};  // and adoptions
    leak leak_;
    name_table names_;               // the region's: one load less
    passing_names passing_;          // likewise
    std::uint64_t names_since_ = 0;  // all passing names that are known here are behind it
    region* region_ = nullptr;
    ring_header* ring_ = nullptr;
    known_texts known_;
};

}  // namespace prof
