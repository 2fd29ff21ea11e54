// What is asked of a session while the program runs, from outside it (control.hpp): how it is, and other options.
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "hooks/cupti/library.hpp"
#include "options/plans.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

constexpr const char* no_answer_from_disk =
    "the capture's disk does not answer: what was recorded waits in memory for it";

// REQUIRES: `setting` is a name=value that was accepted.
const option& option_of(std::string_view setting) { return *find_option(setting.substr(0, setting.find('='))); }

}  // namespace

// Two at a time make no sense. A program that ends is not held up by another that waits for a GPU which does not end:
// then nobody completes the capture, and it is as after a crash.
recording_session::session_lock recording_session::begin_command(bool exits) {
    std::unique_lock lock(commands_, std::defer_lock);
    if (!exits) {
        lock.lock();
        return lock;
    }
    std::uint64_t worked_ns = exporter_.cpu_ns();
    while (!lock.try_lock_for(longest_standstill)) {
        const std::uint64_t before_ns = std::exchange(worked_ns, exporter_.cpu_ns());
        const bool exports = !exporter_.is_idle();
        if (waits_for_gpu_.load() || disk_stands_still() || (exports && worked_ns == before_ns)) break;
    }
    return lock;
}

// mutex_, with no window that is being settled: that may take long, and is waited for without it. Without mutex_ if the
// disk keeps that waiting for longer than `patience`.
recording_session::session_lock recording_session::lock_settled(std::chrono::nanoseconds patience) {
    for (;;) {
        if (!await_settled(patience)) return session_lock(mutex_, std::defer_lock);
        session_lock lock(mutex_);
        if (background_.is_idle()) return lock;
    }
}

session_result recording_session::sync(std::string& problem) {
    const auto command = begin_command(false);
    return bring_in(lock_settled(longest_standstill), problem);
}

// Nothing here waits for a GPU that does not end, or for a disk that does not answer: the program is about to end.
session_result recording_session::before_exit(std::string& problem) {
    const auto command = begin_command(true);
    if (command.owns_lock() && background_.wait_until_idle(longest_standstill)) {
        session_lock lock(mutex_, longest_standstill);
        if (lock.owns_lock() && background_.is_idle()) {
            const session_result result = bring_in(std::move(lock), problem);
            if (result == session_result::ok) brought_in_ns_ = clock_ns(CLOCK_MONOTONIC);
            return result;
        }
    }
    problem = "another call is under way that takes too long";
    return session_result::failed;
}

bool recording_session::keep_text(const std::string& key, const std::string& text) {
    const session_lock lock(mutex_, longest_standstill);
    const std::shared_ptr<drain_thread> drain = lock.owns_lock() ? draining() : nullptr;
    if (drain != nullptr) drain->set_property(key, text);
    return drain != nullptr;
}

// REQUIRES: commands_ is held, and `lock` is lock_settled()'s.
session_result recording_session::bring_in(session_lock lock, std::string& problem) {
    if (!lock.owns_lock()) {
        problem = no_answer_from_disk;
        return session_result::failed;
    }
    if (tracer_ != nullptr) tracer_->flush(false);
    const std::shared_ptr<drain_thread> drain = draining();
    lock.unlock();
    const auto result = drain == nullptr ? drain_thread::sync_result::done : drain->sync(longest_standstill);
    if (result != drain_thread::sync_result::done) {
        problem = result == drain_thread::sync_result::no_answer
                      ? no_answer_from_disk
                      : "the capture's disk is full: what was recorded waits in memory for room on it";
        return session_result::failed;
    }
    if (!capture_path().empty()) return session_result::ok;
    problem = drain == nullptr ? "" : drain->making_problem();
    if (!problem.empty()) return session_result::failed;
    problem = "nothing was recorded yet";
    return session_result::wrong_state;
}

session_options recording_session::environment_options() {
    const std::lock_guard lock(mutex_);
    return environment_;
}

session_options recording_session::options() {
    const std::lock_guard lock(mutex_);
    return options_;
}

std::string recording_session::fixed_by_now(std::string_view setting) const {
    const option& set = option_of(setting);
    const std::string name(set.name);
    if (set.changes == option_change::at_program_start) {
        return name + " is read when the program begins; it cannot change any more";
    }
    if (set.changes == option_change::before_first_use && region_ != nullptr) {
        return name + " is fixed at the program's first use of NVTX or CUDA; it cannot change any more";
    }
    if (set.changes == option_change::before_cupti && has_tracer_) {
        return name + ": a libcupti is loaded already, and stays";
    }
    return {};
}

std::string recording_session::merge(std::span<const std::string> settings, session_options& out) {
    const std::lock_guard lock(mutex_);
    for (const std::string& setting : settings) {
        std::string problem = set_from_text(out, setting).message();
        if (problem.empty()) problem = fixed_by_now(setting);
        if (!problem.empty()) return problem;
    }
    return {};
}

session_result recording_session::set(std::span<const std::string> settings, std::string& problem) {
    const std::lock_guard lock(mutex_);
    session_options next = environment_;
    for (const std::string& setting : settings) {
        problem = set_from_text(next, setting).message();
        if (problem.empty()) problem = fixed_by_now(setting);
        if (problem.empty() && recording() && option_of(setting).changes != option_change::while_recording) {
            problem = std::string(option_of(setting).name) + " stays as it is while a recording runs: stop that first";
        }
        if (!problem.empty()) return session_result::wrong_state;
    }
    if (problem = plan_problem(next).message(); !problem.empty()) return session_result::wrong_state;
    environment_ = next;
    if (!recording()) {
        leave_to_children();
        return session_result::ok;
    }
    // One by one: the background thread may be reading the others. Who meets the first record reads all of them.
    const std::lock_guard drain_lock(drain_mutex_);
    for (const std::string& setting : settings) option_of(setting).copy(options_, next);
    leave_to_children();
    return session_result::ok;
}

std::string recording_session::absolute_capture_path() {
    const std::lock_guard lock(drain_mutex_);
    return capture_base_ + capture_path_;
}

void recording_session::keep_totals(const drain_thread& drain) {
    const std::lock_guard lock(drain_mutex_);
    totals_ = drain.so_far();
}

// REQUIRES: mutex_ is held.
recording_state recording_session::state() const noexcept {
    if (completes_) return recording_state::completing;
    if (!recording()) return recording_state::idle;
    if (window_state_ == window_state::open) return recording_state::recording;
    if (window_state_ == window_state::warming_up) return recording_state::warming_up;
    return plan_ == nullptr ? recording_state::paused : recording_state::between_windows;
}

// REQUIRES: mutex_ and drain_mutex_ are held.
std::string recording_session::gpu_state(bool uses_cuda) {
    if (!recording()) return "no recording";
    if (!missing_.empty()) return missing_;
    if (activities_of(options_).is_empty()) return "no GPU work is recorded: activities=none";
    if (attached_ == nullptr) {
        return uses_cuda ? "CUPTI is not asked yet" : "the program does not use CUDA yet";
    }
    return "recorded by CUPTI " + std::to_string(attached_->library().version) + " (" + attached_->library().path + ")";
}

bool recording_session::look(session_status& out, std::chrono::milliseconds patience) {
    const bool uses_cuda = has_cuda();
    const std::unique_lock lock(mutex_, patience);
    if (!lock.owns_lock()) return false;
    out.state = state();
    out.state_ns = clock_ns(CLOCK_MONOTONIC) - changed_ns_;
    out.steps = steps_.load();
    out.plan = recording() ? plan_text(options_) : "";
    out.memory = environment_.memory;
    out.rings = region_ == nullptr ? "" : region_->path();
    const std::lock_guard drain_lock(drain_mutex_);
    out.gpu = gpu_state(uses_cuda);
    out.capture = capture_base_ + capture_path_;
    const collector::totals totals = drain_ != nullptr ? drain_->so_far() : totals_;
    out.records = totals.records;
    out.bytes = totals.bytes;
    for (std::size_t cause = 0; cause < totals.dropped.size(); ++cause) {
        if (totals.dropped[cause] == 0) continue;
        out.dropped.emplace_back(to_string(static_cast<drop_cause>(cause)), totals.dropped[cause]);
    }
    return true;
}

}  // namespace prof
