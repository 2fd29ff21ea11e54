// SPDX-License-Identifier: Apache-2.0
#include "session/parts/idle_observer.hpp"

#include <exception>
#include <string>
#include <utility>

#include "ring/gate.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

void report_unseen_graphs(const std::string& problem) {
    warn_once("idle_graph_nodes: graphs made while nothing is recorded are not seen: " + problem);
}

}  // namespace

std::uint32_t idle_observer::next_epoch() {
    return observes_idle_graphs(*settings_.options()) ? observed_epoch_bit | (epochs_.fetch_add(1) + 1) : gate_.load();
}

void idle_observer::begin() {
    if (exit_.has_begun() || !observes_idle_graphs(*settings_.options())) return;
    {
        const session_lock lock(mutex_);
        observes_ = true;
    }
    rings_.install();
    set_gate(recording_epoch, next_epoch());
    observe_graphs();
}

void idle_observer::observe_graphs() {
    if (exit_.has_begun() || !observes_idle_graphs(*settings_.options()) || !gpu_.has_cuda()) return;
    try {
        if (const outcome observed = gpu_.observe_graphs(); !observed.ok()) report_unseen_graphs(observed.message());
    } catch (const std::exception& failure) {
        report_unseen_graphs(failure.what());
    }
}

void idle_observer::begin_drain() {
    const session_lock lock(mutex_);
    if (!observes_ || drain_ != nullptr) return;
    try {
        drain_ = std::make_shared<drain_thread>(rings_.memory(), nullptr, drop_counts{}, rings_.history());
    } catch (const std::exception& failure) {
        set_gate(recording_epoch, gate());  // or rings would fill that no thread reads
        report_unseen_graphs(failure.what());
    }
}

void idle_observer::stop() {
    std::shared_ptr<drain_thread> drain;
    {
        const session_lock lock(mutex_);
        if (!observes_) return;
        observes_ = false;
        drain = std::move(drain_);
    }
    set_gate(recording_epoch, 0);
    if (drain != nullptr) drain->finish(format::end_reason::none).ignore();
}

}  // namespace prof
