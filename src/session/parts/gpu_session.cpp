// SPDX-License-Identifier: Apache-2.0
#include "session/parts/gpu_session.hpp"

#include <exception>
#include <utility>

#include "hooks/allocator/torch_allocator.hpp"
#include "hooks/cupti/gpu_wait.hpp"
#include "hooks/lines/call_lines.hpp"
#include "session/process/injections.hpp"
#include "session/process/patience.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr const char* device_launches_notice =
    "a module was loaded whose kernels can launch kernels (dynamic parallelism): of kernels that the GPU launched "
    "itself "
    "there are no records";
constexpr const char* another_client_notice =
    "another client of CUPTI's activity records is in the program: it and this recording took records from each other";

constexpr const char* used_twice = "an error in libprof: two threads of it used CUPTI at once; GPU work may be missing";

}  // namespace

// As long as it lives, the calling thread is the one user of CUPTI; if another thread is that already, it is false.
class gpu_session::sole_use {
public:
    explicit sole_use(gpu_session& all) noexcept : all_(all), is_sole_(!all.is_in_use_.exchange(true)) {
        if (!is_sole_) warn_once(used_twice, PROF_LOG_ERROR);
    }
    ~sole_use() {
        if (is_sole_) all_.is_in_use_ = false;
    }
    sole_use(const sole_use&) = delete;
    sole_use& operator=(const sole_use&) = delete;
    explicit operator bool() const noexcept { return is_sole_; }

private:
    gpu_session& all_;
    const bool is_sole_;
};

gpu_session::gpu_session(recording_settings& settings, session_rings& rings, process_exit& exit,
                         capture_in_progress& capture, bool may_use_gpu, profiler_observer observer) noexcept
    : settings_(settings),
      rings_(rings),
      exit_(exit),
      capture_(capture),
      may_use_gpu_(may_use_gpu),
      observer_(observer) {}

// In a forked child the loader is not asked: a thread of the parent's that was loading a library holds its lock for
// ever.
bool gpu_session::has_cuda() const noexcept {
    return may_use_gpu_ && (cuda_seen || (!rings_.inherits() && cuda_is_initialised()));
}

// Libcupti registers exit handlers as it is loaded, after which it must not be called. Another thread may call exit in
// that moment, so libprof's handler stands on both sides of them. If exit was called before the second was registered,
// the first one runs right after libcupti's: the process is then known to end, and that handler waits until this thread
// is done. What remains is a thread that asks while libcupti's handlers run.
bool gpu_session::make_tracer(const session_options& options) {
    if (exit_.has_begun()) return false;
    if (tracer_ == nullptr) {
        exit_.start_thread();
        sizes_.library = options.cupti_library;
        sizes_.toolkits = settings_.toolkits();
        sizes_.may_call = [this] {
            exit_.register_handler();
            return !exit_.has_begun();
        };
        exit_.register_handler();
        tracer_ = std::make_unique<cupti_tracer>(rings_.memory(), sizes_);
        has_tracer_ = true;
    }
    return !exit_.has_begun();
}

// Exit handlers run in reverse. This one has to run before those that libcupti and the driver registered when they were
// loaded: after them CUPTI must not be called (it crashes).
void gpu_session::put_handler_first() noexcept {
    if (!handler_is_first_) exit_.register_handler();
    handler_is_first_ = true;
}

void gpu_session::attach(std::uint32_t epoch, bool cuda_is_new) {
    const recording_settings::snapshot options = settings_.options();
    const activity_set activities = activities_of(*options);
    if (activities.is_empty() || !may_use_gpu_) return;  // CUPTI is left to others
    const sole_use use(*this);
    if (!use) return;
    outcome attached;
    try {
        if (!make_tracer(*options)) return;
        const bool whole_graphs = options->cuda_graphs == graph_detail::graphs && cuda_is_new;
        lines_notice_ = record_lines(options->lines, options->library_code);
        attached = tracer_->attach(epoch, activities, whole_graphs, options->api_calls == call_level::runtime,
                                   options->allocations);
        if (attached.ok()) put_handler_first();
    } catch (const std::exception& failure) {
        attached = outcome::failed(failure.what());
    }
    if (!attached.ok()) {
        log_line(attached.message());
        return capture_.note_missing("no GPU work is recorded: " + attached.message());
    }
    log_line("CUPTI records GPU work");
    std::string notice;
    if (activities.has(activity::kernels)) notice = graphs_notice(*options, cuda_is_new);
    if (!notice.empty()) warn_once(notice);
    capture_.note_tracer(*tracer_, notice, lines_notice_);
}

// CUPTI crashes the next launch of a graph that was instantiated before whole graphs were switched on. So that is done
// only where no graph can exist yet; else one line states that it came too late. "" where all is as asked for.
std::string gpu_session::graphs_notice(const session_options& options, bool cuda_is_new) const {
    if (options.cuda_graphs != graph_detail::graphs || tracer_->records_whole_graphs()) return {};
    std::string notice = cuda_is_new ? "cuda_graphs=graphs: this CUPTI does not record whole graphs"
                                     : "cuda_graphs=graphs: recording began after CUDA did, when graphs may exist that "
                                       "cannot be recorded as a whole";
    return notice + "; they are recorded node by node";
}

void gpu_session::observe_profiler_calls() {
    const sole_use use(*this);
    if (!use || !make_tracer(*settings_.options())) return;
    const outcome observed = tracer_->observe_profiler_calls(observer_);
    if (observed.ok()) {
        put_handler_first();
    } else {
        warn_once("capture_range=cudaProfilerApi: nothing is recorded: " + observed.message());
    }
}

outcome gpu_session::observe_graphs() {
    const sole_use use(*this);
    if (!use) return outcome::failed(used_twice);
    if (!make_tracer(*settings_.options())) return {};
    outcome observed = tracer_->observe_graphs();
    if (observed.ok()) put_handler_first();
    return observed;
}

void gpu_session::stop_recording() noexcept {
    const sole_use use(*this);
    if (use && tracer_ != nullptr) tracer_->stop_recording();
}

void gpu_session::stop_observing() noexcept {
    const sole_use use(*this);
    if (use && tracer_ != nullptr) tracer_->detach(false);
}

// Everything is read before CUPTI is detached from: kernel names are its memory. When the process exits the driver may
// be half gone: it is neither waited for nor finalized.
void gpu_session::settle(const std::shared_ptr<drain_thread>& drain, bool exits) {
    const sole_use use(*this);
    if (!use || tracer_ == nullptr) return;
    if (tracer_->attached()) {
        if (!exits) wait_for_gpu(tracer_->driver());
        tracer_->flush(true);
        tracer_->disable();
        // The end of the drain thread is waited for afterwards, and no longer than that.
        if (drain != nullptr) (void)drain->sync_at_last(exits ? longest_standstill : drain_thread::for_ever);
        if (drain == nullptr) tracer_->discard_completed();  // no record was made: it is a warm-up's
        if (!exits && tracer_->wait_until_left() && drain != nullptr) (void)drain->sync_at_last();
    }
    const bool was_attached = tracer_->attached();
    tracer_->detach(!exits);
    if (was_attached) log_line("CUPTI is free for others");
    if (cupti_tracer::kernels_may_launch() && drain != nullptr) {
        drain->set_property("device_launches_notice", device_launches_notice);
    }
    // NCCL's plugins are known since the first communicator.
    if (const std::string notice = nccl_notice(); drain != nullptr && settings_.options()->nccl && !notice.empty()) {
        drain->set_property("nccl_notice", notice);
    }
    if (settings_.options()->allocations && was_torch_allocator_followed() && drain != nullptr) {
        drain->set_property("allocator", "pytorch");
    }
    if (!tracer_->met_another_client()) return;
    if (drain != nullptr) drain->set_property("cupti_notice", another_client_notice);
    warn_once(another_client_notice);
}

void gpu_session::leave_to_parent() const noexcept {
    cuda_is_parents = cuda_is_parents || has_tracer_ || cuda_seen;
    if (has_tracer_) cupti_tracer::leave_to_parent();
}

void gpu_session::note_fork() noexcept { cuda_is_parents = cuda_is_parents || cuda_is_starting; }

}  // namespace prof
