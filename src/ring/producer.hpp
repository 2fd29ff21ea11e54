// SPDX-License-Identifier: Apache-2.0
// The writing end of one thread: its ring, and the state between a push and its pop that keeps records paired.
//
// Used by its own thread only. A write costs one copy and one release store. In a training step microseconds of other
// work lie between two writes, so the caches are cold: nearly all that a write needs is in the first cache line.
//
// Invariants
//  1. A recorded push has its pop, and a recorded api_enter its api_exit: an opening record is written only together
//     with a reserved slot for its closing record.
//  2. If a push is dropped, so is everything in its domain until its pop. Pairs are dropped whole, and counted.
//
// A program that forgets its pops would reserve the whole ring in the end. To prevent this, the domain with the most
// open ranges gives most of its reserved slots back (see leak). That happens when the ring is full and more than half
// of it is reserved. Pops of that domain then take a free slot, and the last few use slots that are still reserved.
// If a pop finds no slot at all, the thread begins anew with its next record, and the ranges that it had open end
// there.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "record/drop.hpp"
#include "record/record.hpp"
#include "ring/gate.hpp"
#include "ring/known_streams.hpp"
#include "ring/known_texts.hpp"
#include "ring/region.hpp"
#include "ring/spsc_ring.hpp"
#include "ring/stack_budget.hpp"

namespace prof {

class alignas(64) producer {
    struct copy_of {
        const record& source;
        void operator()(record& slot) const noexcept { slot = source; }
    };

public:
    // Binds this producer to a ring and an epoch, and clears its state.
    void attach(region& where, ring_header& ring, std::uint32_t epoch) noexcept;
    // Like attach(), for a ring of which this is the first record. In an epoch in which ranges are only observed, that
    // record is a `window` record with the epoch.
    void attach_anew(region& where, ring_header& ring, std::uint32_t epoch) noexcept;
    // Begins a later epoch in the same ring, with a record that marks it. Returns false if there is no room for that
    // record; nothing has changed then.
    bool begin_epoch(region& where, std::uint32_t epoch) noexcept;
    std::uint32_t epoch() const noexcept { return epoch_; }
    // epoch() if the clock can be read without a call (has_tick_counter()), else no_direct_epoch: one comparison checks
    // both.
    std::uint32_t direct_epoch() const noexcept { return direct_epoch_; }
    ring_header* ring() const noexcept { return ring_; }
    region& where() const noexcept { return *region_; }  // REQUIRES: attached

    void write(const record& r) noexcept {
        if (!out_.write(r) && !(find_room(1) && out_.write(r))) [[unlikely]]
            drop(drop_cause::ring_full);
    }

    // push() and pop() return the 0-based level of the range, as NVTX requires. `fill` writes the record directly to
    // its slot in the ring, and is not called for a record that is dropped. (Building a record elsewhere field by field
    // and copying it costs about 10 ns more, because the processor cannot forward the small stores to the wide loads.)
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

    // The fast path of push() and pop(): it does not read the consumer's counter and drops nothing. Returns false, with
    // nothing changed, if the slow path is needed.
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
        const std::uint32_t depth = d.depth - 1;  // a pop without a push wraps to a depth above all others
        if (depth >= d.first_dropped) [[unlikely]]
            return false;
        d.depth = depth;
        out_.put(fill);  // the push reserved its slot
        level = static_cast<int>(depth);
        return true;
    }

    // Push and pop for adopt_push and adopt_pop, whose pairs belong to no domain.
    int adopt_push(const record& r) noexcept { return open(adoptions, copy_of{r}); }
    int adopt_pop(const record& r) noexcept { return close(adoptions, copy_of{r}); }

    // At most one API call is open at a time, the outermost. A call that never returned (because of a longjmp) is
    // replaced by the next. A call whose record is dropped is open all the same, so that the driver's call inside it is
    // not recorded instead. `key`: correlation_key() of the call and the current recording.
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
        out_.put(fill);  // open_api() reserved its slot
    }
    // Whether open_api() can record the call on the fast path.
    bool can_open_api() const noexcept { return !open_api_.is_kept && out_.has_room(2); }
    bool keeps_open_api() const noexcept { return open_api_.is_kept != 0; }
    bool has_open_api() const noexcept { return open_api_.key != no_call; }
    // Whether the call is open. The driver's call inside a runtime call has the same key.
    bool is_inside_api(std::uint64_t key) const noexcept { return open_api_.key == key; }
    bool is_open_api(std::uint64_t key, api_domain domain) const noexcept {
        return open_api_.key == key && open_api_.domain == domain;
    }

    // Counts one open range fewer in the domain, without a record. Returns false if none is open.
    bool forget_open(std::size_t domain) noexcept {
        if (domains_[domain].depth == 0) return false;
        --domains_[domain].depth;
        return true;
    }

    // The name of a range, for the next record that is written and no other. A small cache by the text's address comes
    // first. It compares the bytes, since another text may be at this address later (a buffer used again, a module
    // unloaded).
    std::uint32_t name_of(const char* text) noexcept;
    // The same without the cache.
    std::uint32_t intern(std::string_view text) noexcept;

    // The name of a kernel's symbol, by its address alone: the driver's text does not change while its module is
    // loaded. (Comparing its hundreds of bytes would miss the caches, which other kernels and the program have used
    // since.) `generation` changes after a module was unloaded. The bytes are compared if it is 0, because unloading is
    // not reported then, and if the symbol found no room among the kept names.
    std::uint32_t symbol_of(const char* symbol, std::uint32_t generation) noexcept;
    known_streams& streams() noexcept { return streams_; }
    stack_budget& stacks() noexcept { return stacks_; }
    stack_budget& birth_stacks() noexcept { return birth_stacks_; }  // of blocks of memory
    // Whether so many records fit with room to spare for those that matter more.
    bool has_much_room_for(std::uint32_t count) noexcept { return out_.make_room(count + out_.capacity() / 8); }
    // The cached entry of a symbol; null if there is none.
    const known_texts::entry* known_symbol(const char* symbol, std::uint32_t generation) noexcept {
        const known_texts::entry* const known = generation == symbols_ ? known_.find(symbol) : nullptr;
        return known != nullptr && known->is_symbol != 0 ? known : nullptr;
    }

private:
    static constexpr std::size_t adoptions = domain_limit;  // adoption pairs nest like those of a domain
    struct domain_state {
        static constexpr std::uint32_t none = UINT32_MAX;
        std::uint32_t depth = 0;
        std::uint32_t first_dropped = none;  // the level that found the ring full; it and those above are dropped
    };
    static constexpr std::uint64_t no_call = UINT64_MAX;
    struct api_call {
        std::uint64_t key = no_call;  // correlation_key()
        api_domain domain = api_domain::none;
        std::uint16_t is_kept = 0;  // recorded, with a slot reserved for its return
    };
    // Announces that this thread is at a name (ring/name_recycling.hpp). Cached names that may be freed soon are
    // forgotten first.
    void begin_naming() noexcept {
        out_.begin_naming();
        if (const std::uint64_t begin = passing_.begin(); begin != names_since_) [[unlikely]]
            forget_names_before(begin);
    }
    [[gnu::noinline]] void forget_names_before(std::uint64_t begin) noexcept;
    [[gnu::always_inline]] inline bool is_text_of(const char* text, const known_texts::entry& known) const noexcept;
    // `known`: the entry of an earlier text at this address; may be null.
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

    // The domain whose pushes have no pops, if there is one. All its ranges take the slow path (first_dropped is 0).
    struct leak {
        static constexpr std::size_t none = SIZE_MAX;
        std::size_t domain = none;
        std::uint32_t kept = 0;  // how many of its open ranges have a slot reserved for their pops
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
    std::uint32_t symbols_ = 0;  // the generation of the cached symbols
    std::uint32_t direct_epoch_ = no_direct_epoch;
    ring_producer<record> out_;  // its last word is the first one beyond the first cache line
    std::uint32_t epoch_ = 0;
    std::array<domain_state, domain_limit + 1> domains_{};  // the last one is for adoptions
    leak leak_;
    name_table names_;               // a copy of the region's: saves a load
    passing_names passing_;          // likewise
    std::uint64_t names_since_ = 0;  // all cached passing names are at or after this position
    region* region_ = nullptr;
    ring_header* ring_ = nullptr;
    stack_budget stacks_;
    stack_budget birth_stacks_;
    known_streams streams_;
    known_texts known_;
};

}  // namespace prof
