// SPDX-License-Identifier: Apache-2.0
#include "session/parts/dump_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "session/parts/export_bound.hpp"
#include "session/process/capture_place.hpp"
#include "session/process/events.hpp"
#include "session/process/patience.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr std::string_view capture_suffix = ".prof";
// For the records of a window that has just ended to be brought in.
constexpr std::chrono::milliseconds longest_wait_for_window{10'000};

// Whether there can be a dump of that name.
outcome check_path(const std::string& path) {
    if (!path.ends_with(capture_suffix) || path.ends_with("/.prof") || path == capture_suffix) {
        return outcome::failed("a dump is named ....prof, as a capture is, and not " + path);
    }
    if (is_taken(path)) {
        return outcome::failed("cannot create " + path +
                               ": an existing file is never overwritten, choose another name");
    }
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
    return outcome::failed("cannot create " + path + ": " + std::strerror(errno) +
                           "; choose a directory that exists and can be written");
}

}  // namespace

// Beside the capture. Each number is given once, so that two dumps never want one name.
std::string dump_writer::unused_path(const std::string& capture) {
    const std::string stem = capture.substr(0, capture.size() - capture_suffix.size()) + ".dump-";
    std::string path;
    do {
        path = stem + std::to_string(number_.fetch_add(1) + 1) + std::string(capture_suffix);
    } while (is_taken(path));
    return path;
}

outcome dump_writer::write(drain_thread& drain, const session_options& options, const std::string& path,
                           const std::string& reason) {
    try {
        (void)settling_.wait_until_idle(longest_wait_for_window);
        drain.dump(path, reason);
        return write_bounded_exports(options, path);
    } catch (const std::exception& failure) {
        return outcome::failed(failure.what());
    }
}

void dump_writer::note_ended(const std::string& path, const outcome& written) {
    if (!written.ok()) warn_once(written.message());
    const std::uint64_t number = ++ended_;
    if (wants_event(PROF_EVENT_DUMP_ENDED)) post_event(PROF_EVENT_DUMP_ENDED, number, path, written);
}

result<std::string> dump_writer::dump(const std::shared_ptr<drain_thread>& drain, recording_settings::snapshot options,
                                      const std::string& wanted_path, bool waits) {
    if (!drain->await_capture_while_disk_answers(longest_standstill)) {
        return outcome::failed("no dump: the disk of the capture does not answer");
    }
    if (outcome created = drain->creation(); !created.ok()) return created;
    if (!wanted_path.empty()) {
        if (outcome usable = check_path(wanted_path); !usable.ok()) return usable;
    }
    // Absolute: the program may change its directory meanwhile.
    const std::string path =
        wanted_path.empty() ? unused_path(capture_.absolute_path()) : std::filesystem::absolute(wanted_path).string();
    const auto written = std::make_shared<outcome>();
    exports_.post([this, drain, options = std::move(options), path, written] {
        *written = write(*drain, *options, path, "it was asked for");
        note_ended(path, *written);
    });
    if (!waits) return path;
    if (!exports_.wait_while_it_works(longest_standstill)) {
        return outcome::failed("no dump yet: the disk of the capture, or of the dump, does not answer");
    }
    if (!written->ok()) return *written;
    return path;
}

bool dump_writer::begin() {
    const recording_settings::snapshot options = settings_.options();
    const session_lock lock(mutex_);
    slow_steps_.reset();
    if (options->dump_on_slow_step) slow_steps_.emplace(*options->dump_on_slow_step);
    left_ = options->dump_limit;
    latest_ns_ = 0;
    return slow_steps_.has_value();
}

void dump_writer::skip_step() {
    const session_lock lock(mutex_);
    if (slow_steps_) slow_steps_->forget_begin();
}

void dump_writer::note_step(std::uint64_t ended) {
    const session_lock lock(mutex_);
    if (!slow_steps_) return;
    const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
    const auto reason = slow_steps_->begin_step(ended, now);
    if (!reason || left_ == 0) return;
    const recording_settings::snapshot options = settings_.options();
    if (latest_ns_ != 0 && (!exports_.is_idle() || now - latest_ns_ < options->keep.value.time_ns)) return;
    const auto drain = capture_.drain_if_made();  // slow steps come after many others
    if (drain == nullptr) return;
    latest_ns_ = now;
    --left_;
    exports_.post([this, drain, options, reason = *reason] {
        if (!write_of_slow_step(*drain, *options, reason)) take_back_dump();
    });
}

bool dump_writer::write_of_slow_step(drain_thread& drain, const session_options& options, const std::string& reason) {
    (void)drain.sync();                        // until the capture is made it has no name
    if (!drain.creation().ok()) return false;  // it is reported already
    const std::string path = unused_path(capture_.absolute_path());
    const outcome written = write(drain, options, path, reason);
    note_ended(path, written);
    return written.ok();
}

// It does not count among those that may be made.
void dump_writer::take_back_dump() {
    const session_lock lock(mutex_);
    if (slow_steps_) ++left_;
}

}  // namespace prof
