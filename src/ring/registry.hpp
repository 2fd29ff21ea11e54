// How a hook gets at its thread's producer.
//
//     if (producer* out = recording_producer()) out->write(…);
//
// Costs one load and a branch while nothing is recorded, a second load and branch while something is. The first use on
// a thread claims a ring (a few system calls, one allocation); the end of the thread retires it.
#pragma once

#include <atomic>
#include <cstdint>

#include "ring/gate.hpp"
#include "ring/producer.hpp"
#include "ring/region.hpp"

namespace prof {

struct thread_words {
    producer* out = nullptr;
    std::uint32_t direct_epoch = 0;  // out's: one load less, and no look whether there is one
};
// Initial-exec: one load, no call into the dynamic linker (16 bytes of the static TLS block).
extern __thread thread_words this_thread __attribute__((tls_model("initial-exec")));
// An epoch never stands there without its producer, not even for a signal handler that makes a range in between.
inline void set_this_thread(producer* out) noexcept {
    this_thread.direct_epoch = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    this_thread.out = out;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (out != nullptr) this_thread.direct_epoch = out->direct_epoch();
}

// The region that hooks write to. Installed once per process before the gate is opened; tests may put another.
// `first_use` is called when the first thread attaches (any thread, once per installation): the session starts its
// drain thread there, so that nothing exists before there is something to record.
void install_region(region* where, void (*first_use)() noexcept) noexcept;
region* installed_region() noexcept;

// In a forked child, from pthread_atfork: lets go of the parent's rings and shuts the gate, at the child's first record
// at the latest. `counts`: if that comes, the parent's capture says that there was a child that it lacks
// (forked_child).
void abandon_region_in_child(bool counts) noexcept;

// A thread has come for the first time since, and `first_use` was called or is about to be.
bool first_use_was_met() noexcept;

// Slow path of recording_producer(). Null in a forked child, while hooks only watch, and for a thread that finds no
// ring free: then each call counts one record as no_ring, and the thread looks for a ring again in the next epoch.
producer* attach_this_thread(std::uint32_t epoch) noexcept;

inline producer* recording_producer() noexcept {
    const std::uint32_t epoch = epoch_of(recording_epoch);
    if (epoch == 0) return nullptr;
    producer* out = this_thread.out;
    if (out == nullptr || out->epoch() != epoch) [[unlikely]]
        return attach_this_thread(epoch);
    return out;
}

}  // namespace prof
