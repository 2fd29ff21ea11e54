// SPDX-License-Identifier: Apache-2.0
#include "ring/registry.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <type_traits>

#include "base/cancellation_guard.hpp"
#include "base/signal_handler.hpp"

namespace prof {

__thread thread_words this_thread __attribute__((tls_model("initial-exec")));

namespace {

// The epoch in which this thread found no ring. It does not search again at every record.
__thread std::uint32_t ringless_epoch __attribute__((tls_model("initial-exec"))) = 0;

// The name that this thread gave itself, as an id in the region's name table. It becomes a label when the thread gets a
// ring. 0: none.
__thread std::uint32_t own_name __attribute__((tls_model("initial-exec"))) = 0;

// number_of_this_thread(); 0: not asked yet.
__thread std::uint64_t own_number __attribute__((tls_model("initial-exec"))) = 0;
std::atomic<std::uint64_t> latest_number{0};

std::uint32_t this_tid() noexcept { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

std::atomic<region*> current_region{nullptr};
// The next three are used in a forked child only.
region* region_of_parent = nullptr;
std::atomic<void (*)() noexcept> on_child_use{nullptr};
__thread producer* producer_before_fork __attribute__((tls_model("initial-exec"))) =
    nullptr;  // the thread's ranges that were open at the fork
// Whether the first record since install_region() has come.
enum class first_use_state : std::uint8_t {
    unobserved,  // nobody wants to know
    awaited,     // the thread that makes it calls on_first_use
    met,         // a thread has called it, or is about to
};
std::atomic<first_use_state> first_use{first_use_state::unobserved};
std::atomic<first_use_function> on_first_use{nullptr};   // stays when the first use is met
std::atomic<void (*)() noexcept> on_preparing{nullptr};  // null except during a preparation
std::atomic<void (*)(std::uint64_t) noexcept> on_thread_end{nullptr};
std::atomic<void (*)() noexcept> on_record_at_rest{nullptr};
std::atomic<std::uint32_t> epoch_at_rest{0};  // the open window's
pthread_key_t thread_end_key;
pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

// Not from the heap: a signal handler may make a thread's first range, and may have interrupted the allocator.
producer* make_producer() noexcept {
    void* const memory = mmap(nullptr, sizeof(producer), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : ::new (memory) producer;
}

void free_producer(producer* freed) noexcept {
    static_assert(std::is_trivially_destructible_v<producer>);
    munmap(freed, sizeof(producer));
}

// Runs at the end of a thread. If a later destructor of the same thread makes a range, the thread attaches once more,
// and pthreads calls this again.
void end_of_thread(void*) noexcept {
    producer* const ending = this_thread.out;
    set_this_thread(nullptr);
    if (own_number != 0) {
        if (auto* const observer = on_thread_end.load()) observer(own_number);
    }
    if (ending == nullptr) return;
    if (region* const where = installed_region()) where->retire_ring(*ending->ring());
    free_producer(ending);
}

void make_thread_end_key() noexcept { (void)pthread_key_create(&thread_end_key, end_of_thread); }

// When the library is loaded, so that the key is one of the first: glibc keeps the values of the first ones in the
// thread itself, and allocates memory for those of the others.
constexpr pthread_key_t keys_without_memory = 32;
[[gnu::constructor]] void make_thread_end_key_early() noexcept {
    (void)pthread_once(&thread_end_once, make_thread_end_key);
}

// Has end_of_thread() called for this thread. False if that cannot be done here and now.
bool watch_end_of_this_thread() noexcept {
    (void)pthread_once(&thread_end_once, make_thread_end_key);  // other constructors may have come first
    if (pthread_getspecific(thread_end_key) != nullptr) return true;
    if (thread_end_key >= keys_without_memory && is_in_signal_handler()) return false;
    (void)pthread_setspecific(thread_end_key, &this_thread);
    return true;
}

// Returns null, and leaves `out` null, if there is no ring or no memory. The ring is not kept in that case.
ring_header* claim_ring_and_producer(region& where, producer*& out) noexcept {
    ring_header* ring = where.claim_ring(this_tid());
    if (ring == nullptr) return nullptr;
    out = make_producer();
    if (out != nullptr) {
        // relaxed: written by this thread.
        const std::uint64_t uid = ring->thread_uid.load(std::memory_order_relaxed);
        if (own_name != 0) where.add_label(label_kind::thread, thread_key(uid, this_tid()), own_name);
        return ring;
    }
    where.retire_ring(*ring);
    return nullptr;
}

// Calls on_first_use if this is the first use. Returns false if that is put off.
bool meet_first_use() noexcept {
    first_use_state state = first_use_state::awaited;
    if (!first_use.compare_exchange_strong(state, first_use_state::met)) return true;
    if (on_first_use.load()() == first_use_outcome::begun) return true;
    // Unless the region was installed anew meanwhile.
    state = first_use_state::met;
    first_use.compare_exchange_strong(state, first_use_state::awaited);
    return false;
}

// attach_this_thread() in the epoch of a window.
producer* attach_to_ring(region& where, std::uint32_t epoch) noexcept {
    begin_writing();
    if (producer* known = this_thread.out) {
        // In this epoch already if a signal handler came first. Else the thread recorded earlier, and keeps its ring.
        if (known->epoch() != epoch) (void)known->begin_epoch(where, epoch);
        set_this_thread(known);
        return known->epoch() == epoch ? known : nullptr;
    }
    producer* out = nullptr;
    ring_header* ring = claim_ring_and_producer(where, out);
    if (ring == nullptr) {
        ringless_epoch = epoch;
        set_this_thread(nullptr);
        where.count_drop(drop_cause::no_ring);
        return nullptr;
    }
    out->attach_anew(where, *ring, epoch);
    set_this_thread(out);
    return out;
}

}  // namespace

// If this fails, children that bypass the handlers of pthread_atfork write into their parent's rings, as they would
// without it.
void guard_gate() noexcept {
    const bool wiped = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) <= gate_bytes &&
                       madvise(&all_gate_words, sizeof all_gate_words, MADV_WIPEONFORK) == 0;
    all_gate_words.is_guarded.store(true);
    a_gate_is_guarded.store(wiped);
}

void install_region(region* where, first_use_function function) noexcept {
    if (where != nullptr) guard_gate();
    on_first_use.store(function);
    first_use.store(function == nullptr ? first_use_state::unobserved : first_use_state::awaited);
    current_region.store(where);
}

void count_interruption() noexcept {
    if (region* where = installed_region()) where->count_drop(drop_cause::signal_handler);
}

void begin_preparation(void (*wait)() noexcept) noexcept {
    guard_gate();
    on_preparing.store(wait);  // first: a thread that sees the gate in this state must find the function to wait
    std::uint32_t epoch = 0;
    (void)recording_epoch.compare_exchange_strong(epoch, preparing_epoch);
    if (epoch != 0 && epoch != preparing_epoch) on_preparing.store(nullptr);
    follow_gate();
}

void end_preparation() noexcept {
    on_preparing.store(nullptr);
    std::uint32_t epoch = preparing_epoch;
    (void)recording_epoch.compare_exchange_strong(epoch, 0);
    follow_gate();
}

void begin_rest(void (*wake)() noexcept) noexcept {
    const std::uint32_t epoch = epoch_of(recording_epoch);
    if (epoch == 0 || epoch >= observed_epoch_bit) return;
    on_record_at_rest.store(wake);
    epoch_at_rest.store(epoch);
    set_gate(recording_epoch, resting_epoch);
}

void end_rest() noexcept {
    std::uint32_t epoch = resting_epoch;
    (void)recording_epoch.compare_exchange_strong(epoch, epoch_at_rest.load());
    follow_gate();
}

bool first_use_was_met() noexcept { return first_use.load() == first_use_state::met; }

region* installed_region() noexcept {
    if (gate_was_wiped()) return nullptr;
    // acquire: the region's contents are visible with its address.
    return current_region.load(std::memory_order_acquire);
}

void name_thread(region& where, std::uint32_t tid, std::uint32_t name) noexcept {
    const bool is_own = tid == this_tid();
    if (is_own) own_name = name;
    if (is_own && this_thread.out == nullptr) return;
    where.add_label(label_kind::thread, where.thread_label_key(tid), name);
}

void leave_region_in_child(bool records, void (*child_use)() noexcept) noexcept {
    own_name = 0;
    if (region* const where = current_region.exchange(nullptr)) {
        where->disown();
        region_of_parent = where;
    }
    first_use.store(first_use_state::unobserved);
    on_child_use.store(child_use);
    // This is the only thread of the child. Its producer writes into the parent's ring, which is not retired here.
    (void)pthread_setspecific(thread_end_key, nullptr);
    if (this_thread.out != nullptr) {
        producer_before_fork = this_thread.out;
        set_this_thread(nullptr);
    }
    ringless_epoch = 0;
    if (on_preparing.load() != nullptr) {
        region_of_parent = nullptr;  // nothing has a name in it yet
        on_child_use.store(nullptr);
        return set_gate(recording_epoch, preparing_epoch);
    }
    set_gate(recording_epoch, records && region_of_parent != nullptr ? orphan_epoch : 0);
}

region* parents_region() noexcept { return region_of_parent; }

region* region_for_names() noexcept {
    const cancellation_guard guard;
    if (auto* const wait = on_preparing.load()) wait();
    region* const where = installed_region();
    if (where != nullptr || region_of_parent == nullptr) return where;
    if (auto* const child_use = on_child_use.load()) child_use();
    return installed_region();
}

bool ends_parents_range(std::size_t domain) noexcept {
    return producer_before_fork != nullptr && producer_before_fork->forget_open(domain);
}

std::uint64_t number_of_this_thread() noexcept {
    // relaxed: only has to be unique.
    if (own_number == 0) own_number = latest_number.fetch_add(1, std::memory_order_relaxed) + 1;
    return own_number;
}

bool observe_end_of_this_thread(void (*observer)(std::uint64_t number) noexcept) noexcept {
    on_thread_end.store(observer);
    return watch_end_of_this_thread();
}

producer* attach_this_thread(std::uint32_t epoch) noexcept {
    const cancellation_guard guard;
    if (epoch == preparing_epoch) {
        if (auto* const wait = on_preparing.load()) wait();
        epoch = epoch_of(recording_epoch);
        if (epoch == 0 || epoch == preparing_epoch) return nullptr;  // the latter on the thread that prepares
    }
    if (epoch == resting_epoch) {
        on_record_at_rest.load()();
        epoch = epoch_of(recording_epoch);
        if (epoch == 0) return nullptr;
        if (epoch == resting_epoch) epoch = epoch_at_rest.load();  // in a signal's handler
        if (this_thread.out != nullptr && this_thread.out->epoch() == epoch) return this_thread.out;
    }
    if (epoch == watching_epoch) return nullptr;
    if (epoch == orphan_epoch) {
        if (auto* const child_use = on_child_use.load()) child_use();
        epoch = epoch_of(recording_epoch);
        if (epoch == 0 || epoch == orphan_epoch) return nullptr;  // the latter if this runs inside child_use
    }
    region* where = installed_region();
    if (where == nullptr) return nullptr;
    if (ringless_epoch == epoch) {
        where->count_drop(drop_cause::no_ring);
        return nullptr;
    }
    if (!meet_first_use()) {
        where->count_drop(drop_cause::signal_handler);
        return nullptr;
    }
    // The first use takes its time, in which the recording may have ended and another one begun, with its own first
    // use.
    if (const std::uint32_t now = epoch_of(recording_epoch); now != epoch && now != resting_epoch) {
        return now == 0 ? nullptr : attach_this_thread(now);
    }
    if (this_thread.out == nullptr && !watch_end_of_this_thread()) {
        where->count_drop(drop_cause::signal_handler);
        return nullptr;
    }
    return attach_to_ring(*where, epoch);
}

}  // namespace prof
