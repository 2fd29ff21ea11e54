// SPDX-License-Identifier: Apache-2.0
// How a hook gets the producer of its thread.
//
//     if (const recording_scope out{}) out->write(…);
//
// Costs one load and a branch while nothing is recorded, and a few more while something is. The first use on a thread
// claims a ring (a few system calls, no use of the heap); the end of the thread retires it.
//
// A signal handler may make ranges while the thread that it interrupts is in the middle of a record. It gets no
// producer then, because its record would be overwritten by the interrupted one. What it made is counted
// (signal_handler).
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
    // `out`'s direct_epoch(), copied here to save a load and a check for null. writing_epoch while the thread is in the
    // middle of a record.
    std::uint32_t direct_epoch = no_direct_epoch;
    bool is_allocating = false;     // its latest CUDA call is one whose memory is recorded when it returns
    std::uint64_t latest_call = 0;  // in ticks: when the thread's latest CUDA call was entered, or returned
};
// Initial-exec: one load and no call into the dynamic linker. All of libprof's variables of this kind take less than
// 400 bytes of the static TLS block, of which glibc has 1,664 left for libraries that are loaded late.
extern __thread thread_words this_thread __attribute__((tls_model("initial-exec")));
// These two enclose everything that this thread writes. The signal fences keep the stores in this order for a signal
// handler on this thread.
inline void begin_writing() noexcept {
    this_thread.direct_epoch = writing_epoch;
    std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void end_writing(std::uint32_t direct_epoch) noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    this_thread.direct_epoch = direct_epoch;
}
inline bool is_writing() noexcept { return this_thread.direct_epoch == writing_epoch; }
// The order here ensures that direct_epoch never has an epoch without its producer, not even for a signal handler that
// makes a range in between.
inline void set_this_thread(producer* out) noexcept {
    begin_writing();
    this_thread.out = out;
    end_writing(out != nullptr ? out->direct_epoch() : no_direct_epoch);
}
// Counts a record that a signal handler could not write because its thread was writing.
void count_interruption() noexcept;

// The region that hooks write to. It is installed once per process, before the gate is opened; tests may install
// others. `first_use` is called when the first thread attaches (on any thread, once per installation unless it is put
// off). The session starts its drain thread there, so that nothing is created before there is something to record.
// Null: nobody wants to know.
enum class first_use_outcome : std::uint8_t {
    begun,    // or failed, and the gate is shut
    put_off,  // it cannot be done now: it is to be called again at the next record; this one counts as signal_handler
};
using first_use_function = first_use_outcome (*)() noexcept;
void install_region(region* where, first_use_function first_use) noexcept;
region* installed_region() noexcept;  // also null in a child for which no handler of pthread_atfork ran

// Records the name that the program gives to the thread with this tid. `name` is an id in the region's name table. A
// thread that names itself before it records anything has the name from its first record on.
void name_thread(region& where, std::uint32_t tid, std::uint32_t name) noexcept;

// From here to end_preparation(), a thread that has a record or a name to store calls `wait`. That returns when the
// session is prepared, or at once on the thread that prepares it. Does nothing if the gate is open. A child that is
// forked meanwhile is in the same state as its parent: it prepares a session of its own. Any thread, also several at
// once.
void begin_preparation(void (*wait)() noexcept) noexcept;
void end_preparation() noexcept;

// If a window is open: from here to end_rest(), a thread that has a record calls `wake`. That calls end_rest(), or
// returns with the gate as it is: then the thread writes the record without it, if it has a ring. Does nothing
// otherwise. REQUIRES: there is one thread.
void begin_rest(void (*wake)() noexcept) noexcept;
void end_rest() noexcept;

// In a forked child, from pthread_atfork: from here on the child does not touch the parent's rings. `child_use` creates
// and installs a region of the child's own. It is called, on any thread, when something is to be named and there is no
// region yet. If the child `records`, it is also called at the first record, and must open or shut the gate for that.
// Takes no lock, and neither allocates nor frees memory.
void leave_region_in_child(bool records, void (*child_use)() noexcept) noexcept;

// In a forked child: the region that the parent had installed; otherwise null. It belongs to the parent: the child may
// only read it, except for its counters.
region* parents_region() noexcept;

// The region for names and labels: the installed one. A forked child creates its own for this if it has none yet.
region* region_for_names() noexcept;

// In a forked child: whether a pop ends a range that was open on this thread at the fork. Each such range counts once.
// `domain` may also be domain_limit, which stands for adoptions.
bool ends_parents_range(std::size_t domain) noexcept;

// Whether this is a forked child that is to record and has recorded nothing yet: all ranges that end are its parent's.
inline bool has_only_parents_ranges() noexcept { return epoch_of(recording_epoch) == orphan_epoch; }

// The region for a record that begins something, for a caller that needs the region before the producer. A forked child
// that is to record creates its own. Null if nothing can be recorded.
inline region* region_for_records() noexcept {
    region* const where = installed_region();
    return where == nullptr && has_only_parents_ranges() ? region_for_names() : where;
}

// The number of this thread, from 1. Unlike an address or a tid it is never given to another thread of the process.
std::uint64_t number_of_this_thread() noexcept;

// Has `observer` called at the end of this thread, with its number. There is one observer in the process. False if that
// cannot be done in the signal handler that this runs in.
bool observe_end_of_this_thread(void (*observer)(std::uint64_t number) noexcept) noexcept;

// Whether a thread has attached since the installation: then its `first_use` was called, or is about to be.
bool first_use_was_met() noexcept;

// Slow path of recording_producer(). Null while hooks only watch ranges, in a forked child that cannot record, and for
// a thread that finds no free ring. In the last case each call counts one record as no_ring, and the thread tries again
// in the next epoch.
producer* attach_this_thread(std::uint32_t epoch) noexcept;

// This thread's producer; null while nothing is recorded. `counts`: whether to count a lost record if there is no
// producer because the thread is writing (see is_writing()).
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

// Holds this thread's producer, if it has one, for as long as the scope lasts. Inside the scope the thread may only
// write.
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
