// SPDX-License-Identifier: Apache-2.0
#include "hooks/python/python_steps.hpp"

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/clock.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

// After so many steps of one optimizer, those that have not stepped are no longer waited for: without a loop, before
// and after the optimizers of a step are known …
constexpr std::uint32_t same_again = 2, same_again_in_cycle = 8;
// … and with one, if the method `step` of another object is called in a loop around it.
constexpr std::uint32_t most_inner_turns = 64;
// A loop that has gone round so often does not give way to one around it.
constexpr std::uint32_t many_turns = 32;

// The thread with the steps; 0: there is none.
constinit std::atomic<std::uint64_t> owner{0};

// observed_steps. Only the thread with the steps writes.
constinit std::atomic<std::uint64_t> steps_begun{0};
constinit std::atomic<std::uint64_t> first_begin_ns{0};
constinit std::atomic<std::uint64_t> latest_begin_ns{0};

void note_begin() noexcept {
    const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (steps_begun == 0) first_begin_ns = now;
    latest_begin_ns = now;
    ++steps_begun;
}

}  // namespace

observed_steps python_steps::observed() noexcept {
    const std::uint64_t begun = steps_begun;
    return {.begun = begun, .first_ns = first_begin_ns, .latest_ns = latest_begin_ns};
}

void python_steps::thread_ended(std::uint64_t number) noexcept { (void)owner.compare_exchange_strong(number, 0); }

bool python_steps::guard(python_object object) {
    if (object == nullptr || on_death_ == nullptr) return false;
    if (references_.contains(object)) return true;
    const python_object reference = python_.weak_reference(object, on_death_);
    if (reference == nullptr) {
        python_.clear_error();
        return false;
    }
    references_[object] = reference;
    return true;
}

const void* python_steps::object_died(python_object reference) noexcept {
    const auto found = std::find_if(references_.begin(), references_.end(),
                                    [&](const auto& entry) { return entry.second == reference; });
    if (found == references_.end()) return nullptr;
    const void* const object = found->first;
    references_.erase(found);
    made_.erase(object);
    cycle_.erase(object);
    std::erase_if(stepped_, [&](const auto& entry) { return entry.first == object; });
    graphs_.erase(object);
    compiled_.erase(object);
    for (auto* const table : {&graphs_, &compiled_}) {
        for (auto& [_, optimizers] : *table) optimizers.erase(object);
    }
    if (capturing_ == object) capturing_ = nullptr;
    python_.release(reference);
    return object;
}

// Where another thread has trained before, nothing has begun, and this thread trains, it takes the steps over.
bool python_steps::is_owner(thread caller, bool trains) noexcept {
    std::uint64_t now = owner.load(std::memory_order_relaxed);
    if (now == caller.number) {
        if (startup_on_ == caller.number && recorded_on_ != caller.number) close_startup(caller);
        return true;
    }
    if (now != 0 && (!trains || has_begun_)) {
        if (startup_on_ == caller.number) close_startup(caller);
        return false;
    }
    if (!owner.compare_exchange_strong(now, caller.number)) return false;
    if (open_ == range::startup && is_recorded_) startup_on_ = recorded_on_;
    open_ = range::none;
    is_recorded_ = false;
    return true;
}

// The range `startup` of a thread that does not have the steps.
void python_steps::close_startup(thread) noexcept {
    startup_on_ = 0;
    phases_.pop();
}

void python_steps::replace(thread caller, range with, std::uint32_t witness) noexcept {
    if (is_recorded_) {
        is_recorded_ = false;
        if (recorded_on_ == caller.number) phases_.pop();
    }
    open_ = with;
    if (with == range::none || (with == range::step && are_the_programs_)) return;
    recorded_on_ = caller.number;
    is_recorded_ = true;
    if (with == range::step) note_begin();
    if (!phases_.push(with == range::step ? "step" : "startup", witness)) is_recorded_ = false;
}

void python_steps::clear() noexcept {
    stepped_.clear();
    has_stepped_ = has_data_ = has_called_ = met_end_ = has_fetched_ = false;
}

void python_steps::leave(thread caller) noexcept {
    if (is_recorded_ && is_owner(caller)) replace(caller, range::none);
    open_ = range::none;
    is_recorded_ = false;
    clear();
}

void python_steps::start_over(thread caller) noexcept {
    is_recorded_ = false;
    may_have_models_ = true;
    startup_on_ = 0;
    owner.store(0);
    steps_begun = 0;
    leave(caller);
    is_optimizer_due_ = has_optimizers();
    has_unknown_ = false;
    made_.clear();
    cycle_.clear();
    is_cycle_known_ = false;
    step_loop_ = {};
}

void python_steps::forget() noexcept {
    owner.store(0);
    steps_begun = 0;
    open_ = range::none;
    is_recorded_ = has_begun_ = are_marked_ = is_optimizer_due_ = has_unknown_ = is_cycle_known_ = zero_grad_leads_ =
        false;
    startup_on_ = 0;
    made_.clear();
    cycle_.clear();
    graphs_.clear();
    capturing_ = nullptr;
    step_loop_ = {};
    clear();
}

void python_steps::end(thread caller) noexcept {
    if (startup_on_ == caller.number) close_startup(caller);
    if (is_recorded_ && recorded_on_ == caller.number) replace(caller, range::none);
}

void python_steps::begin(thread caller, std::uint32_t witness) noexcept {
    replace(caller, range::step, has_begun_ ? witness : 0);
    has_begun_ = true;
    clear();
}

void python_steps::prepare(thread caller) noexcept {
    if (open_ == range::none && !has_begun_ && caller.is_main && is_owner(caller)) replace(caller, range::startup);
}

void python_steps::make(thread caller, python_object optimizer) {
    const bool was_first = made_.empty();
    if (guard(optimizer)) made_.insert(optimizer);
    if (was_first && has_begun_ && is_owner(caller) && !are_marked_) {
        replace(caller, range::startup);  // what was taken for steps were none
        has_begun_ = false;
    } else {
        prepare(caller);
    }
}

bool python_steps::is_missing() const noexcept {
    const auto& waited_for = is_cycle_known_ ? cycle_ : made_;
    return std::any_of(waited_for.begin(), waited_for.end(), [&](const void* optimizer) {
        return std::none_of(stepped_.begin(), stepped_.end(),
                            [&](const auto& entry) { return entry.first == optimizer; });
    });
}

std::uint32_t python_steps::most_stepped() const noexcept {
    std::uint32_t most = 0;
    for (const auto& [_, count] : stepped_) most = std::max(most, count);
    return most;
}

// Where the program's loop is not known, as in code that is unrolled or called by events.
bool python_steps::is_complete_by_optimizers(sign happening) const noexcept {
    switch (happening) {
        case sign::fetch:
            if (step_loop_.is_known()) return false;  // the loop has ended; what is called with the batch decides
            break;
        case sign::forward:
            if (has_data_ && !met_end_ && !has_fetched_) return false;
            break;
        case sign::backward:
            return false;
        case sign::zero_grad:
            if (!has_fetched_ && (!zero_grad_leads_ || has_data_)) return false;
            break;
        case sign::optimizer:
            break;
    }
    return !is_missing() || most_stepped() >= (is_cycle_known_ ? same_again_in_cycle : same_again);
}

bool python_steps::is_turn_complete(sign happening, const python_way& way, python_object optimizer) noexcept {
    const std::uint32_t most = most_stepped();
    if (step_loop_.contains(way.loop) && step_loop_.contains(here_) && most < most_inner_turns) return false;
    if (is_missing() && !(happening == sign::fetch && way.is_at_head)) {
        if (!is_cycle_known_ && most < most_inner_turns && places_.has_step_around(here_, way.loop)) return false;
        const bool is_same_again =
            happening == sign::zero_grad &&
            std::any_of(stepped_.begin(), stepped_.end(), [&](const auto& entry) { return entry.first == optimizer; });
        if (most < same_again && !is_same_again) return false;
    }
    if (way.loop == step_loop_) {
        ++turns_;
    } else if (!way.loop.contains(step_loop_) || (!step_loop_.contains(last_step_) && turns_ < many_turns)) {
        step_loop_ = way.loop;
        turns_ = 0;
    }
    return true;
}

// Whether the step that is open has ended, where something happens that may begin the next.
bool python_steps::is_complete(sign happening, python_object optimizer) noexcept {
    if (!has_stepped_) return false;
    places_.locate(here_);
    const python_way way = places_.way(last_step_, here_);
    switch (way.turn) {
        case python_way::kind::unknown:
            return is_complete_by_optimizers(happening);
        case python_way::kind::within: {
            if (happening != sign::forward && happening != sign::zero_grad) return false;
            const bool is_in_loop = step_loop_.contains(here_);
            const bool has_left = step_loop_.contains(last_step_) && !is_in_loop;
            // A function with the loop was called again.
            const bool has_entered_again = has_fetched_ && is_in_loop && way.loop.contains(step_loop_);
            return has_left || has_entered_again;
        }
        case python_way::kind::around:
            return is_turn_complete(happening, way, optimizer);
    }
    return false;
}

void python_steps::begin_next(thread caller) noexcept {
    const bool is_known =
        is_cycle_known_ && stepped_.size() == cycle_.size() &&
        std::all_of(stepped_.begin(), stepped_.end(), [&](const auto& entry) { return cycle_.contains(entry.first); });
    if (!stepped_.empty() && !is_known) {
        try {
            cycle_.clear();
            for (const auto& [optimizer, _] : stepped_) {
                if (made_.contains(optimizer)) cycle_.insert(optimizer);
            }
            is_cycle_known_ = true;
        } catch (const std::exception&) {  // no memory
        }
    }
    begin(caller, optimizer_witness);
}

// Without optimizers: whether a call, or the batch before it, is not of the same turn of a loop as the last call.
bool python_steps::is_another_call() noexcept {
    if (!has_called_) return false;
    places_.locate(here_);
    return places_.way(last_call_, here_).turn != python_way::kind::within;
}

bool python_steps::is_begun_by_fetch(thread caller, bool has_gradients) noexcept {
    if (owner.load(std::memory_order_relaxed) == 0 && !caller.is_main) return false;  // it fetches for another thread
    if (!is_owner(caller) || are_marked_) return false;
    bool begins = false;
    fetch_witness_ = call_witness;
    if (!has_optimizers()) {
        // There is no model yet, where its making would have been observed.
        if (python_.variable != nullptr && !may_have_models_ && open_ == range::none && !has_begun_) return false;
        begins = open_ != range::step || is_another_call();
    } else if (has_gradients) {
        fetch_witness_ = optimizer_witness;
        begins = open_ != range::step || is_complete(sign::fetch);
        if (!begins && !has_stepped_) has_data_ = true;
        if (!begins && has_stepped_) has_fetched_ = true;
    }
    fetching_ = caller;
    return begins;
}

void python_steps::begin_fetched() noexcept {
    if (fetch_witness_ == optimizer_witness) {
        begin_next(fetching_);
    } else {
        begin(fetching_, call_witness);
    }
    has_data_ = true;
}

void python_steps::end_data(thread caller) noexcept {
    if (owner.load(std::memory_order_relaxed) == caller.number) met_end_ = true;
}

void python_steps::call(thread caller, bool evaluates) noexcept {
    const bool trains = has_optimizers() && !evaluates;
    if (!is_owner(caller, trains) || are_marked_ || capturing_ != nullptr) return;
    if (!has_optimizers()) {
        if (open_ != range::step || is_another_call()) begin(caller, call_witness);
        has_called_ = true;
        places_.locate(last_call_);
    } else if (trains) {
        train(caller, sign::forward);
    }
}

void python_steps::train(thread caller, sign happening) noexcept {
    if (!are_marked_ && (open_ != range::step || is_complete(happening))) begin_next(caller);
}

void python_steps::backward(thread caller) noexcept {
    if (!has_optimizers() || !is_owner(caller, true) || are_marked_ || capturing_ != nullptr) return;
    train(caller, sign::backward);
}

void python_steps::zero_grad(thread caller, python_object optimizer) noexcept {
    if (!has_optimizers() || !is_owner(caller, true) || are_marked_ || capturing_ != nullptr) return;
    if (!has_begun_) {
        zero_grad_leads_ = true;
        begin_next(caller);
    } else if (is_complete(sign::zero_grad, optimizer)) {
        begin_next(caller);
    }
}

void python_steps::begin_optimizer(thread caller, python_object optimizer) noexcept {
    if (!is_owner(caller, true) || are_marked_ || capturing_ != nullptr) return;
    if (open_ != range::step || is_complete(sign::optimizer, optimizer)) begin_next(caller);
}

void python_steps::step(thread caller, python_object optimizer, bool is_nested) {
    if (!is_owner(caller, true)) return;
    const bool is_guarded = guard(optimizer);
    if (capturing_ != nullptr) {
        if (is_guarded) graphs_[capturing_].insert(optimizer);
        return;
    }
    const auto found =
        std::find_if(stepped_.begin(), stepped_.end(), [&](const auto& entry) { return entry.first == optimizer; });
    if (found == stepped_.end()) {
        if (is_guarded) {
            made_.insert(optimizer);
        } else {
            has_unknown_ = true;
        }
        is_optimizer_due_ = false;
        stepped_.emplace_back(optimizer, 1);
    } else if (!is_nested) {
        ++found->second;
    }
    has_stepped_ = true;
    if (!is_nested) places_.locate(last_step_);
}

// The first such mark keeps the current step if that has not trained yet.
void python_steps::mark(thread caller) noexcept {
    if (!is_owner(caller) || capturing_ != nullptr) return;
    if (are_marked_ || open_ != range::step || has_stepped_ || has_called_) begin(caller, profiler_witness);
    are_marked_ = true;
}

void python_steps::end_marking(thread caller) noexcept {
    if (is_owner(caller)) are_marked_ = false;
}

// Nothing runs during a graph capture, so it is no step.
void python_steps::capture(thread caller, python_object graph) {
    if (!is_owner(caller, true)) return;
    capturing_ = nullptr;
    if (!guard(graph)) return;
    graphs_[graph].clear();
    capturing_ = graph;
}

void python_steps::count_steps(thread caller, const std::unordered_set<const void*>& optimizers) noexcept {
    try {
        for (const void* const optimizer : optimizers) step(caller, const_cast<python_object>(optimizer), false);
    } catch (const std::exception&) {  // no memory
    }
}

void python_steps::replay(thread caller, python_object graph) noexcept {
    const auto found = graphs_.find(graph);
    if (found == graphs_.end() || found->second.empty() || !is_owner(caller, true)) return;
    train(caller, sign::forward);
    count_steps(caller, found->second);
}

void python_steps::meet_compiled(python_object function, python_object optimizer) {
    if (guard(function) && guard(optimizer)) compiled_[function].insert(optimizer);
}

bool python_steps::begin_compiled(thread caller, python_object function) noexcept {
    const auto found = compiled_.find(function);
    if (found == compiled_.end() || found->second.empty() || !is_owner(caller, true)) return false;
    if (!are_marked_ && capturing_ == nullptr) train(caller, sign::forward);
    return true;
}

void python_steps::end_compiled(thread caller, python_object function) noexcept {
    const auto found = compiled_.find(function);
    if (found != compiled_.end() && is_owner(caller, true)) count_steps(caller, found->second);
}

}  // namespace prof
