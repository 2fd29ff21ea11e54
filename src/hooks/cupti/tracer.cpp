#include "hooks/cupti/tracer.hpp"

#include "hooks/cupti/graph_nodes.hpp"
#include "hooks/cupti/launch_calls.hpp"
#include "hooks/stream_names.hpp"
#include "record/cupti_layout.hpp"
#include "ring/registry.hpp"

namespace prof {
namespace {

constexpr std::uint32_t null_buffer_is_safe_since = 27;  // CUPTI 12.9

struct activity_kind {
    std::uint32_t number;
    activity of;
};
constexpr activity_kind activity_kinds[] = {
    {layout::kind_concurrent_kernel, activity::kernels},
    {layout::kind_memcpy, activity::copies},
    {layout::kind_memcpy_peer, activity::copies},
    {layout::kind_memset, activity::sets},
};

constexpr auto device_kind = static_cast<CUpti_ActivityKind>(layout::kind_device);  // one record a GPU

constexpr auto graph_kind = static_cast<CUpti_ActivityKind>(layout::kind_graph_trace);

// What CUPTI's callbacks without user data work on. Set while attached, kept afterwards: a buffer may come late.
struct callback_state {
    std::atomic<activity_buffers*> buffers{nullptr};
    std::atomic<region*> where{nullptr};
    std::atomic<std::uint32_t> version{0};
    std::atomic<decltype(&cuptiGetTimestamp)> timestamp{nullptr};
    std::atomic<decltype(&cuptiGetStreamIdEx)> stream_id{nullptr};
    std::atomic<decltype(&cuptiGetGraphNodeId)> graph_node_id{nullptr};
    std::atomic<std::uint32_t> last_unrecorded_call{0};
    std::atomic<void (*)(bool) noexcept> heard{nullptr};
    std::atomic<bool> is_left{false};    // leave_as_it_is()
    std::atomic<bool> is_shared{false};  // met_another_client()
};
callback_state active;

// Of this thread: it flushes; CUPTI has handed it buffers at another time, as it does on a thread of its own.
__thread bool flushes __attribute__((tls_model("initial-exec"))) = false;
__thread bool gets_buffers __attribute__((tls_model("initial-exec"))) = false;

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
    activity_buffers& buffers = *active.buffers.load();
    *buffer = buffers.take();
    if (*buffer == nullptr) {
        active.where.load()->count_drop(drop_cause::cupti_no_buffer);
        if (active.version.load() < null_buffer_is_safe_since) *buffer = buffers.take_by_force();
    }
    *size = *buffer == nullptr ? 0 : buffers.buffer_bytes();
    *max_records = 0;  // as many as fit
}

void CUPTIAPI on_buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                  std::size_t valid_bytes) noexcept {
    gets_buffers = gets_buffers || !flushes;
    // Another client's stays as it is: it is neither ours to read nor to give back.
    if (buffer != nullptr && !active.buffers.load()->complete(buffer, valid_bytes)) active.is_shared = true;
}

struct profiler_call {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
    bool starts;
};
constexpr profiler_call profiler_calls[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, true},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000, false},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, true},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, false},
};

// True if it was one of the four. Those of the driver also come from inside those of the runtime.
bool hear_profiler_call(api_domain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& data) noexcept {
    auto* const heard = active.heard.load();
    if (heard == nullptr) return false;
    for (const profiler_call& call : profiler_calls) {
        if (call.cbid != cbid || static_cast<api_domain>(call.domain) != domain) continue;
        if (data.callbackSite == CUPTI_API_ENTER) heard(call.starts);
        return true;
    }
    return false;
}

void begin_call_record(record& r, record_kind kind, api_domain domain, std::uint64_t ticks,
                       std::uint64_t key) noexcept {
    begin_record(r, kind, static_cast<std::uint32_t>(domain), ticks);
    r.value = key;
}

// Of a call that launches, waits or allocates.
void record_entry(producer& out, api_domain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& data,
                  std::uint64_t key) noexcept {
    const launch_kind kind = kind_of_call(domain, cbid);
    // Only for these does CUPTI's callback data hold a symbol name. relaxed: modules are unloaded by who no longer
    // launches their kernels.
    const std::uint32_t name = kind == launch_kind::kernel
                                   ? out.symbol_of(data.symbolName, symbol_generation.load(std::memory_order_relaxed))
                                   : 0;
    out.open_api(key, domain, [&](record& r) {
        begin_call_record(r, record_kind::api_enter, domain, ticks_now(), key);
        r.name = name;
        r.category = cbid;
        r.flags = static_cast<std::uint8_t>(class_of_call(kind));
    });
}

// The long way of on_event().
[[gnu::cold, gnu::noinline]] void on_any_call(api_domain domain, CUpti_CallbackId cbid,
                                              const CUpti_CallbackData& data) noexcept {
    if (hear_profiler_call(domain, cbid, data)) return;
    producer* const out = recording_producer();
    if (out == nullptr || is_heard_only(out->epoch())) {
        // relaxed: of two threads' calls at the same moment either is the latest.
        active.last_unrecorded_call.store(data.correlationId, std::memory_order_relaxed);
        if (out == nullptr || kind_of_call(domain, cbid) != launch_kind::capture) return;
    }
    const std::uint64_t key = correlation_key(out->epoch(), data.correlationId);
    if (data.callbackSite == CUPTI_API_ENTER) {
        if (!out->is_inside_api(key)) record_entry(*out, domain, cbid, data, key);
    } else if (out->is_open_api(key, domain)) {
        out->close_api([&](record& r) { begin_call_record(r, record_kind::api_exit, domain, ticks_now(), key); });
    }
}

// With a module, or a context and all its modules, the symbols of their kernels go.
constexpr CUpti_CallbackIdResource unloading[] = {CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
                                                  CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
constexpr bool takes_symbols_along(CUpti_CallbackId event) noexcept {
    return event == unloading[0] || event == unloading[1];
}

[[gnu::cold, gnu::noinline]] void on_resource(CUpti_CallbackId cbid, const CUpti_ResourceData& event) noexcept {
    if (takes_symbols_along(cbid)) {
        ++symbol_generation;
    } else {
        note_graph_node(cbid, event, active.graph_node_id.load());
    }
}

// The subscription's one callback. A launch has four: entry and exit of the runtime's call and of the driver's in it,
// which has the same correlation id: only the outer one is recorded. What the driver's two and the exit need stands
// first, in few cache lines: between two callbacks other code has had the caches. The launch of a kernel that this
// thread has launched before goes the short way, which calls nothing; all else goes the long way.
[[gnu::aligned(64)]] void CUPTIAPI on_event(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                            const void* event) noexcept {
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) [[unlikely]] {
        return on_resource(cbid, *static_cast<const CUpti_ResourceData*>(event));
    }
    const auto& data = *static_cast<const CUpti_CallbackData*>(event);
    const auto where = static_cast<api_domain>(domain);
    producer* const out = this_thread.out;
    if (out == nullptr) [[unlikely]]
        return on_any_call(where, cbid, data);
    const std::uint32_t epoch = epoch_of(recording_epoch);
    const std::uint64_t key = correlation_key(epoch, data.correlationId);
    if (out->is_inside_api(key)) [[likely]] {
        if (data.callbackSite == CUPTI_API_ENTER || !out->is_open_api(key, where)) return;
        if (this_thread.direct_epoch != epoch) [[unlikely]]
            return on_any_call(where, cbid, data);
        return out->close_api(
            [&](record& r) { begin_call_record(r, record_kind::api_exit, where, tick_counter(), key); });
    }
    if (data.callbackSite != CUPTI_API_ENTER || this_thread.direct_epoch != epoch || epoch == 0 ||
        is_heard_only(epoch) || kind_of_call(where, cbid) != launch_kind::kernel) [[unlikely]] {
        return on_any_call(where, cbid, data);
    }
    // relaxed: as above.
    const known_texts::entry* const symbol =
        out->known_symbol(data.symbolName, symbol_generation.load(std::memory_order_relaxed));
    if (symbol == nullptr || !out->can_open_api()) [[unlikely]] {
        return on_any_call(where, cbid, data);
    }
    out->open_api(key, where, [&](record& r) {
        begin_call_record(r, record_kind::api_enter, where, tick_counter(), key);
        r.name = symbol->name;
        r.category = cbid;
    });
}

std::uint64_t cupti_now() noexcept {
    std::uint64_t now = 0;
    auto* timestamp = active.timestamp.load();
    return timestamp != nullptr && timestamp(&now) == CUPTI_SUCCESS ? now : 0;
}

bool cupti_stream_id(void* stream, std::uint32_t& id) noexcept {
    auto* stream_id = active.stream_id.load();
    return stream_id != nullptr && stream_id(nullptr, static_cast<CUstream>(stream), 0, &id) == CUPTI_SUCCESS;
}

}  // namespace

cupti_tracer::cupti_tracer(region& where, const tracer_options& options)
    : region_(where), buffers_(where, options.buffer_bytes, options.buffer_count) {
    problem_ = open_cupti(options.library, cupti_);
}

std::string cupti_tracer::failed(const char* what, CUptiResult result) const {
    const char* text = nullptr;
    if (cupti_.result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown error";
    std::string line = std::string{what} + ": " + text + " (" + std::to_string(result) + ")";
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        line += "; another profiler has CUPTI: Nsight, cuda-gdb, or in the program torch.profiler or Triton's Proton";
    }
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) line += "; the driver keeps profiling for administrators";
    return line;
}

// The subscription is the lock between CUPTI's clients: it comes first, and without it nothing is enabled.
std::string cupti_tracer::subscribe() noexcept {
    if (subscriber_ != nullptr) return {};
    const CUptiResult result = cupti_.subscribe(&subscriber_, on_event, nullptr);
    if (result != CUPTI_SUCCESS) {
        subscriber_ = nullptr;
        return failed("cuptiSubscribe", result);
    }
    active.buffers.store(&buffers_);
    active.where.store(&region_);
    active.version.store(cupti_.version);
    active.timestamp.store(cupti_.timestamp);
    active.stream_id.store(cupti_.stream_id);
    active.graph_node_id.store(cupti_.graph_node_id);
    return {};
}

CUptiResult cupti_tracer::switch_call(const launch_call& call, bool on) noexcept {
    return cupti_.enable_callback(on ? 1 : 0, subscriber_, static_cast<CUpti_CallbackDomain>(call.domain), call.cbid);
}

void cupti_tracer::switch_graph_nodes(bool on) noexcept {
    for (const CUpti_CallbackIdResource event : graph_node_events) {
        (void)cupti_.enable_callback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, event);
    }
}

std::string cupti_tracer::hear_graphs() noexcept {
    if (!problem_.empty()) return problem_;
    if (std::string problem = subscribe(); !problem.empty()) return problem;
    hears_graphs_ = true;
    for (const launch_call& call : launch_calls) {
        if (call.kind == launch_kind::capture) (void)switch_call(call, true);
    }
    switch_graph_nodes(true);
    return {};
}

std::string cupti_tracer::listen(void (*heard)(bool starts) noexcept) noexcept {
    if (!problem_.empty()) return problem_;
    if (std::string problem = subscribe(); !problem.empty()) return problem;
    active.heard.store(heard);
    for (const profiler_call& call : profiler_calls) {
        const CUptiResult result = cupti_.enable_callback(1, subscriber_, call.domain, call.cbid);
        if (result != CUPTI_SUCCESS) return failed("cuptiEnableCallback", result);
    }
    return {};
}

std::string cupti_tracer::attach(std::uint32_t epoch, activity_set what, bool whole_graphs,
                                 bool kernels_by_driver) noexcept {
    if (!problem_.empty()) return problem_;
    if (active.is_left) return "the process ends";
    if (attached_) return {};
    if (std::string problem = subscribe(); !problem.empty()) return problem;
    epoch_ = epoch;
    what_ = what;
    kernels_by_driver_ = kernels_by_driver;
    if (cupti_.timestamp(&since_ns_) != CUPTI_SUCCESS) since_ns_ = 0;
    // What the records in its buffers mean, for who finds them there.
    region_.header().cupti_version.store(cupti_.version);
    region_.header().cupti_epoch.store(epoch);
    region_.header().cupti_since_ns.store(since_ns_);
    active.last_unrecorded_call.store(0);
    buffers_.await_from_now();
    std::string problem = enable(whole_graphs);
    attached_ = true;  // not before: CUPTI begins anew in there, and the drain thread is not to call it meanwhile
    if (!problem.empty()) {
        detach(false);
        return problem;
    }
    stream_id_lookup.store(cupti_stream_id);
    return {};
}

std::uint32_t cupti_tracer::last_unrecorded_call() noexcept {
    return active.last_unrecorded_call.load(std::memory_order_relaxed);
}

std::string cupti_tracer::enable(bool whole_graphs) noexcept {
    // One set of buffers for all threads, or a thousand threads would want a thousand buffers. Older versions do not
    // know the attribute: they have no buffers per thread.
    std::uint8_t per_thread = 0;
    std::size_t size = sizeof per_thread;
    (void)cupti_.set_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &per_thread);
    CUptiResult result = cupti_.register_callbacks(on_buffer_requested, on_buffer_completed);
    if (result != CUPTI_SUCCESS) return failed("cuptiActivityRegisterCallbacks", result);
    // Callbacks before records: no GPU operation is to come without its launch.
    result = enable_calls();
    if (result != CUPTI_SUCCESS) return failed("cuptiEnableCallback", result);
    result = enable_records();
    if (result != CUPTI_SUCCESS) return failed("cuptiActivityEnable", result);
    whole_graphs_ = whole_graphs && what_.has(activity::kernels) && cupti_.enable(graph_kind) == CUPTI_SUCCESS;
    must_not_finalize_ = must_not_finalize_ || whole_graphs_;
    return {};
}

// Calls that came with a later CUPTI are refused by an earlier one, which is right; a library that refuses all is
// broken.
CUptiResult cupti_tracer::enable_calls() noexcept {
    CUptiResult refusal = CUPTI_SUCCESS;
    bool any = false;
    for (const launch_call& call : launch_calls) {
        if (!is_recorded(call.kind, what_)) continue;
        if (kernels_by_driver_ && is_runtime_kernel_launch(call)) continue;
        const CUptiResult result = switch_call(call, true);
        any = any || result == CUPTI_SUCCESS;
        if (result != CUPTI_SUCCESS) refusal = result;
    }
    if (what_.has(activity::graph_nodes)) switch_graph_nodes(true);
    bool tells_of_unloading = true;
    for (const CUpti_CallbackIdResource event : unloading) {
        tells_of_unloading = tells_of_unloading &&
                             cupti_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, event) == CUPTI_SUCCESS;
    }
    symbol_generation = tells_of_unloading ? 1 : 0;  // producers know none from before
    return any ? CUPTI_SUCCESS : refusal;
}

CUptiResult cupti_tracer::enable_records() noexcept {
    // Of GPUs that are in use already there is a record only if it is asked for.
    CUptiResult result = cupti_.enable_and_dump == nullptr ? CUPTI_ERROR_UNKNOWN : cupti_.enable_and_dump(device_kind);
    if (result != CUPTI_SUCCESS) result = cupti_.enable(device_kind);
    for (const activity_kind& kind : activity_kinds) {
        if (result != CUPTI_SUCCESS) break;
        if (what_.has(kind.of)) result = cupti_.enable(static_cast<CUpti_ActivityKind>(kind.number));
    }
    return result;
}

bool cupti_tracer::met_another_client() const noexcept { return active.is_shared; }

bool cupti_tracer::may_be_called() const noexcept { return attached_ && !active.is_left; }

bool cupti_tracer::is_in_call() noexcept {
    return gets_buffers || (this_thread.out != nullptr && this_thread.out->has_open_api());
}

void cupti_tracer::leave_as_it_is() noexcept { active.is_left = true; }

void cupti_tracer::flush(bool forced) noexcept {
    const std::lock_guard lock(asking_);
    flush_alone(forced);
}

void cupti_tracer::flush_alone(bool forced) noexcept {
    if (!may_be_called()) return;
    if (forced) buffers_.note_filled();
    flushes = true;
    const CUptiResult result = cupti_.flush_all(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
    flushes = false;
    if (result != CUPTI_SUCCESS) {
        region_.count_drop(drop_cause::cupti_error);
    } else if (forced && buffers_.outlasts()) {
        active.is_shared = true;  // a client that came after us has it
    }
}

void cupti_tracer::stop_recording() noexcept {
    if (!may_be_called()) return;
    (void)cupti_.disable(device_kind);
    for (const activity_kind& kind : activity_kinds) {
        if (what_.has(kind.of)) (void)cupti_.disable(static_cast<CUpti_ActivityKind>(kind.number));
    }
    if (whole_graphs_) (void)cupti_.disable(graph_kind);
}

void cupti_tracer::fall_silent() noexcept {
    if (subscriber_ == nullptr || active.is_left || is_silent_) return;
    active.heard.store(nullptr);
    stop_recording();
    stream_id_lookup.store(nullptr);
    for (const launch_call& call : launch_calls) {
        const bool is_heard = hears_graphs_ && call.kind == launch_kind::capture;
        if (is_recorded(call.kind, what_) || is_heard) (void)switch_call(call, false);
    }
    if (what_.has(activity::graph_nodes) || hears_graphs_) switch_graph_nodes(false);
    is_silent_ = true;
    const std::lock_guard lock(asking_);
    flush_alone(true);
    count_dropped_alone();
}

void cupti_tracer::detach(bool finalize) noexcept {
    if (subscriber_ == nullptr || active.is_left) return;
    fall_silent();
    const std::lock_guard lock(asking_);
    attached_ = false;
    // Finalizing lets go of the subscription, too.
    const bool is_final = finalize && !must_not_finalize_ && !met_another_client() && finalize_alone();
    if (!is_final) (void)cupti_.unsubscribe(subscriber_);
    subscriber_ = nullptr;
    is_silent_ = false;
    hears_graphs_ = false;
    whole_graphs_ = false;
}

bool cupti_tracer::finalize_alone() noexcept {
    const std::lock_guard lock(reading_);
    const bool is_final = cupti_.finalize() == CUPTI_SUCCESS;
    if (is_final) unreadable_until_ = buffers_.last_number();
    return is_final;
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
