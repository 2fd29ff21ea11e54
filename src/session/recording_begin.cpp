// How a capture comes to be: at the first record, and not before.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "base/error.hpp"
#include "ring/registry.hpp"
#include "session/left_rings.hpp"
#include "session/process.hpp"
#include "session/properties.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds longest_wait_at_first_record{100};
constexpr const char* refused_notice =
    "there was no memory, or no thread, to begin with at the first record: what came after it is not recorded";

// Allocates nothing: there may be no memory, which is why.
void record_nothing(const char* why) noexcept {
    set_gate(recording_epoch, 0);
    std::array<char, 4096 + 256> line{};  // it may name a path
    const int bytes = std::snprintf(line.data(), line.size(), "%s; nothing is recorded", why);
    warn_once({line.data(), std::min(line.size() - 1, static_cast<std::size_t>(std::max(bytes, 0)))});
}

}  // namespace

void recording_session::on_first_use() noexcept {
    // Of a signal's handler, on a thread that may hold what this waits for.
    if (session_mutexes_held != 0 && is_in_signal_handler()) return put_off_first_use(on_first_use);
    try {
        instance().begin_drain();
        return;
    } catch (const std::bad_alloc&) {
        record_nothing("no memory for a recording");
    } catch (const std::exception& failure) {
        record_nothing(failure.what());
    }
    // Where there is a capture in the end, it says so.
    const std::lock_guard lock(instance().drain_mutex_);
    instance().was_refused_ = true;
}

// On the thread that met the first record. The file is made on the drain thread, and this one waits for it, but not for
// long: so that a process that dies in its first millisecond has a capture, too, unless the disk is slow.
void recording_session::begin_drain() {
    const std::shared_ptr<drain_thread> drain = make_drain();
    if (drain == nullptr) return;
    ++session_mutexes_held;  // a signal's handler that exits here must not wait for it
    (void)drain->await_capture(longest_wait_at_first_record);
    --session_mutexes_held;
}

// Null if there is one already, or none is wanted.
std::shared_ptr<drain_thread> recording_session::make_drain() {
    const std::lock_guard lock(drain_mutex_);
    if (observing_) begin_idle_drain();
    if (!accepting_ || drain_ != nullptr) return nullptr;
    property_list properties = capture_properties(options_, facts_, *region_);
    if (inherits_) describe_child(properties);
    if (was_refused_) properties.emplace_back("recording_notice", refused_notice);
    graph_history* const memory = observes_idle_graphs(options_) ? memory_.get() : nullptr;
    const auto make = [this, options = options_, facts = facts_, properties] {
        return make_capture(options, facts, properties);
    };
    ender_.start();
    has_capture_ = false;
    drain_ = std::make_shared<drain_thread>(*region_, make, drops_before_, memory, options_.keep.value, properties);
    was_refused_ = false;
    drain_->set_window(window_);
    introduce_tracer();
    return drain_;
}

// On the drain thread, which may have to wait for the disk.
std::unique_ptr<capture_writer> recording_session::make_capture(const session_options& options,
                                                                const process_facts& facts,
                                                                const property_list& properties) {
    try {
        // The program may be elsewhere by now.
        const bool is_relative = options.output_dir.front() != '/' && !facts.working_directory.empty();
        const std::string base = is_relative ? facts.working_directory + "/" : "";
        session_options there = options;
        there.output_dir = base + options.output_dir;
        if (const std::string problem = make_directories(there.output_dir); !problem.empty()) throw error(problem);
        capture_writer_options wanted;
        wanted.deflate = options.compress;
        wanted.id = region_->header().id;
        wanted.shared_memory = region_->writing_area();
        if (!region_->path().empty() && !rings_are_nameless_) wanted.first_property = {"rings_path", region_->path()};
        const std::string path = unused_capture_path(there, facts);
        auto out = std::make_unique<capture_writer>(path, wanted);
        // Before all else is written: what a write is cut short of is in the rings' file.
        if (!rings_are_nameless_) region_->publish();
        for (const auto& [key, value] : properties) out->property(key, value);
        if (const std::string notice = left_rings_notice(region_->path()); !notice.empty()) {
            out->property("left_rings_notice", notice);
        }
        out->flush();
        const std::lock_guard lock(drain_mutex_);
        capture_base_ = base;
        capture_path_ = path.substr(base.size());
        has_capture_ = true;
        if (!missing_.empty()) warn_once(missing_);
        return out;
    } catch (const std::bad_alloc&) {
        record_nothing("no memory for the capture");
        throw;
    } catch (const std::exception& failure) {
        record_nothing(failure.what());
        throw;
    }
}

// By a thread of ours: a disk that does not answer is not waited for, and shows when the capture is to be made.
std::string recording_session::make_place(const session_options& options) {
    constexpr std::chrono::milliseconds patience{1000};
    const auto problem = std::make_shared<std::string>();
    background_.post([problem, directory = options.output_dir] { *problem = prepare_directory(directory); });
    return background_.wait_until_idle(patience) ? *problem : std::string{};
}

// The next window tries again.
void recording_session::leave_failed_capture() {
    const std::shared_ptr<drain_thread> drain = draining();
    if (drain == nullptr || drain->making_problem().empty()) return;
    (void)drain->finish(format::end_reason::none);
    const std::lock_guard lock(drain_mutex_);
    drain_ = nullptr;
}

}  // namespace prof
