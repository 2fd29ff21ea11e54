// Copies of what a recording has, made while it goes on (docs/guide/flight-recorder.md). The copying, and what waits
// for it, is done by the thread that makes exports: nobody who asks for a dump waits for a file.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>

#include "base/clock.hpp"
#include "options/keep.hpp"
#include "session/export_bound.hpp"
#include "session/process.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

constexpr std::string_view suffix = ".prof";
// For a window that has just ended to be taken in.
constexpr std::chrono::milliseconds longest_wait_for_window{10'000};

// Why there can be no dump of that name; "" if there can.
std::string path_problem(const std::string& path) {
    if (!path.ends_with(suffix) || path.ends_with("/.prof") || path == suffix) {
        return "a dump is named ....prof, as a capture is, and not " + path;
    }
    if (is_taken(path)) return "cannot create " + path + ": what is there is never overwritten, choose another name";
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
    return "cannot create " + path + ": " + std::strerror(errno) +
           "; choose a directory that exists and can be written";
}

}  // namespace

// Beside the capture. Each number is given once, so that two dumps never want one name.
std::string recording_session::unused_dump_path(const std::string& capture) {
    const std::string stem = capture.substr(0, capture.size() - suffix.size()) + ".dump-";
    std::string path;
    do {
        path = stem + std::to_string(dump_number_.fetch_add(1) + 1) + std::string(suffix);
    } while (is_taken(path));
    return path;
}

std::string recording_session::write_dump(drain_thread& drain, const session_options& options, const std::string& path,
                                          const std::string& reason) {
    try {
        (void)background_.wait_until_idle(longest_wait_for_window);
        drain.dump(path, reason);
        return write_bounded_exports(options, path);
    } catch (const std::exception& failure) {
        return failure.what();
    }
}

session_result recording_session::dump(const std::string& wanted_path, bool waits, std::string& text) {
    std::shared_ptr<drain_thread> drain;
    session_options options;
    {
        const std::lock_guard lock(mutex_);
        options = options_;
        if (recording()) drain = draining();
        if (drain == nullptr) {
            text = recording() ? "nothing was recorded yet" : "no recording is running";
            return session_result::wrong_state;
        }
    }
    text = drain->await_capture_while_disk_answers(longest_standstill)
               ? drain->making_problem()
               : "no dump: the disk of the capture does not answer";
    if (text.empty() && !wanted_path.empty()) text = path_problem(wanted_path);
    if (!text.empty()) return session_result::failed;
    // The program may go elsewhere meanwhile.
    const std::string path = wanted_path.empty() ? unused_dump_path(absolute_capture_path())
                                                 : std::filesystem::absolute(wanted_path).string();
    const auto problem = std::make_shared<std::string>();
    exporter_.post([this, drain, options, path, problem] {
        *problem = write_dump(*drain, options, path, "it was asked for");
        if (!problem->empty()) warn_once(*problem);
    });
    text = path;
    if (!waits) return session_result::ok;
    if (!exporter_.wait_while_it_works(longest_standstill)) {
        text = "no dump yet: the disk of the capture, or of the dump, does not answer";
        return session_result::failed;
    }
    if (problem->empty()) return session_result::ok;
    text = *problem;
    return session_result::failed;
}

// Steps are looked at while a window is open. REQUIRES: mutex_ is held.
void recording_session::begin_slow_steps() {
    slow_steps_.reset();
    double factor = 0;
    if (!options_.dump_on_slow_step.empty() && parse_slow_factor(options_.dump_on_slow_step, factor)) {
        slow_steps_.emplace(factor);
    }
    dumps_left_ = options_.dump_limit;
    latest_dump_ns_ = 0;
}

// At most one in a kept period: one before has the most of what there is. REQUIRES: mutex_ is held.
void recording_session::note_slow_step() {
    if (!slow_steps_) return;
    if (window_state_ != window_state::open) return slow_steps_->forget_begin();
    const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
    const auto reason = slow_steps_->begin_step(current_step() - 1, now);
    if (!reason || dumps_left_ == 0) return;
    keep_limits limits;
    (void)parse_keep(options_.keep, limits);
    if (latest_dump_ns_ != 0 && (!exporter_.is_idle() || now - latest_dump_ns_ < limits.time_ns)) return;
    const auto drain = draining();
    if (drain == nullptr) return;
    latest_dump_ns_ = now;
    --dumps_left_;
    exporter_.post([this, drain, options = options_, reason = *reason] {
        (void)drain->sync();                           // until the capture is made it has no name
        if (!drain->making_problem().empty()) return;  // it was said
        const std::string problem = write_dump(*drain, options, unused_dump_path(absolute_capture_path()), reason);
        if (!problem.empty()) warn_once(problem);
    });
}

}  // namespace prof
