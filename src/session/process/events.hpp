// SPDX-License-Identifier: Apache-2.0
// What libprof passes to functions of the program: events, to the callback of prof_set_callback, and lines about what
// went wrong, to the sink of prof_set_log (prof/prof.h).
//
// All of them are queued. One thread of libprof's, made with the first callback or sink, calls the program's functions:
// one call at a time, in the order in which they were queued, and without a lock. So an event may be posted with any
// lock held, and a function of the program that waits for one of its own threads holds up nothing but later calls.
//
// The queue is bounded. An event that finds it full is lost, and the next one has the count. Nothing is delivered once
// the process's end has begun, or in a forked child: an interpreter that a callback belongs to may be gone, and the
// child lacks the thread.
#pragma once

#include <prof/prof.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/outcome.hpp"
#include "session/process/warn_once.hpp"

namespace prof {

// Kinds that the program asked for, as bits.
inline std::atomic<std::uint32_t> wanted_events{0};

// Two loads. A path or a message is made only where this is true. The log of PROF_LOG=debug has the events, too.
inline bool wants_event(prof_event_kind kind) noexcept {
    return (wanted_events.load(std::memory_order_relaxed) & static_cast<std::uint32_t>(kind)) != 0 ||
           is_logging.load(std::memory_order_relaxed);
}

// Queues an event, if the program wants its kind. A short lock, which comes after all others. Allocates nothing for an
// event without texts. Any thread. `path`: absolute; "" if there is none. `ended`: how what the event names ended.
void post_event(prof_event_kind kind, std::uint64_t number, std::string path = {}, const outcome& ended = {}) noexcept;

// Queues a line for the sink. False if there is none, or if it cannot be queued: then the line goes to stderr. Any
// thread.
bool post_line(prof_log_severity severity, std::string_view line) noexcept;

// Replaces the callback, or the sink. Null: none. Before that, what was queued for the former one is delivered, however
// long that takes; after the return it is not called any more. wrong_state once the process's end has begun. REQUIRES:
// !is_event_thread().
outcome set_event_callback(prof_callback callback, void* user, std::uint32_t kinds);
outcome set_log_sink(prof_log_sink sink, void* user);

extern __thread bool calls_program __attribute__((tls_model("initial-exec")));
// The calling thread is the one that calls the program's functions.
inline bool is_event_thread() noexcept { return calls_program; }

// The process's end begins: nothing is delivered any more. Lines that are still queued go to stderr, unless the calling
// thread `is_interrupted` by a signal's handler. Waits for no lock.
void close_events(bool is_interrupted) noexcept;
// Ends the thread, unless it is in a function of the program. After close_events().
void end_event_thread() noexcept;
// In a forked child, from pthread_atfork. Takes no lock and allocates nothing.
void forget_events_in_child() noexcept;

inline constexpr std::size_t most_queued_events = 1024;

}  // namespace prof
