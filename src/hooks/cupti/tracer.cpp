// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/tracer.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "hooks/cupti/callbacks.hpp"
#include "hooks/cupti/graph_nodes.hpp"
#include "hooks/cupti/memory_calls.hpp"
#include "hooks/cupti/quiescence.hpp"
#include "hooks/stream_names.hpp"
#include "record/cupti/cupti_layout.hpp"
#include "record/launch_calls.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

struct activity_kind {
    std::uint32_t number;
    activity group;
};
constexpr activity_kind activity_kinds[] = {
    {layout::kind_concurrent_kernel, activity::kernels},
    {layout::kind_memcpy, activity::copies},
    {layout::kind_memcpy_peer, activity::copies},
    {layout::kind_memset, activity::sets},
};

constexpr auto device_kind = static_cast<CUpti_ActivityKind>(layout::kind_device);  // one record per GPU

// On a machine with many times more threads than cores, a thread may wait this long for its turn.
constexpr std::chrono::seconds callback_limit{1};

constexpr const char* process_ends = "the process ends";

constexpr auto graph_kind = static_cast<CUpti_ActivityKind>(layout::kind_graph_trace);

}  // namespace

cupti_tracer::cupti_tracer(region& where, const tracer_options& options)
    : region_(where), buffers_(where, options.buffer_bytes, options.buffer_count) {
    library_opened_ = open_cupti(options.library, options.toolkits, cupti_, options.may_call);
}

outcome cupti_tracer::failed(const char* action, CUptiResult result) const {
    const char* text = nullptr;
    if (cupti_.result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown error";
    std::string line = std::string{action} + ": " + text + " (" + std::to_string(result) + ")";
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        line +=
            "; another profiler has CUPTI: Nsight, cuda-gdb, compute-sanitizer, or in the program torch.profiler or "
            "Triton's Proton";
    }
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) line += "; the driver keeps profiling for administrators";
    return outcome::failed(std::move(line));
}

// The subscription is the lock between CUPTI's clients. It is acquired first; without it nothing is enabled.
outcome cupti_tracer::subscribe() noexcept {
    if (subscriber_ != nullptr) return {};
    if (!driver_.complete) driver_ = find_driver_functions();
    const CUptiResult result = cupti_.subscribe(&subscriber_, on_event, nullptr);
    if (result != CUPTI_SUCCESS) {
        subscriber_ = nullptr;
        return failed("cuptiSubscribe", result);
    }
    callbacks.buffers.store(&buffers_);
    callbacks.where.store(&region_);
    callbacks.version.store(cupti_.version);
    callbacks.timestamp.store(cupti_.timestamp);
    callbacks.stream_id.store(cupti_.stream_id);
    callbacks.context_id.store(cupti_.context_id);
    callbacks.device_id.store(cupti_.device_id);
    callbacks.stream_context.store(driver_.stream_context);
    callbacks.graph_node_id.store(cupti_.graph_node_id);
    callbacks.graph_id.store(cupti_.graph_id);
    callbacks.graph_exec_id.store(cupti_.graph_exec_id);
    return {};
}

CUptiResult cupti_tracer::switch_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on) noexcept {
    return cupti_.enable_callback(on ? 1 : 0, subscriber_, domain, cbid);
}

CUptiResult cupti_tracer::switch_call(const launch_call& call, bool on) noexcept {
    return switch_callback(static_cast<CUpti_CallbackDomain>(call.domain), call.cbid, on);
}

// Every runtime call in the list makes a driver call that is also in the list.
bool cupti_tracer::observes_domain_of(const launch_call& call) const noexcept {
    return runtime_calls_ || call.domain == api_domain::driver;
}

void cupti_tracer::switch_graph_nodes(bool on) noexcept {
    for (const CUpti_CallbackIdResource event : graph_node_events) {
        (void)switch_callback(CUPTI_CB_DOMAIN_RESOURCE, event, on);
    }
}

outcome cupti_tracer::observe_graphs() noexcept {
    if (!library_opened_.ok()) return library_opened_;
    if (callbacks.is_left) return outcome::failed(process_ends);
    if (outcome subscribed = subscribe(); !subscribed.ok()) return subscribed;
    observes_graphs_ = true;
    for (const launch_call& call : launch_calls) {
        if (defines_graph(call.kind) && call.domain == api_domain::driver) (void)switch_call(call, true);
    }
    switch_graph_nodes(true);
    return {};
}

outcome cupti_tracer::observe_profiler_calls(void (*on_call)(bool starts) noexcept) noexcept {
    if (!library_opened_.ok()) return library_opened_;
    if (callbacks.is_left) return outcome::failed(process_ends);
    if (outcome subscribed = subscribe(); !subscribed.ok()) return subscribed;
    callbacks.profiler_observer.store(on_call);
    for (const profiler_call& call : profiler_calls) {
        const CUptiResult result = switch_callback(CUPTI_CB_DOMAIN_DRIVER_API, call.cbid, true);
        if (result != CUPTI_SUCCESS) return failed("cuptiEnableCallback", result);
    }
    return {};
}

outcome cupti_tracer::attach(std::uint32_t epoch, activity_set activities, bool whole_graphs, bool runtime_calls,
                             bool memory_calls) noexcept {
    if (!library_opened_.ok()) return library_opened_;
    if (callbacks.is_left) return outcome::failed(process_ends);
    if (attached_) return {};
    if (outcome subscribed = subscribe(); !subscribed.ok()) return subscribed;
    activities_ = activities;
    runtime_calls_ = runtime_calls;
    must_not_finalize_ = must_not_finalize_ || runtime_calls_;
    {
        const std::lock_guard lock(reading_);  // a late buffer of the last window may be read just now
        epoch_ = epoch;
        if (cupti_.timestamp(&since_ns_) != CUPTI_SUCCESS) since_ns_ = 0;
    }
    // Tells recovery how to read the records in the buffers.
    region_.header().cupti_version.store(cupti_.version);
    region_.header().cupti_epoch.store(epoch);
    region_.header().cupti_since_ns.store(since_ns_);
    callbacks.last_unrecorded_call.store(0);
    record_memory_calls(memory_calls);
    buffers_.await_from_now();
    outcome enabled = enable(whole_graphs);
    attached_ = true;  // not before: enable() initialises CUPTI, and the drain thread must not call it meanwhile
    if (!enabled.ok()) {
        detach(false);
        return enabled;
    }
    stream_key_lookup.store(look_up_stream_key);
    return {};
}

std::uint32_t cupti_tracer::last_unrecorded_call() noexcept {
    return callbacks.last_unrecorded_call.load(std::memory_order_relaxed);
}

outcome cupti_tracer::enable(bool whole_graphs) noexcept {
    // One set of buffers for all threads; otherwise a thousand threads would need a thousand buffers. Older versions do
    // not have this attribute, and have no buffers per thread.
    std::uint8_t per_thread = 0;
    std::size_t size = sizeof per_thread;
    (void)cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &per_thread);
    CUptiResult result = cupti_.register_callbacks(on_buffer_requested, on_buffer_completed);
    if (result != CUPTI_SUCCESS) return failed("cuptiActivityRegisterCallbacks", result);
    // Callbacks before records: no GPU operation may be recorded without its launch.
    result = enable_calls();
    if (result != CUPTI_SUCCESS) return failed("cuptiEnableCallback", result);
    result = enable_records();
    if (result != CUPTI_SUCCESS) return failed("cuptiActivityEnable", result);
    whole_graphs_ = whole_graphs && activities_.has(activity::kernels) && cupti_.enable(graph_kind) == CUPTI_SUCCESS;
    must_not_finalize_ = must_not_finalize_ || whole_graphs_;
    return {};
}

// An older CUPTI refuses calls that were added later, which is expected. A library that refuses every call is broken.
CUptiResult cupti_tracer::enable_calls() noexcept {
    CUptiResult refusal = CUPTI_SUCCESS;
    bool any = false;
    for (const launch_call& call : launch_calls) {
        if (!is_recorded(call.kind, activities_) || !observes_domain_of(call)) continue;
        const CUptiResult result = switch_call(call, true);
        any = any || result == CUPTI_SUCCESS;
        if (result != CUPTI_SUCCESS) refusal = result;
    }
    if (activities_.has(activity::graph_nodes)) switch_graph_nodes(true);
    bool reports_unloading = true;
    for (const CUpti_CallbackIdResource event : unloading) {
        reports_unloading =
            reports_unloading && switch_callback(CUPTI_CB_DOMAIN_RESOURCE, event, true) == CUPTI_SUCCESS;
    }
    symbol_generation = reports_unloading ? 1 : 0;  // 1: producers of the new epoch have no symbols yet
    for (const CUpti_CallbackIdResource event : {module_loaded, stream_destroyed}) {
        (void)switch_callback(CUPTI_CB_DOMAIN_RESOURCE, event, true);
    }
    return any ? CUPTI_SUCCESS : refusal;
}

CUptiResult cupti_tracer::enable_records() noexcept {
    // For GPUs that are in use already CUPTI makes a record only on request.
    CUptiResult result = cupti_.enable_and_dump == nullptr ? CUPTI_ERROR_UNKNOWN : cupti_.enable_and_dump(device_kind);
    if (result != CUPTI_SUCCESS) result = cupti_.enable(device_kind);
    for (const activity_kind& kind : activity_kinds) {
        if (result != CUPTI_SUCCESS) break;
        if (activities_.has(kind.group)) result = cupti_.enable(static_cast<CUpti_ActivityKind>(kind.number));
    }
    return result;
}

bool cupti_tracer::met_another_client() const noexcept { return callbacks.is_shared; }

bool cupti_tracer::kernels_may_launch() noexcept { return callbacks.kernels_may_launch; }

bool cupti_tracer::may_be_called() const noexcept { return attached_ && !callbacks.is_left; }

bool cupti_tracer::is_in_call() noexcept {
    return this_thread_gets_buffers || (this_thread.out != nullptr && this_thread.out->has_open_api());
}

void cupti_tracer::abandon() noexcept { callbacks.is_left = true; }

void cupti_tracer::leave_to_parent() noexcept {
    callbacks.is_parents = true;
    stream_key_lookup.store(nullptr);
}

void cupti_tracer::flush(bool forced) noexcept {
    const std::lock_guard lock(asking_);
    flush_alone(forced);
}

void cupti_tracer::flush_alone(bool forced) noexcept {
    if (!may_be_called()) return;
    if (forced) buffers_.note_filled();
    this_thread_flushes = true;
    const CUptiResult result = cupti_.flush_all(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    this_thread_flushes = false;
    if (result != CUPTI_SUCCESS) {
        region_.count_drop(drop_cause::cupti_error);
    } else if (forced && buffers_.outlasts()) {
        callbacks.is_shared = true;  // another client attached after libprof and took the buffer
    }
}

void cupti_tracer::stop_recording() noexcept {
    if (!may_be_called()) return;
    (void)cupti_.disable(device_kind);
    for (const activity_kind& kind : activity_kinds) {
        if (activities_.has(kind.group)) (void)cupti_.disable(static_cast<CUpti_ActivityKind>(kind.number));
    }
    if (whole_graphs_) (void)cupti_.disable(graph_kind);
}

void cupti_tracer::stop_observing_profiler_calls() noexcept {
    if (callbacks.profiler_observer.exchange(nullptr) == nullptr) return;
    for (const profiler_call& call : profiler_calls) {
        (void)switch_callback(CUPTI_CB_DOMAIN_DRIVER_API, call.cbid, false);
    }
}

void cupti_tracer::disable() noexcept {
    if (subscriber_ == nullptr || callbacks.is_left || is_disabled_) return;
    stop_observing_profiler_calls();
    stop_recording();
    stream_key_lookup.store(nullptr);
    for (const launch_call& call : launch_calls) {
        const bool is_observed = observes_graphs_ && defines_graph(call.kind);
        if ((is_recorded(call.kind, activities_) || is_observed) && observes_domain_of(call))
            (void)switch_call(call, false);
    }
    if (activities_.has(activity::graph_nodes) || observes_graphs_) switch_graph_nodes(false);
    for (const CUpti_CallbackIdResource event : unloading) {
        (void)switch_callback(CUPTI_CB_DOMAIN_RESOURCE, event, false);
    }
    for (const CUpti_CallbackIdResource event : {module_loaded, stream_destroyed}) {
        (void)switch_callback(CUPTI_CB_DOMAIN_RESOURCE, event, false);
    }
    is_disabled_ = true;
    const std::lock_guard lock(asking_);
    flush_alone(true);
    count_dropped_alone();
}

std::uint64_t cupti_tracer::entered_callbacks() noexcept {
    return callbacks.in_profiler_observer.entered() + callbacks.in_calls.entered();
}

bool cupti_tracer::nobody_is_in_callback() noexcept {
    return callbacks.in_profiler_observer.is_empty() && callbacks.in_calls.is_empty();
}

// A thread that is still in CUPTI's part of a callback, before libprof's code or after it, would use memory that
// finalizing frees. A thread that sleeps has left that part only if it is not counted, and if no thread was counted
// meanwhile: one that came out of libprof's part between two looks is in CUPTI's part again. Threads counted in
// `in_calls` are waited for. Threads in `profiler_observer` are not, since they may wait for this one.
bool cupti_tracer::callbacks_are_left() noexcept {
    using namespace std::chrono;
    constexpr timespec between_checks{0, 200'000};
    const auto until = steady_clock::now() + callback_limit;
    for (;;) {
        const std::uint64_t before = entered_callbacks();
        if (!callbacks.in_profiler_observer.is_empty()) return false;
        const auto rest = duration_cast<milliseconds>(until - steady_clock::now());
        if (rest <= milliseconds{0}) return false;
        if (!callbacks.in_calls.is_empty()) {
            nanosleep(&between_checks, nullptr);
            continue;
        }
        if (!other_threads_are_quiescent(rest)) return false;
        if (nobody_is_in_callback() && entered_callbacks() == before) {
            entered_when_left_ = before;
            return true;
        }
    }
}

bool cupti_tracer::wait_until_left() noexcept {
    if (subscriber_ == nullptr || callbacks.is_left || must_not_finalize_) return false;
    if (is_left_) return *is_left_;
    is_left_ = callbacks_are_left();
    if (*is_left_) flush(true);
    return *is_left_;
}

void cupti_tracer::detach(bool finalize) noexcept {
    if (subscriber_ == nullptr || callbacks.is_left) return;
    disable();
    bool may_finalize = finalize && wait_until_left();
    if (may_finalize && entered_callbacks() != entered_when_left_) may_finalize = callbacks_are_left();
    const std::lock_guard lock(asking_);
    if (callbacks.is_left) return;  // abandon() was called during the wait
    attached_ = false;
    // Finalizing also ends the subscription.
    const bool is_final = may_finalize && !met_another_client() && finalize_alone();
    // Unsubscribing also frees memory. The subscription is kept for a thread that is in `profiler_observer` and may
    // need it next.
    const bool is_kept = finalize && !is_final && !nobody_is_in_callback();
    if (!is_final && !is_kept) (void)cupti_.unsubscribe(subscriber_);
    if (!is_kept) subscriber_ = nullptr;
    is_disabled_ = false;
    is_left_.reset();
    observes_graphs_ = false;
    whole_graphs_ = false;
}

bool cupti_tracer::finalize_alone() noexcept {
    const std::lock_guard lock(reading_);
    if (cupti_.finalize() != CUPTI_SUCCESS) return false;
    // Buffers of this period are not taken back yet, because a late thread may still complete one.
    buffers_.take_back(unreadable_until_);
    unreadable_until_ = buffers_.last_number();
    return true;
}

bool cupti_tracer::read_completed(activity_batch& out) {
    const std::unique_lock lock(reading_, std::try_to_lock);
    if (!lock) return false;
    buffers_.keep_ahead();
    activity_buffers::completed buffer;
    if (!buffers_.next_completed(buffer)) return false;
    out.buffer = buffer.data;
    out.number = buffer.number;
    out.reserve_for(buffers_.buffer_bytes());
    if (buffer.number > unreadable_until_) {
        read_activity_buffer(cupti_, epoch_, since_ns_, region_, buffer.data, buffer.valid_bytes, out);
    } else if (buffer.valid_bytes != 0) {
        region_.count_drop(drop_cause::cupti_error);
    }
    return true;
}

void cupti_tracer::give_back(const activity_batch& read) noexcept { buffers_.give_back(read.buffer); }

void cupti_tracer::discard_completed() noexcept {
    const std::lock_guard lock(reading_);
    for (activity_buffers::completed buffer; buffers_.next_completed(buffer);) buffers_.give_back(buffer.data);
}

void cupti_tracer::ask_for_completed() noexcept {
    const std::unique_lock lock(asking_, std::try_to_lock);
    if (lock) flush_alone(false);
}

void cupti_tracer::count_dropped() noexcept {
    const std::unique_lock lock(asking_, std::try_to_lock);
    if (lock) count_dropped_alone();
}

void cupti_tracer::count_dropped_alone() noexcept {
    if (!may_be_called()) return;
    std::size_t dropped = 0;
    if (cupti_.dropped_records(nullptr, 0, &dropped) != CUPTI_SUCCESS) {
        region_.count_drop(drop_cause::cupti_error);
    } else if (dropped != 0) {
        region_.count_drop(drop_cause::cupti_dropped, dropped);
    }
}

clock_snapshot cupti_tracer::snapshot() noexcept {
    const std::unique_lock lock(asking_, std::try_to_lock);
    return take_clock_snapshot(lock && may_be_called() ? cupti_now : nullptr);
}

}  // namespace prof
