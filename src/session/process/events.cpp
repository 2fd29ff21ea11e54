// SPDX-License-Identifier: Apache-2.0
#include "session/process/events.hpp"

#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "base/annotated_mutex.hpp"
#include "base/helper_thread.hpp"
#include "session/process/result_code.hpp"
#include "session/process/warn_once.hpp"

namespace prof {

__thread bool calls_program __attribute__((tls_model("initial-exec"))) = false;

namespace {

constexpr std::chrono::milliseconds between_checks_of_queue{20};

// This thread is in event_queue::push(): a signal's handler that interrupts it there queues nothing.
__thread bool is_pushing __attribute__((tls_model("initial-exec"))) = false;

// The process's end has begun.
std::atomic<bool> is_closed{false};
std::atomic<bool> has_sink{false};

struct queued {
    prof_event_kind kind = PROF_EVENT_STEP;
    bool is_line = false;
    int result = 0;  // of an event; the severity of a line
    std::uint64_t number = 0;
    std::uint64_t lost = 0;
    std::string path;
    std::string text;  // the event's message, or the line
};

struct program_functions {
    prof_callback callback = nullptr;
    void* user = nullptr;
    prof_log_sink sink = nullptr;
    void* sink_user = nullptr;
};

void call_program(const queued& queued_event, const program_functions& with) {
    if (queued_event.is_line) {
        if (with.sink != nullptr) with.sink(queued_event.result, queued_event.text.c_str(), with.sink_user);
        return;
    }
    if (with.callback == nullptr) return;
    prof_event event{};
    event.size = sizeof event;
    event.kind = static_cast<std::uint32_t>(queued_event.kind);
    event.result = queued_event.result;
    event.number = queued_event.number;
    event.lost = queued_event.lost;
    event.path = queued_event.path.c_str();
    event.message = queued_event.text.c_str();
    with.callback(&event, with.user);
}

class event_queue {
public:
    // Of this process; made at the first call, never destroyed.
    static event_queue& instance();

    bool push(queued&& queued_event) noexcept PROF_EXCLUDES(mutex_);
    // One function replaces another at a time.
    annotated_mutex& replacing() PROF_RETURN_CAPABILITY(replacing_) { return replacing_; }
    // Waits until no event, or if `lines` no line, is queued or under way. Then calls `change` under the lock.
    // REQUIRES: nothing is queued any more, since the program is said to want nothing.
    template <typename TChange>
    outcome replace(bool lines, TChange&& change) PROF_REQUIRES(replacing_) PROF_EXCLUDES(mutex_);
    void move_lines_to_stderr() noexcept PROF_EXCLUDES(mutex_);
    void end() noexcept PROF_EXCLUDES(mutex_);

private:
    static void* enter(void* self);
    static void begin_thread(event_queue* queue) noexcept;
    static void end_thread(void* self) noexcept;
    static pthread_key_t key_of_thread() noexcept;
    // The next call: current_. Waits for it. False: the thread is to end.
    bool take(program_functions& with) noexcept PROF_EXCLUDES(mutex_);
    // It has returned.
    void note_called() noexcept PROF_EXCLUDES(mutex_);
    outcome start() PROF_REQUIRES(mutex_);
    bool is_busy_with(bool lines) const PROF_REQUIRES(mutex_);

    queued current_;             // the event thread's alone
    annotated_mutex replacing_;  // taken before mutex_
    annotated_mutex mutex_;
    std::condition_variable changed_;
    std::array<queued, most_queued_events> ring_ PROF_GUARDED_BY(mutex_);
    std::size_t first_ PROF_GUARDED_BY(mutex_) = 0;
    std::size_t count_ PROF_GUARDED_BY(mutex_) = 0;
    std::uint64_t lost_ PROF_GUARDED_BY(mutex_) = 0;       // events, since the latest that was queued
    std::size_t latest_line_ PROF_GUARDED_BY(mutex_) = 0;  // its hash; a line that follows itself is passed on once
    program_functions functions_ PROF_GUARDED_BY(mutex_);
    bool has_thread_ PROF_GUARDED_BY(mutex_) = false;
    bool ends_ PROF_GUARDED_BY(mutex_) = false;
    pthread_t thread_ PROF_GUARDED_BY(mutex_){};
    bool is_calling_ PROF_GUARDED_BY(mutex_) = false;
    bool calls_with_line_ PROF_GUARDED_BY(mutex_) = false;
};

std::atomic<event_queue*> the_queue{nullptr};
// In a forked child: for the address sanitizer, which reports memory that no pointer points to.
event_queue* queue_of_parent = nullptr;

event_queue& event_queue::instance() {
    if (event_queue* const known = the_queue.load()) return *known;
    auto made = std::make_unique<event_queue>();
    event_queue* first = nullptr;
    return the_queue.compare_exchange_strong(first, made.get()) ? *made.release() : *first;
}

outcome event_queue::start() {
    if (has_thread_) return {};
    const int failure = create_helper_thread(thread_, enter, this, stack_room::usual);
    if (failure != 0) return outcome::failed(std::string{"no thread for callbacks: "} + std::strerror(failure));
    has_thread_ = true;
    return {};
}

// A function of the program may end this thread: an interpreter does that to a thread that wants its lock at the end of
// the interpreter, by pthread_exit. So no function up to the call of the program's has anything to be destroyed, or is
// noexcept: pthread_exit unwinds them.
void* event_queue::enter(void* self) {
    auto* const queue = static_cast<event_queue*>(self);
    begin_thread(queue);
    program_functions with;
    while (queue->take(with)) {
        call_program(queue->current_, with);
        queue->note_called();
    }
    (void)pthread_setspecific(key_of_thread(), nullptr);
    return nullptr;
}

pthread_key_t event_queue::key_of_thread() noexcept {
    static const pthread_key_t key = [] {
        pthread_key_t made{};
        (void)pthread_key_create(&made, end_thread);
        return made;
    }();
    return key;
}

void event_queue::begin_thread(event_queue* queue) noexcept {
    pthread_setname_np(pthread_self(), "prof-events");
    calls_program = true;
    (void)pthread_setspecific(key_of_thread(), queue);
}

// The thread was ended from outside.
void event_queue::end_thread(void* self) noexcept {
    auto* const queue = static_cast<event_queue*>(self);
    helper_thread_was_ended();
    pthread_detach(pthread_self());
    queue->note_called();
    const annotated_lock lock(queue->mutex_);
    queue->has_thread_ = false;
}

bool event_queue::take(program_functions& with) noexcept {
    const auto has_work = [&]() PROF_REQUIRES(mutex_) { return ends_ || (count_ != 0 && !is_closed.load()); };
    annotated_lock lock(mutex_);
    while (!changed_.wait_for(lock.native(), alone_check_interval, has_work)) {
        exit_if_alone();
    }
    if (ends_) return false;
    current_ = std::exchange(ring_[first_], {});
    first_ = (first_ + 1) % ring_.size();
    --count_;
    is_calling_ = true;
    calls_with_line_ = current_.is_line;
    with = functions_;
    return true;
}

void event_queue::end() noexcept {
    pthread_t ending{};
    {
        const annotated_lock lock(mutex_);
        if (!has_thread_ || is_calling_) return;
        has_thread_ = false;
        ends_ = true;
        ending = thread_;
        changed_.notify_all();
    }
    pthread_join(ending, nullptr);
}

void event_queue::note_called() noexcept {
    const annotated_lock lock(mutex_);
    is_calling_ = false;
    changed_.notify_all();
}

bool event_queue::push(queued&& queued_event) noexcept {
    if (is_pushing) return false;
    is_pushing = true;
    bool is_queued = false;
    {
        const annotated_lock lock(mutex_);
        const std::size_t hash = queued_event.is_line ? std::hash<std::string>{}(queued_event.text) : 0;
        const bool is_repeated = queued_event.is_line && hash == latest_line_;
        const bool has_room = count_ != ring_.size();
        is_queued = is_repeated || has_room;
        if (!has_room && !queued_event.is_line) ++lost_;
        if (has_room && !is_repeated) {
            if (queued_event.is_line) {
                latest_line_ = hash;
            } else {
                queued_event.lost = std::exchange(lost_, 0);
            }
            ring_[(first_ + count_) % ring_.size()] = std::move(queued_event);
            ++count_;
            changed_.notify_all();
        }
    }
    is_pushing = false;
    return is_queued;
}

bool event_queue::is_busy_with(bool lines) const {
    if (is_calling_ && calls_with_line_ == lines) return true;
    if (is_closed.load()) return false;  // what is queued stays there
    for (std::size_t i = 0; i < count_; ++i) {
        if (ring_[(first_ + i) % ring_.size()].is_line == lines) return true;
    }
    return false;
}

template <typename TChange>
outcome event_queue::replace(bool lines, TChange&& change) {
    annotated_lock lock(mutex_);
    for (;;) {
        const bool is_busy = is_busy_with(lines);
        if (is_closed.load() && !is_busy) return outcome::wrong_state("the process is about to end");
        if (outcome started = start(); !started.ok()) return started;  // anew, if a function has ended the thread
        if (!is_busy) break;
        changed_.wait_for(lock.native(), between_checks_of_queue);
    }
    change(functions_);
    return {};
}

void event_queue::move_lines_to_stderr() noexcept {
    if (!mutex_.try_lock()) return;
    for (; count_ != 0; --count_, first_ = (first_ + 1) % ring_.size()) {
        const queued& first = ring_[first_];
        if (first.is_line) warn_once(first.text, static_cast<prof_log_severity>(first.result));
    }
    mutex_.unlock();
}

}  // namespace

namespace {

std::string text_of_event(prof_event_kind kind, std::uint64_t number) {
    switch (kind) {
        case PROF_EVENT_WINDOW_BEGAN:
            return "window " + std::to_string(number) + " is open";
        case PROF_EVENT_WINDOW_ENDED:
            return "window " + std::to_string(number) + " has ended, and its records are read";
        case PROF_EVENT_DUMP_ENDED:
            return "dump " + std::to_string(number) + " has ended";
        case PROF_EVENT_EXPORT_ENDED:
            return "the exports have ended";
        case PROF_EVENT_RECORDING_BEGAN:
            return "the recording has begun";
        case PROF_EVENT_RECORDING_ENDED:
            return "the recording has ended, after " + std::to_string(number) + " steps";
        case PROF_EVENT_STEP:
        case PROF_EVENT_ALL:
            break;
    }
    return {};
}

void log_event(prof_event_kind kind, std::uint64_t number, std::string_view path, const outcome& ended) noexcept {
    if (kind == PROF_EVENT_STEP) return;  // there are too many
    try {
        std::string line = text_of_event(kind, number);
        if (!path.empty()) line.append(": ").append(path);
        if (!ended.ok()) line.append(": ").append(ended.message());
        log_line(line);
    } catch (const std::bad_alloc&) {
        log_line("an event, and no memory to say which");
    }
}

}  // namespace

void post_event(prof_event_kind kind, std::uint64_t number, std::string path, const outcome& ended) noexcept {
    if (is_logging.load(std::memory_order_relaxed)) log_event(kind, number, path, ended);
    event_queue* const queue = the_queue.load();
    const bool is_wanted = (wanted_events.load(std::memory_order_relaxed) & static_cast<std::uint32_t>(kind)) != 0;
    if (queue == nullptr || !is_wanted) return;
    queued queued_event;
    queued_event.kind = kind;
    queued_event.result = code_of(ended);
    queued_event.number = number;
    queued_event.path = std::move(path);
    try {
        queued_event.text = ended.message();
    } catch (const std::bad_alloc&) {
        // The result says what the message would.
    }
    (void)queue->push(std::move(queued_event));
}

bool post_line(prof_log_severity severity, std::string_view line) noexcept {
    event_queue* const queue = the_queue.load();
    if (queue == nullptr || !has_sink.load()) return false;
    queued queued_event;
    queued_event.is_line = true;
    queued_event.result = severity;
    try {
        queued_event.text = line;
    } catch (const std::bad_alloc&) {
        return false;
    }
    return queue->push(std::move(queued_event));
}

outcome set_event_callback(prof_callback callback, void* user, std::uint32_t kinds) {
    event_queue& queue = event_queue::instance();
    const annotated_lock lock(queue.replacing());
    wanted_events = 0;
    outcome replaced = queue.replace(false, [&](program_functions& functions) {
        functions.callback = callback;
        functions.user = user;
    });
    if (replaced.ok() && callback != nullptr) wanted_events = kinds;
    if (is_closed.load()) wanted_events = 0;  // since then
    return replaced;
}

outcome set_log_sink(prof_log_sink sink, void* user) {
    event_queue& queue = event_queue::instance();
    const annotated_lock lock(queue.replacing());
    has_sink = false;
    outcome replaced = queue.replace(true, [&](program_functions& functions) {
        functions.sink = sink;
        functions.sink_user = user;
    });
    has_sink = replaced.ok() && sink != nullptr;
    if (is_closed.load()) has_sink = false;  // since then
    return replaced;
}

void close_events(bool is_interrupted) noexcept {
    is_closed = true;
    wanted_events = 0;
    has_sink = false;
    event_queue* const queue = the_queue.load();
    if (queue != nullptr && !is_interrupted) queue->move_lines_to_stderr();
}

void end_event_thread() noexcept {
    if (event_queue* const queue = the_queue.load()) queue->end();
}

void forget_events_in_child() noexcept {
    wanted_events = 0;
    has_sink = false;
    is_closed = false;
    calls_program = false;
    is_pushing = false;
    if (event_queue* const parents = the_queue.exchange(nullptr)) queue_of_parent = parents;
}

}  // namespace prof
