#include "ring/registry.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

namespace prof {

__thread thread_words this_thread __attribute__((tls_model("initial-exec")));

namespace {

// The epoch in which this thread found no ring: it does not look for one at each of its records.
__thread std::uint32_t ringless_epoch __attribute__((tls_model("initial-exec"))) = 0;

std::atomic<region*> current_region{nullptr};
region* parents_region = nullptr;  // in a forked child: its counters are shared with the parent
std::atomic<void (*)() noexcept> on_first_use{nullptr};
pthread_key_t thread_end_key;
pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

// Runs at the end of a thread. A range made by a later destructor of the same thread attaches once more, and pthreads
// calls this again for it.
void end_of_thread(void* state) noexcept {
    auto* ending = static_cast<producer*>(state);
    set_this_thread(nullptr);
    region* where = installed_region();
    if (where != nullptr) where->retire_ring(*ending->ring());
    delete ending;
}

// Null, and `out` too, if there is no ring or no memory: a thread without a ring costs nothing.
ring_header* claim_ring_and_producer(region& where, producer*& out) noexcept {
    ring_header* ring = where.claim_ring(static_cast<std::uint32_t>(syscall(SYS_gettid)));
    if (ring == nullptr) return nullptr;
    out = new (std::nothrow) producer;
    if (out != nullptr) return ring;
    where.retire_ring(*ring);
    return nullptr;
}

void make_thread_end_key() noexcept { pthread_key_create(&thread_end_key, end_of_thread); }

}  // namespace

void install_region(region* where, void (*first_use)() noexcept) noexcept {
    on_first_use.store(first_use);
    current_region.store(where);
}

bool first_use_was_met() noexcept { return on_first_use.load() == nullptr; }

region* installed_region() noexcept {
    // acquire: the region's contents are seen with its address.
    return current_region.load(std::memory_order_acquire);
}

void abandon_region_in_child(bool counts) noexcept {
    const bool was_recording = !gate_is_shut() && !is_heard_only(epoch_of(recording_epoch));
    region* const where = current_region.exchange(nullptr);
    if (where != nullptr) where->disown();
    parents_region = where;
    set_gate(recording_epoch, counts && was_recording && where != nullptr ? orphan_epoch : 0);
    // The one thread of the child. Its producer writes into the parent's ring: it goes, and the ring is not retired.
    if (this_thread.out != nullptr) {
        pthread_setspecific(thread_end_key, nullptr);
        delete this_thread.out;
        set_this_thread(nullptr);
    }
}

producer* attach_this_thread(std::uint32_t epoch) noexcept {
    if (epoch == watching_epoch) return nullptr;
    if (epoch == orphan_epoch) {
        if (recording_epoch.exchange(0) == orphan_epoch) parents_region->count_drop(drop_cause::forked_child);
        return nullptr;
    }
    region* where = installed_region();
    if (where == nullptr) return nullptr;
    pthread_once(&thread_end_once, make_thread_end_key);
    if (ringless_epoch == epoch) {
        where->count_drop(drop_cause::no_ring);
        return nullptr;
    }
    if (auto* first_use = on_first_use.exchange(nullptr)) first_use();
    if (producer* known = this_thread.out) {
        if (!known->begin_epoch(*where, epoch)) return nullptr;  // it recorded earlier, and keeps its ring
        set_this_thread(known);
        return known;
    }
    producer* out = nullptr;
    ring_header* ring = claim_ring_and_producer(*where, out);
    if (ring == nullptr) {
        ringless_epoch = epoch;
        where->count_drop(drop_cause::no_ring);
        return nullptr;
    }
    out->attach_anew(*where, *ring, epoch);
    set_this_thread(out);
    pthread_setspecific(thread_end_key, out);
    return out;
}

}  // namespace prof
