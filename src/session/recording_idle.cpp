// The session while nothing is recorded, with idle_graph_nodes: what is then recorded serves the graphs alone.
#include <exception>

#include "hooks/cupti/gpu_wait.hpp"
#include "ring/registry.hpp"
#include "session/process.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

void say_not_seen(const std::string& problem) {
    warn_once("idle_graph_nodes: graphs made while nothing is recorded are not seen: " + problem);
}

}  // namespace

// What the gate shows while nothing is recorded.
std::uint32_t recording_session::next_idle_epoch() noexcept {
    return observes_idle_graphs(options_) ? observed_epoch_bit | ++idle_epoch_ : idle_gate_.load();
}

// From now on there is no capture that is drained to. REQUIRES: mutex_ is held, or the background thread runs this, for
// which whoever opens a window waits.
void recording_session::observe_while_idle() {
    if (process_ends_ || !observes_idle_graphs(options_)) return;
    {
        const std::lock_guard lock(drain_mutex_);
        observing_ = true;
    }
    install_region(region_, on_first_use);
    set_gate(recording_epoch, next_idle_epoch());
    observe_idle_graphs();
}

void recording_session::observe_idle_graphs() {
    if (process_ends_ || !observes_idle_graphs(options_) || !has_cuda()) return;
    std::string problem;
    try {
        make_tracer();
        problem = tracer_->observe_graphs();
        if (problem.empty()) leave_before_cuda();
    } catch (const std::exception& failure) {
        problem = failure.what();
    }
    if (!problem.empty()) say_not_seen(problem);
}

// REQUIRES: drain_mutex_ is held.
void recording_session::begin_idle_drain() {
    if (idle_drain_ != nullptr) return;
    try {
        idle_drain_ = std::make_shared<drain_thread>(*region_, nullptr, drop_counts{}, memory_.get());
    } catch (const std::exception& failure) {
        set_gate(recording_epoch, idle_gate_);  // or rings would fill that nobody reads
        say_not_seen(failure.what());
    }
}

// The last records of this time are read. REQUIRES: mutex_ is held.
void recording_session::stop_observing() {
    std::shared_ptr<drain_thread> drain;
    {
        const std::lock_guard lock(drain_mutex_);
        if (!observing_) return;
        observing_ = false;
        drain = std::move(idle_drain_);
    }
    set_gate(recording_epoch, 0);
    if (drain != nullptr) (void)drain->finish(format::end_reason::none);
}

}  // namespace prof
