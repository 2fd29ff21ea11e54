// A recording's GPU side: when CUPTI is attached to, and when it is detached from.
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "hooks/cupti/gpu_wait.hpp"
#include "session/process.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

constexpr const char* device_launches_notice =
    "a module was loaded whose kernels can launch kernels (dynamic parallelism): of kernels that the GPU launched "
    "itself "
    "there are no records";
constexpr const char* another_client_notice =
    "another client of CUPTI's activity records is in the program: it and this recording took records from each other";

}  // namespace

void recording_session::make_tracer() {
    if (tracer_ != nullptr) return;
    {
        const std::lock_guard lock(drain_mutex_);
        ender_.start();
    }
    tracer_options_.library = options_.cupti_library;
    tracer_options_.toolkits = environment_facts_.toolkits;
    tracer_ = std::make_unique<cupti_tracer>(*region_, tracer_options_);
    has_tracer_ = true;
    if (tracer_->problem().empty()) std::atexit(at_exit);  // at once: another thread may call exit now
}

// `cuda_is_new`: the driver is just being initialised, so that the program has done nothing with CUDA yet.
void recording_session::attach_tracer(bool cuda_is_new) {
    const activity_set what = activities_of(options_);
    if (what.is_empty() || !may_use_gpu_) return;  // CUPTI is left to others
    std::string problem;
    try {
        make_tracer();
        // Another thread may have called exit since libcupti was loaded, before our handler stood in front of its own.
        if (process_ends_) return;
        const bool whole_graphs = options_.cuda_graphs == graph_detail::graphs && cuda_is_new;
        problem = tracer_->attach(epoch_, what, whole_graphs, options_.api_calls == call_level::runtime);
        // Exit handlers run in reverse: this one before those that libcupti and the driver registered when they were
        // loaded, after which CUPTI must not be called (it crashes).
        if (problem.empty()) leave_before_cuda();
    } catch (const std::exception& failure) {
        problem = failure.what();
    }
    const std::lock_guard lock(drain_mutex_);
    if (problem.empty()) {
        attached_ = tracer_.get();
        if (what.has(activity::kernels)) report_graph_mode(cuda_is_new);
    } else {
        missing_ = "no GPU work is recorded: " + problem;
        // Where there will be no capture either, that is the line to say.
        if (!capture_path_.empty()) warn_once(missing_);
    }
    if (drain_ != nullptr) introduce_tracer();
}

// CUPTI crashes the next launch of a graph that was instantiated before whole graphs were switched on. So that is done
// only where no graph can exist yet; else one line says that it came too late.
void recording_session::report_graph_mode(bool cuda_is_new) {
    if (options_.cuda_graphs != graph_detail::graphs || tracer_->records_whole_graphs()) return;
    graphs_notice_ = cuda_is_new ? "cuda_graphs=graphs: this CUPTI does not record whole graphs"
                                 : "cuda_graphs=graphs: recording began after CUDA did, when graphs may exist that "
                                   "cannot be recorded as a whole";
    graphs_notice_ += "; they are recorded node by node";
    warn_once(graphs_notice_);
}

void recording_session::leave_before_cuda() {
    if (!exit_handler_is_last_) std::atexit(at_exit);
    exit_handler_is_last_ = true;
}

// To the drain thread, whichever of the two came first: what it drains, and what the capture says of it.
void recording_session::introduce_tracer() {
    if (!missing_.empty()) drain_->set_property("missing", missing_);
    if (attached_ == nullptr) return;
    drain_->set_property("cupti_version", std::to_string(attached_->library().version));
    drain_->set_property("cupti_library", attached_->library().path);
    drain_->set_property("cuda_graphs", attached_->records_whole_graphs() ? "graphs" : "nodes");
    drain_->set_property("api_calls", attached_->records_runtime_calls() ? "runtime" : "driver");
    if (!graphs_notice_.empty()) drain_->set_property("cuda_graphs_notice", graphs_notice_);
    drain_->set_tracer(attached_);
}

// Everything is read before CUPTI is detached from: kernel names are its memory. When the process exits the driver may
// be half gone: it is neither waited for nor finalized.
void recording_session::settle(const std::shared_ptr<drain_thread>& drain, bool exits) {
    if (tracer_ == nullptr) return;
    if (tracer_->attached()) {
        if (!exits) wait_for_gpu();
        tracer_->flush(true);
        tracer_->disable();
        // The end of the drain thread is waited for afterwards, and no longer than that.
        if (drain != nullptr) (void)drain->sync_at_last(exits ? longest_standstill : drain_thread::for_ever);
        if (!exits && tracer_->wait_until_left() && drain != nullptr) (void)drain->sync_at_last();
    }
    tracer_->detach(!exits);
    if (cupti_tracer::kernels_may_launch() && drain != nullptr) {
        drain->set_property("device_launches_notice", device_launches_notice);
    }
    if (!tracer_->met_another_client()) return;
    if (drain != nullptr) drain->set_property("cupti_notice", another_client_notice);
    warn_once(another_client_notice);
}

}  // namespace prof
