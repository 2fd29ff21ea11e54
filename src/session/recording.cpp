// SPDX-License-Identifier: Apache-2.0
#include "session/recording.hpp"

#include <exception>
#include <new>
#include <utility>

#include "base/disk_watch.hpp"
#include "base/json_text.hpp"
#include "base/signal_handler.hpp"
#include "ring/registry.hpp"
#include "session/control.hpp"
#include "session/process/capture_place.hpp"
#include "session/process/earlier_nvtx.hpp"
#include "session/process/journal_notes.hpp"
#include "session/process/warn_once.hpp"
#include "session/session_callbacks.hpp"

namespace prof {

recording_session::recording_session()
    : settings_(inherited(), gpu_session::has_gpu_of_its_own()),
      exit_({.complete = session_callbacks::complete_at_exit,
             .end_here = session_callbacks::end_here,
             .on_exit = session_callbacks::on_exit,
             .close_control = close_control,
             .leave_control = leave_control}),
      rings_(inherited() != nullptr, session_callbacks::on_first_use),
      capture_(settings_, rings_, exit_),
      gpu_(settings_, rings_, exit_, capture_, gpu_session::has_gpu_of_its_own(), session_callbacks::on_profiler_call),
      idle_(settings_, rings_, exit_, gpu_),
      settling_(capture_),
      dumps_(settings_, capture_, settling_, exports_),
      windows_(parts_, dumps_, inherited(), session_callbacks::on_watched_range),
      commands_(parts_, windows_),
      threads_(parts_, windows_, session_callbacks::on_record_at_rest),
      preparation_(inherited() != nullptr, session_callbacks::await_preparation) {}

recording_session::~recording_session() = default;

void recording_session::prepare() {
    preparation_.run([] { instance().make_ready(); });
}

void recording_session::make_ready() {
    begin_log();
    attach_to_earlier_nvtx();
    windows_.prepare();
    const recording_settings::snapshot environment = settings_.environment();
    log_line(environment->autostart ? "libprof is ready, and records by itself" : "libprof is ready");
    if (environment->autostart) start_by_itself(*environment);
    if (is_control_asked_for(*environment)) open_control();
}

void recording_session::start_by_itself(const session_options& options) {
    const outcome started = start(options, requester::itself);
    // Its message may name a directory.
    if (started.code() != outcome_code::failed) return;
    const std::string line = message_safe(started.message());
    warn_once(line, PROF_LOG_ERROR);
    note_loss(options.run_journal, line);
}

void recording_session::begin_by_itself() {
    const recording_settings::snapshot environment = settings_.note_autostart();
    if (environment->autostart && installed_region() != nullptr && !recording()) start_by_itself(*environment);
}

void recording_session::on_cuda_init() {
    gpu_session::note_cuda_starts();
    try {
        instance().prepare_for_cuda();
    } catch (...) {
        (void)gpu_session::note_cuda();  // for a later preparation, with more success
        throw;
    }
}

void recording_session::note_torch() noexcept {
    try {
        instance().windows_.note_torch();
    } catch (const std::bad_alloc&) {
        // Its allocator is looked for again when CUDA starts.
    }
}

void recording_session::prepare_for_cuda() {
    threads_.wake();
    prepare();
    if (!gpu_.may_use_gpu()) return;
    begin_inherited();
    windows_.on_cuda(gpu_session::note_cuda());
    open_control_of_plan();
}

void recording_session::open_control_of_plan() noexcept {
    if (is_control_open() || windows_.steps().use() != step_use::opens_windows || rings_.inherits()) return;
    if (!is_in_signal_handler()) open_control();
}

// On a thread of libprof's: a disk that does not answer is not waited for, and shows when the capture is to be made.
outcome recording_session::prepare_directory(const session_options& options) {
    constexpr std::chrono::milliseconds patience{1000};
    const auto prepared = std::make_shared<outcome>();
    settling_.post([prepared, directory = options.output_dir] {
        const disk_call call;
        *prepared = prof::prepare_directory(directory);
    });
    return settling_.wait_until_idle(patience) ? *prepared : outcome{};
}

bool recording_session::step() {
    if (!recording()) return false;
    if (windows_.steps().may_count_by_program()) {
        windows_.steps().note_program_counts();
        windows_.count_step();
        open_control_of_plan();
    }
    return true;
}

outcome recording_session::merge(std::span<const std::string> settings, session_options& out) {
    return recording_settings::merge(settings, windows_.what_is_fixed(), out);
}

result<std::string> recording_session::dump(const std::string& path, bool waits) {
    auto found = windows_.find_recorded();
    if (!found.ok()) return found.failure();
    return dumps_.dump(found.value().drain, found.value().options, path, waits);
}

}  // namespace prof
