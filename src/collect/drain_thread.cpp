// SPDX-License-Identifier: Apache-2.0
#include "collect/drain_thread.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/helper_thread.hpp"
#include "collect/drain_pause.hpp"
#include "hooks/lines/stretch_samples.hpp"

namespace prof {
namespace {

using std::chrono::microseconds;

constexpr microseconds resting_pause{1'000'000};

// Clock snapshots are frequent in the beginning. The rate of a clock is known only as precisely as two snapshots are
// apart, and a process may be killed in its first second.
constexpr std::chrono::milliseconds first_housekeeping{16};
constexpr std::chrono::milliseconds longest_housekeeping{1024};

// CUPTI delivers a buffer when it is full or on request, and may hold new records back until then.
constexpr std::chrono::milliseconds gpu_records_period{500};

constexpr std::chrono::milliseconds disk_poll_interval{10};

// How often a write to a full disk is retried.
constexpr std::chrono::milliseconds room_period{1000};

constexpr std::string_view no_memory = "no memory for the capture";

std::string utc(std::uint64_t realtime_ns) {
    const auto seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
    std::tm parts{};
    std::array<char, 32> text{};
    gmtime_r(&seconds, &parts);
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

// Never overwrites. Returns 0 or errno. Falls back to a hard link, since a network file system may not support this
// rename.
int rename_to_new(const std::string& source, const std::string& destination) noexcept {
    if (renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, destination.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (link(source.c_str(), destination.c_str()) != 0) return errno;
    unlink(source.c_str());
    return 0;
}

}  // namespace

drain_thread::drain_thread(region& where, capture_maker make, const drop_counts& drops_before, graph_history* history,
                           const keep_limits& limits, const property_list& written)
    : make_(std::move(make)), collector_(where, drops_before, history, limits, written), limits_(limits) {
    creation_failure_.reserve(no_memory.size());
    const int result = create_helper_thread(thread_, enter, this);
    if (result != 0) throw error(std::string{"no drain thread: "} + std::strerror(result));
}

drain_thread::~drain_thread() = default;

void* drain_thread::enter(void* self) noexcept {
    pthread_setname_np(pthread_self(), "prof-drain");
    static_cast<drain_thread*>(self)->run();
    return nullptr;
}

void drain_thread::run() noexcept {
    disk_.watch_this_thread();
    if (is_made_ || make_capture()) drain_to_the_end();
    const std::lock_guard lock(mutex_);
    if (is_relieved_ || has_left_) return;
    syncs_done_ = syncs_wanted_;
    note_sync(true);
    synced_.notify_all();
}

bool drain_thread::make_capture() noexcept {
    try {
        if (make_) {
            const disk_call call;  // covers many calls: directories, names
            out_ = make_();
        }
        if (out_ != nullptr) collector_.begin_capture(*out_);
    } catch (const std::bad_alloc&) {
        note_creation_failure(no_memory);
    } catch (const std::exception& failure) {
        note_creation_failure(failure.what());
    }
    const std::lock_guard lock(mutex_);
    is_made_ = true;
    made_.notify_all();
    return creation_failure_.empty();
}

// Without memory for the text, no_memory fits the capacity that was reserved.
void drain_thread::note_creation_failure(std::string_view reason) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        creation_failure_ = reason;
    } catch (const std::bad_alloc&) {
        creation_failure_ = no_memory;
    }
}

void drain_thread::drain_to_the_end() {
    if (out_ != nullptr) out_->set_wait_for_room([this] { return wait_for_room(); });
    if (out_ != nullptr) out_->set_front(front_);
    if (rounds()) write_last_words();
}

void drain_thread::write_last_words() {
    try {
        write_notes();
        collector_.finish(reason_);
    } catch (const std::bad_alloc&) {
        // Out of memory. The capture has no end chunk, and what it lacks stays in the rings.
    }
}

bool drain_thread::take_over() {
    const std::lock_guard lock(mutex_);
    if (is_relieved_) return true;
    if (!waits_ || finish_) return false;
    is_relieved_ = true;
    if (out_ != nullptr) out_->set_wait_for_room(nullptr);
    return true;
}

bool drain_thread::rest_thread(std::chrono::nanoseconds patience) {
    {
        std::unique_lock lock(mutex_);
        if (is_relieved_ || synced_state_.has_end) return true;
        leaves_ = true;
        wake_.notify_one();
        const auto is_over = [&] { return has_left_ || is_full_ || synced_state_.has_end; };
        const bool answers = wait_for_disk(lock, patience, is_over);
        if (!answers || !has_left_) {
            leaves_ = false;
            return synced_state_.has_end;
        }
    }
    pthread_join(thread_, nullptr);
    has_thread_ = false;
    is_relieved_ = true;
    if (out_ != nullptr) out_->set_wait_for_room(nullptr);
    try {
        write_notes();
        (void)collector_.round();
    } catch (const std::bad_alloc&) {
        // Out of memory: it is brought in after resume(), or at the end.
    }
    return true;
}

bool drain_thread::resume() {
    const std::lock_guard lock(mutex_);
    if (has_thread_) return true;
    leaves_ = has_left_ = is_relieved_ = false;
    has_thread_ = create_helper_thread(thread_, enter, this) == 0;
    is_relieved_ = !has_thread_;
    return has_thread_;
}

bool drain_thread::await_capture(std::chrono::milliseconds longest) {
    std::unique_lock lock(mutex_);
    return made_.wait_for(lock, longest, [&] { return is_made_; });
}

bool drain_thread::await_capture_while_disk_answers(std::chrono::nanoseconds patience) {
    while (!await_capture(disk_poll_interval)) {
        if (disk_.standstill_ns() >= static_cast<std::uint64_t>(patience.count())) return false;
    }
    return true;
}

outcome drain_thread::creation() {
    const std::lock_guard lock(mutex_);
    return creation_failure_.empty() ? outcome{} : outcome::failed(creation_failure_);
}

// REQUIRES: mutex_ is held.
void drain_thread::note_sync(bool has_end) {
    synced_state_.has_end = has_end;
    if (out_ == nullptr) return;
    synced_state_.extent = out_->extent();
    synced_state_.failure = out_->failure();
}

void drain_thread::set_property(const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex_);
    properties_.emplace_back(key, value);
}

outcome drain_thread::keep_text(const std::string& key, const std::string& text) {
    constexpr std::uint64_t most_waiting_bytes = 16U << 20;
    const std::uint64_t bytes = key.size() + text.size();
    const std::lock_guard lock(mutex_);
    if (!creation_failure_.empty()) return outcome::failed(creation_failure_);
    if (has_failed_) return outcome::failed(out_->failure());
    if (waiting_bytes_ + bytes > most_waiting_bytes) {
        return outcome::failed("the capture's disk does not answer, and " + std::to_string(most_waiting_bytes >> 20) +
                               " MiB of texts wait for it already");
    }
    if (limits_.any()) {
        const auto known = kept_.find(key);
        const std::uint64_t sum = kept_bytes_ + bytes - (known == kept_.end() ? 0 : known->second);
        if (sum > limits_.most_text_bytes()) {
            return outcome::failed("with this value of keep all texts together may have " +
                                   std::to_string(limits_.most_text_bytes()) + " bytes");
        }
        kept_[key] = bytes;
        kept_bytes_ = sum;
    }
    properties_.emplace_back(key, text);
    waiting_bytes_ += bytes;
    return {};
}

void drain_thread::set_window(const format::window_entry& window) {
    const std::lock_guard lock(mutex_);
    windows_.push_back(window);
    go_on();
}

void drain_thread::set_tracer(cupti_tracer* tracer) noexcept {
    collector_.set_tracer(tracer);
    const std::lock_guard lock(mutex_);
    go_on();
}

void drain_thread::rest() {
    const std::lock_guard lock(mutex_);
    rests_ = true;
}

// REQUIRES: mutex_ is held.
void drain_thread::go_on() {
    if (rests_) wake_.notify_one();
    rests_ = false;
}

void drain_thread::write_notes() {
    property_list properties;
    std::vector<format::window_entry> windows;
    {
        const std::lock_guard lock(mutex_);
        properties.swap(properties_);
        windows.swap(windows_);
        waiting_bytes_ = 0;
    }
    for (const auto& [key, value] : properties) collector_.property(key, value);
    for (const format::window_entry& window : windows) collector_.window(window);
}

// Returns false if another thread has taken over.
bool drain_thread::rounds() {
    std::chrono::milliseconds period = first_housekeeping;
    auto next_housekeeping = std::chrono::steady_clock::now() + period;
    auto next_gpu_records = std::chrono::steady_clock::now() + gpu_records_period;
    microseconds pause = longest_drain_pause / 4;
    std::unique_lock lock(mutex_);
    while (!finish_) {
        const std::uint64_t wanted = syncs_wanted_;
        const bool is_asked = syncs_done_ != wanted;
        const bool brings_gpu_records = std::exchange(syncs_gpu_records_, false);
        lock.unlock();
        if (brings_gpu_records) collector_.ask_for_gpu_records();
        const auto now = std::chrono::steady_clock::now();
        try {
            sample_stretches();
            write_notes();
            const collector::round_result found = collector_.round();
            pause = next_drain_pause(pause, found.fullest, found.has_small_ring);
            // A requester of a sync reads the file and needs the clock and drop counts of this moment.
            if (is_asked || now >= next_housekeeping) collector_.housekeeping();
            const std::unique_lock front(front_, std::try_to_lock);
            collector_.keep(clock_ns(CLOCK_MONOTONIC), front.owns_lock());
        } catch (const std::bad_alloc&) {
            // Out of memory: the program goes on, and so does the drain thread as far as it can.
        }
        if (is_asked || now >= next_housekeeping) {
            period = std::min(2 * period, longest_housekeeping);
            next_housekeeping = now + period;
            exit_if_alone();
        }
        if (now >= next_gpu_records) {
            collector_.ask_for_gpu_records();
            next_gpu_records = now + gpu_records_period;
        }
        lock.lock();
        note_room();
        has_failed_ = out_ != nullptr && out_->failed();
        if (syncs_done_ != wanted) {
            syncs_done_ = wanted;
            note_sync(false);
            synced_.notify_all();
        }
        waits_ = true;
        if (!finish_ && !leaves_ && syncs_wanted_ == wanted) wake_.wait_for(lock, rests_ ? resting_pause : pause);
        waits_ = false;
        if (is_relieved_) return false;
        if (leaves_ && !finish_) {
            has_left_ = true;
            synced_.notify_all();
            return false;
        }
    }
    return true;
}

// Returns false if the disk did not answer. REQUIRES: `lock` holds mutex_.
template <typename TCondition>
bool drain_thread::wait_for_disk(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds patience,
                                 TCondition&& is_over) {
    if (patience == for_ever) {
        synced_.wait(lock, is_over);
        return true;
    }
    while (!synced_.wait_for(lock, disk_poll_interval, is_over)) {
        if (disk_.standstill_ns() >= static_cast<std::uint64_t>(patience.count())) return false;
    }
    return true;
}

drain_thread::sync_result drain_thread::sync(std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = ++syncs_wanted_;
    syncs_gpu_records_ = true;
    wake_.notify_one();
    const auto is_done = [&] { return syncs_done_ >= mine || synced_state_.has_end; };
    if (!wait_for_disk(lock, patience, [&] { return is_done() || is_full_; })) return sync_result::no_answer;
    return is_done() ? sync_result::done : sync_result::full;
}

bool drain_thread::sync_at_last(std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    if (is_relieved_) {
        lock.unlock();
        write_notes();
        (void)collector_.round();
        return true;
    }
    const std::uint64_t mine = ++syncs_wanted_;
    ends_where_full_ = true;
    wake_.notify_one();
    const bool answers = wait_for_disk(lock, patience, [&] { return syncs_done_ >= mine || synced_state_.has_end; });
    ends_where_full_ = false;
    return answers;
}

// Nothing is drained meanwhile: what finds no room in rings and buffers is counted there, as with a disk that does not
// answer. A request to end gets one more attempt to write before the capture ends.
bool drain_thread::wait_for_room() {
    exit_if_alone();
    std::unique_lock lock(mutex_);
    if (!is_full_) {
        is_full_ = true;
        latest_full_ns_ = clock_ns(CLOCK_MONOTONIC);
        if (first_full_ns_ == 0) first_full_ns_ = clock_ns(CLOCK_REALTIME);
    }
    synced_.notify_all();
    const auto ends = [&] { return finish_ || ends_where_full_; };
    if (ends()) return false;
    wake_.wait_for(lock, room_period, ends);
    return true;
}

// REQUIRES: mutex_ is held.
void drain_thread::note_room() {
    if (!is_full_) return;
    is_full_ = false;
    if (out_->failed()) return;
    const std::uint64_t now = clock_ns(CLOCK_REALTIME);
    full_ns_ += clock_ns(CLOCK_MONOTONIC) - latest_full_ns_;
    properties_.emplace_back("disk_notice",
                             "the disk was full for " + std::to_string((full_ns_ + 999'999'999) / 1'000'000'000) +
                                 " s, from " + utc(first_full_ns_) + " to " + utc(now) +
                                 ": records that did not fit in memory meanwhile are counted as dropped");
}

// Written under a temporary name first, so that a file with a dump's name is always complete.
void drain_thread::dump(const std::string& path, const std::string& reason) {
    const std::lock_guard front(front_);
    collector_.ask_for_gpu_records();
    if (sync() != sync_result::done) throw error("no dump: the disk is full");
    if (const outcome created = creation(); !created.ok()) throw error("no dump: " + created.message());
    synced_state now;
    {
        const std::lock_guard lock(mutex_);
        now = synced_state_;
    }
    if (!now.failure.empty()) throw error("no dump: " + now.failure);
    const std::string unfinished = path + ".tmp-" + std::to_string(getpid());
    unlink(unfinished.c_str());
    capture_writer out(unfinished, {.copy_of = out_.get(), .copied = now.extent});
    if (!now.has_end) {
        out.property("dump", reason);
        out.end(format::end_reason::dumped);
    }
    std::string problem = out.failure();
    if (const int failed = problem.empty() ? rename_to_new(unfinished, path) : 0; failed != 0) {
        problem = "cannot create " + path + ": " + std::strerror(failed);
    }
    if (problem.empty()) return;
    unlink(unfinished.c_str());
    throw error(problem);
}

void drain_thread::ask_to_finish(format::end_reason reason) {
    const std::lock_guard lock(mutex_);
    finish_ = true;
    reason_ = reason;
    wake_.notify_one();
}

bool drain_thread::is_finished(format::end_reason reason, std::chrono::nanoseconds patience) {
    ask_to_finish(reason);
    std::unique_lock lock(mutex_);
    if (is_relieved_) return true;
    return wait_for_disk(lock, patience, [&] { return synced_state_.has_end; });
}

outcome drain_thread::finish(format::end_reason reason) {
    ask_to_finish(reason);
    if (is_relieved_) {
        write_last_words();
        if (has_thread_) pthread_detach(thread_);
        const std::lock_guard lock(mutex_);
        note_sync(true);
        synced_.notify_all();
    } else {
        pthread_join(thread_, nullptr);
    }
    return completeness();
}

outcome drain_thread::close(format::end_reason reason) {
    if (is_relieved_) return finish(reason);
    ask_to_finish(reason);
    {
        std::unique_lock lock(mutex_);
        synced_.wait(lock, [&] { return synced_state_.has_end; });
    }
    pthread_detach(thread_);
    return completeness();
}

// A failure states why the capture is incomplete. Call when the thread is at its end.
outcome drain_thread::completeness() {
    if (out_ == nullptr) {
        collector_.discard_gpu_records();
        return creation();
    }
    if (!out_->failed()) return {};
    std::string line = out_->failure();
    if (out_->records_lost() != 0) line += ": " + std::to_string(out_->records_lost()) + " records";
    // The counts of these drops did not reach the capture either.
    const std::uint64_t unwritten = collector_.unwritten_drops();
    if (unwritten != 0)
        line += "; and " + std::to_string(unwritten) + " ranges, calls or GPU records found no room in memory";
    return outcome::failed(std::move(line));
}

}  // namespace prof
