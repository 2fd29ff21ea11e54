// How a hook gets at its thread's producer.
//
//     if (const recording_scope out{}) out->write(…);
//
// Costs one load and a branch while nothing is recorded, a few more while something is. The first use on a thread
// claims a ring (a few system calls, one allocation); the end of the thread retires it.
//
// A signal's handler may make ranges while the thread that it interrupts is in the middle of a record. Then there is no
// producer for it, and what it made is counted (signal_handler): the record that was begun would overwrite its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ring/gate.hpp"
#include "ring/producer.hpp"
#include "ring/region.hpp"

namespace prof {

struct thread_words {
    producer* out = nullptr;
    // out's: one load less, and no look whether there is one. writing_epoch while the thread is in the middle of a
    // record.
    std::uint32_t direct_epoch = no_direct_epoch;
};
// Initial-exec: one load, no call into the dynamic linker (16 bytes of the static TLS block).
extern __thread thread_words this_thread __attribute__((tls_model("initial-exec")));
// Around all that this thread writes. A signal's handler on this thread finds the two stores in this order.
inline void begin_writing() noexcept {
    this_thread.direct_epoch = writing_epoch;
    std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void end_writing(std::uint32_t direct_epoch) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    this_thread.direct_epoch = direct_epoch;
}
inline bool is_writing() noexcept { return this_thread.direct_epoch == writing_epoch; }
// An epoch never stands there without its producer, not even for a signal handler that makes a range in between.
inline void set_this_thread(producer* out) noexcept {
    begin_writing();
    this_thread.out = out;
    end_writing(out != nullptr ? out->direct_epoch() : no_direct_epoch);
}
// Counts what a signal's handler made meanwhile.
void count_interruption() noexcept;

// The region that hooks write to. Installed once per process before the gate is opened; tests may put another.
// `first_use` is called when the first thread attaches (any thread, once per installation): the session starts its
// drain thread there, so that nothing exists before there is something to record.
void install_region(region* where, void (*first_use)() noexcept) noexcept;
region* installed_region() noexcept;  // null in a child that pthread_atfork's handlers have not seen, too

// The program gives the thread with this tid a name, which is in the region's name table. A thread that names itself
// before it records anything has the name from its first record on.
void name_thread(region& where, std::uint32_t tid, std::uint32_t name) noexcept;

// From here on to end_preparation() who comes with a record or a name calls `wait`, which returns when the session is
// prepared, or at once on the thread that prepares it. Does nothing where the gate is open. A child that is forked
// meanwhile is as its parent was: it prepares a session of its own. Any thread, also several at once.
void begin_preparation(void (*wait)() noexcept) noexcept;
void end_preparation() noexcept;

// In a forked child, from pthread_atfork: the parent's rings are left alone from here on. `first_use` makes a region of
// the child's own and installs it; it is called, on any thread, when something is to be named and there is none yet,
// and, if the child `records`, at its first record, for which it then has opened the gate or shut it. Takes no lock,
// allocates nothing and frees nothing.
void leave_region_in_child(bool records, void (*first_use)() noexcept) noexcept;

// In a forked child: the region that its parent had installed; else null. It is not the child's: to be read, but for
// its counters.
region* parents_region() noexcept;

// The region in which names and labels are put: the installed one, in a forked child made for this if need be.
region* region_for_names() noexcept;

// In a forked child: whether a pop ends a range that was open on this thread when it forked. Each such range counts
// once. Also for the domain_limit-th domain, that of adoptions.
bool ends_parents_range(std::size_t domain) noexcept;

// From `first_use`: it cannot be now, and is called again at the next record. This one is counted (signal_handler).
void put_off_first_use(void (*first_use)() noexcept) noexcept;

// A thread has come for the first time since, and `first_use` was called or is about to be.
bool first_use_was_met() noexcept;

// Slow path of recording_producer(). Null while hooks only watch, in a forked child that cannot record, and for a
// thread that finds no ring free: then each call counts one record as no_ring, and the thread looks for a ring again in
// the next epoch.
producer* attach_this_thread(std::uint32_t epoch) noexcept;

// `counts`: whether something is lost where there is none since the thread is writing.
inline producer* recording_producer(bool counts = true) noexcept {
    const std::uint32_t epoch = epoch_of(recording_epoch);
    if (epoch == 0) return nullptr;
    if (is_writing()) [[unlikely]] {
        if (counts) count_interruption();
        return nullptr;
    }
    producer* out = this_thread.out;
    if (out == nullptr || out->epoch() != epoch) [[unlikely]]
        return attach_this_thread(epoch);
    return out;
}

// This thread's producer for as long as the scope lasts, or none. In it the thread only writes.
class recording_scope {
public:
    recording_scope() noexcept : recording_scope(recording_producer()) {}
    explicit recording_scope(producer* out) noexcept : out_(out) {
        if (out_ != nullptr) begin_writing();
    }
    ~recording_scope() {
        if (out_ != nullptr) end_writing(out_->direct_epoch());
    }
    recording_scope(const recording_scope&) = delete;
    recording_scope& operator=(const recording_scope&) = delete;

    explicit operator bool() const noexcept { return out_ != nullptr; }
    producer* operator->() const noexcept { return out_; }
    producer& operator*() const noexcept { return *out_; }

private:
    producer* const out_;
};

}  // namespace prof
