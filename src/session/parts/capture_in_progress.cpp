// SPDX-License-Identifier: Apache-2.0
#include "session/parts/capture_in_progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/gpu_tools.hpp"
#include "capture/recovery/process_state.hpp"
#include "ring/registry.hpp"
#include "session/process/capture_place.hpp"
#include "session/process/injections.hpp"
#include "session/process/journal_notes.hpp"
#include "session/process/left_rings_notice.hpp"
#include "session/process/properties.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds longest_wait_at_first_record{100};
constexpr const char* refused_notice =
    "recording could not start at the first record, for want of memory or of a thread: what follows is not recorded";

}  // namespace

void record_nothing(const char* reason) noexcept {
    set_gate(recording_epoch, 0);
    std::array<char, 4096 + 256> line{};  // it may name a path
    const int bytes = std::snprintf(line.data(), line.size(), "%s; nothing is recorded", reason);
    warn_once({line.data(), std::min(line.size() - 1, static_cast<std::size_t>(std::max(bytes, 0)))}, PROF_LOG_ERROR);
}

void capture_in_progress::reset() {
    const session_lock lock(mutex_);
    path_.clear();
    base_.clear();
    missing_.clear();
    graphs_notice_.clear();
    tracer_ = nullptr;
    totals_ = {};
    was_refused_ = false;
}

bool capture_in_progress::close_to_stragglers() {
    const session_lock lock(mutex_);
    if (drain_ == nullptr) accepts_ = false;
    return drain_ == nullptr;
}

void capture_in_progress::open_window(const format::window_entry& window, bool is_first) {
    const session_lock lock(mutex_);
    accepts_ = true;
    if (is_first) number_ = rings_.memory().begin_capture();
    if (is_first) drops_before_ = rings_.memory().drops();
    window_ = window;
    window_.begin_ticks = ticks_now();
}

void capture_in_progress::end_window(std::uint64_t last_step, bool ends_with_step) {
    const session_lock lock(mutex_);
    // Again: a launch may have been under way when the window opened.
    if (window_.warmup_calls != 0) window_.warmup_calls = cupti_tracer::last_unrecorded_call();
    window_.end_ticks = ticks_now();
    window_.last_step = last_step;
    window_.ends_with_step = ends_with_step ? 1 : 0;
}

void capture_in_progress::publish_window() {
    const session_lock lock(mutex_);
    if (drain_ != nullptr) drain_->set_window(window_);
}

void capture_in_progress::begin() {
    const std::shared_ptr<drain_thread> drain = make_drain();
    if (drain == nullptr) return;
    ++session_mutexes_held;  // a signal's handler that exits here must not wait for it
    (void)drain->await_capture(longest_wait_at_first_record);
    --session_mutexes_held;
}

bool capture_in_progress::wants_drain() {
    const session_lock lock(mutex_);
    return accepts_ && drain_ == nullptr;
}

// Null if there is one already, or none is wanted.
std::shared_ptr<drain_thread> capture_in_progress::make_drain() {
    if (!wants_drain()) return nullptr;
    // Both read files, so the lock is not held.
    const std::string driver = driver_version();
    const std::string start = start_of_process(static_cast<std::uint32_t>(getpid()));
    const session_lock lock(mutex_);
    if (!accepts_ || drain_ != nullptr) return nullptr;
    const recording_settings::snapshot options = settings_.options();
    const process_facts facts = settings_.facts();
    region& rings = rings_.memory();
    property_list properties = capture_properties(*options, facts, rings, driver, start);
    if (rings_.inherits()) rings_.describe_child(*options, properties);
    if (was_refused_) properties.emplace_back("recording_notice", refused_notice);
    graph_history* const history = observes_idle_graphs(*options) ? rings_.history() : nullptr;
    const auto make = [this, options, facts, properties, number = number_] {
        return make_capture(*options, facts, properties, number);
    };
    exit_.start_thread();
    exit_.note_capture(false);
    drain_ = std::make_shared<drain_thread>(rings, make, drops_before_, history, options->keep.value, properties);
    was_refused_ = false;
    drain_->set_window(window_);
    introduce_tracer();
    return drain_;
}

// On the drain thread, which may have to wait for the disk.
std::unique_ptr<capture_writer> capture_in_progress::make_capture(const session_options& options,
                                                                  const process_facts& facts,
                                                                  const property_list& properties,
                                                                  std::uint32_t number) {
    try {
        // The program may have changed its directory.
        const bool is_relative = options.output_dir.front() != '/' && !facts.working_directory.empty();
        const std::string base = is_relative ? facts.working_directory + "/" : "";
        session_options capture_options = options;
        capture_options.output_dir = base + options.output_dir;
        if (const outcome made = make_directories(capture_options.output_dir); !made.ok()) throw error(made.message());
        region& rings = rings_.memory();
        capture_writer_options wanted;
        wanted.deflate = options.compress;
        wanted.id = rings.header().id;
        wanted.number = number;
        wanted.shared_memory = rings.writing_area();
        if (!rings.path().empty() && rings_.have_name()) wanted.first_property = {"rings_path", rings.path()};
        const std::string path = unused_capture_path(capture_options, facts);
        auto out = std::make_unique<capture_writer>(path, wanted);
        // Before all else is written: the rest of a write that is cut short is in the rings' file.
        rings.set_capture_path(path);
        if (rings_.have_name()) rings.publish();
        for (const auto& [key, value] : properties) out->property(key, value);
        if (const std::string notice = left_rings_notice(rings.path()); !notice.empty()) {
            out->property("left_rings_notice", notice);
        }
        out->flush();
        const session_lock lock(mutex_);
        base_ = base;
        path_ = path.substr(base.size());
        exit_.note_capture(true);
        if (!missing_.empty()) warn_once(missing_);
        return out;
    } catch (const std::bad_alloc&) {
        record_nothing("no memory for the capture");
        note_loss(options.run_journal, "no memory for the capture");
        throw;
    } catch (const std::exception& failure) {
        record_nothing(failure.what());
        note_loss(options.run_journal, failure.what());
        throw;
    }
}

void capture_in_progress::note_refusal() {
    const session_lock lock(mutex_);
    was_refused_ = true;
}

void capture_in_progress::leave_failed() {
    const std::shared_ptr<drain_thread> failed = drain_if_made();
    if (failed == nullptr || failed->creation().ok()) return;
    failed->finish(format::end_reason::none).ignore();
    const session_lock lock(mutex_);
    drain_ = nullptr;
}

capture_stage capture_in_progress::stage_alone() const {
    if (drain_ != nullptr) return capture_stage::under_way;
    return accepts_ && first_use_was_met() ? capture_stage::beginning : capture_stage::none;
}

capture_stage capture_in_progress::stage() {
    const session_lock lock(mutex_);
    return stage_alone();
}

std::shared_ptr<drain_thread> capture_in_progress::drain_if_made() {
    const session_lock lock(mutex_);
    return drain_;
}

std::shared_ptr<drain_thread> capture_in_progress::drain_of_records() {
    try {
        if (stage() == capture_stage::beginning) (void)make_drain();
    } catch (const std::exception&) {
        // The thread that made the first record reports it.
    }
    return drain_if_made();
}

std::shared_ptr<drain_thread> capture_in_progress::take() {
    (void)drain_of_records();
    const session_lock lock(mutex_);
    accepts_ = false;
    return std::move(drain_);
}

void capture_in_progress::note_tracer(cupti_tracer& tracer, const std::string& graphs_notice,
                                      const std::string& lines_notice) {
    const session_lock lock(mutex_);
    tracer_ = &tracer;
    if (!graphs_notice.empty()) graphs_notice_ = graphs_notice;
    lines_notice_ = lines_notice;
    if (drain_ != nullptr) introduce_tracer();
}

void capture_in_progress::note_missing(const std::string& problem) {
    const session_lock lock(mutex_);
    missing_ = problem;
    // Where there will be no capture either, that is the line to write.
    if (!path_.empty()) warn_once(missing_);
    if (drain_ != nullptr) introduce_tracer();
}

// To the drain thread, whether it was made before the tracer or after it: what it drains, and what the capture states
// about it.
void capture_in_progress::introduce_tracer() {
    if (!missing_.empty()) drain_->set_property("missing", missing_);
    if (tracer_ == nullptr) return;
    drain_->set_property("cupti_version", std::to_string(tracer_->library().version));
    drain_->set_property("cupti_library", tracer_->library().path);
    drain_->set_property("cuda_graphs", tracer_->records_whole_graphs() ? "graphs" : "nodes");
    drain_->set_property("cuda_runtime", tracer_->library().cuda_runtime);
    drain_->set_property("api_calls", tracer_->records_runtime_calls() ? "runtime" : "driver");
    if (!graphs_notice_.empty()) drain_->set_property("cuda_graphs_notice", graphs_notice_);
    if (!lines_notice_.empty()) drain_->set_property("lines_notice", lines_notice_);
    drain_->set_tracer(tracer_);
}

void capture_in_progress::report_taken_variables(drain_thread& drain) {
    const session_lock lock(mutex_);
    if (!missing_.empty()) return;
    missing_ = taken_variables_notice(tracer_ == nullptr && !activities_of(*settings_.options()).is_empty());
    if (missing_.empty()) return;
    drain.set_property("missing", missing_);
    const std::string_view tool = gpu_tool_around();
    const bool is_said_by_run = !settings_.options()->run_journal.empty() && !tool.empty();
    if (!is_said_by_run || missing_ != gpu_tool_notice(tool)) warn_once(missing_);
}

std::string capture_in_progress::missing() {
    const session_lock lock(mutex_);
    return missing_;
}

std::string capture_in_progress::path() {
    const session_lock lock(mutex_);
    return path_;
}

std::string capture_in_progress::absolute_path() {
    const session_lock lock(mutex_);
    return base_ + path_;
}

void capture_in_progress::keep_totals(const drain_thread& drain) {
    const session_lock lock(mutex_);
    totals_ = drain.so_far();
}

std::string capture_in_progress::gpu_state(bool is_recording, bool uses_cuda) {
    if (!is_recording) return "no recording";
    if (!missing_.empty()) return missing_;
    if (activities_of(*settings_.options()).is_empty()) return "no GPU work is recorded: activities=none";
    if (tracer_ == nullptr) {
        return uses_cuda ? "CUPTI is not asked yet" : "the program does not use CUDA yet";
    }
    return "recorded by CUPTI " + std::to_string(tracer_->library().version) + " (" + tracer_->library().path + ")";
}

void capture_in_progress::describe(session_status& out, bool is_recording, bool uses_cuda) {
    const session_lock lock(mutex_);
    out.gpu = gpu_state(is_recording, uses_cuda);
    out.records_gpu = is_recording && tracer_ != nullptr && missing_.empty();
    out.is_waiting = is_recording && stage_alone() == capture_stage::none;
    out.capture = base_ + path_;
    const collector::totals totals = drain_ != nullptr ? drain_->so_far() : totals_;
    out.records = totals.records;
    out.bytes = totals.bytes;
    for (std::size_t cause = 0; cause < totals.dropped.size(); ++cause) {
        if (totals.dropped[cause] == 0) continue;
        out.dropped.emplace_back(to_string(static_cast<drop_cause>(cause)), totals.dropped[cause]);
    }
}

}  // namespace prof
