// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/callbacks.hpp"

#include <cstdlib>

#include "base/clock.hpp"
#include "hooks/cupti/device_launches.hpp"
#include "hooks/cupti/graph_nodes.hpp"
#include "hooks/cupti/memory_calls.hpp"
#include "hooks/cupti/stream_syncs.hpp"
#include "hooks/lines/call_lines.hpp"
#include "hooks/stream_names.hpp"
#include "record/label.hpp"
#include "ring/registry.hpp"

namespace prof {

__thread bool this_thread_flushes __attribute__((tls_model("initial-exec"))) = false;
__thread bool this_thread_gets_buffers __attribute__((tls_model("initial-exec"))) = false;

namespace {

constexpr std::uint32_t null_buffer_is_safe_since = 27;  // CUPTI 12.9

// Also null in a signal handler that interrupted this thread in the middle of a record.
producer* joined_producer(bool counts) noexcept {
    const std::uint32_t epoch = epoch_of(recording_epoch);
    if (is_writing()) [[unlikely]]
        return recording_producer(counts);
    if (this_thread.out != nullptr && this_thread.out->epoch() == epoch) return this_thread.out;
    return epoch == 0 ? nullptr : recording_producer();
}

// Of two calls the one with the later number counts, in whatever order their threads come here.
void note_unrecorded_call(std::uint32_t number) noexcept {
    // relaxed: a plain number; no other data depends on it.
    std::uint32_t latest = callbacks.last_unrecorded_call.load(std::memory_order_relaxed);
    while ((latest == 0 || static_cast<std::int32_t>(number - latest) > 0) &&
           !callbacks.last_unrecorded_call.compare_exchange_weak(latest, number, std::memory_order_relaxed)) {
    }
}

// True if the call was one of profiler_calls.
bool observe_profiler_call(api_domain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& data) noexcept {
    auto* const profiler_observer = callbacks.profiler_observer.load();
    if (profiler_observer == nullptr || domain != api_domain::driver) return false;
    for (const profiler_call& call : profiler_calls) {
        if (call.cbid != cbid) continue;
        if (data.callbackSite == CUPTI_API_ENTER) {
            const threads_inside::scope stay(callbacks.in_profiler_observer);
            profiler_observer(call.starts);
        }
        return true;
    }
    return false;
}

void begin_call_record(record& r, record_kind kind, api_domain domain, std::uint64_t ticks,
                       std::uint64_t key) noexcept {
    begin_record(r, kind, static_cast<std::uint32_t>(domain), ticks);
    r.value = key;
}

graph_questions questions() noexcept { return {callbacks.graph_id.load(), callbacks.graph_node_id.load()}; }

// The id of the graph's executable, which the records of all its nodes have; 0 if it is unknown. The parameters of the
// runtime's call begin like those of the driver's.
std::uint32_t graph_of_launch(const CUpti_CallbackData& data) noexcept {
    auto* const exec_id = callbacks.graph_exec_id.load();
    std::uint32_t id = 0;
    if (exec_id == nullptr || data.functionParams == nullptr) return 0;
    const CUgraphExec exec = static_cast<const cuGraphLaunch_params*>(data.functionParams)->hGraph;
    return exec_id(exec, &id) == CUPTI_SUCCESS ? id : 0;
}

// Records the entry of a call that launches, waits or allocates.
void record_entry(producer& out, api_domain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& data,
                  std::uint64_t key) noexcept {
    const launch_kind kind = kind_of_call(domain, cbid);
    // CUPTI's callback data holds a symbol name only for kernels. relaxed: a program unloads a module only after its
    // last launch of the module's kernels.
    const std::uint32_t name = kind == launch_kind::kernel
                                   ? out.symbol_of(data.symbolName, symbol_generation.load(std::memory_order_relaxed))
                                   : 0;
    const std::uint32_t graph = kind == launch_kind::graph ? graph_of_launch(data) : 0;
    const std::uint64_t now = ticks_now();
    const std::uint64_t since_call = now - this_thread.latest_call;
    if (is_long_stretch(since_call)) note_lines(out, stack_role::before, key, now, since_call);
    this_thread.latest_call = now;
    this_thread.is_allocating = is_memory_call(kind);
    out.open_api(key, domain, [&](record& r) {
        begin_call_record(r, record_kind::api_enter, domain, now, key);
        r.name = name;
        r.color = graph;
        r.category = cbid;
        r.flags = static_cast<std::uint8_t>(class_of_call(kind));
    });
    const bool has_sync = kind == launch_kind::wait_event || kind == launch_kind::wait_stream;
    if (has_sync && out.keeps_open_api()) note_sync(out, kind, domain, cbid, data);
}

// The call's return; its slot is reserved.
void record_exit(producer& out, api_domain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& data,
                 std::uint64_t key) noexcept {
    const std::uint64_t now = ticks_now();
    if (this_thread.is_allocating) note_memory_call(out, domain, cbid, data, now);
    this_thread.is_allocating = false;
    const std::uint64_t taken = now - this_thread.latest_call;
    const bool is_long =
        kind_of_call(domain, cbid) == launch_kind::kernel ? is_long_launch(taken) : is_long_call(taken);
    if (is_long) note_lines(out, stack_role::call, key, now, taken);
    this_thread.latest_call = now;
    out.close_api([&](record& r) { begin_call_record(r, record_kind::api_exit, domain, now, key); });
}

// The slow path of on_event().
[[gnu::cold, gnu::noinline]] void on_any_call(api_domain domain, CUpti_CallbackId cbid,
                                              const CUpti_CallbackData& data) noexcept {
    if (callbacks.is_parents) return;
    if (observe_profiler_call(domain, cbid, data)) return;
    const threads_inside::scope stay(callbacks.in_calls);
    if (kind_of_call(domain, cbid) == launch_kind::instantiation) return note_instantiation(data, questions());
    const bool is_entry = data.callbackSite == CUPTI_API_ENTER;
    const std::uint32_t gate = epoch_of(recording_epoch);
    const bool precedes_window = gate == 0 || is_observed_only(gate);
    producer* const out = joined_producer(is_entry);
    if (out == nullptr || is_observed_only(out->epoch())) {
        if (is_entry && precedes_window) note_unrecorded_call(data.correlationId);
        if (out == nullptr || kind_of_call(domain, cbid) != launch_kind::capture) return;
    }
    const recording_scope scope{out};
    if (const launch_kind kind = kind_of_call(domain, cbid); is_sync(kind)) {
        if (is_entry) note_sync(*out, kind, domain, cbid, data);
        return;
    }
    const std::uint64_t key = correlation_key(out->epoch(), data.correlationId);
    if (is_entry) {
        if (!out->is_inside_api(key)) record_entry(*out, domain, cbid, data, key);
    } else if (out->is_open_api(key, domain)) {
        record_exit(*out, domain, cbid, data, key);
    }
}

constexpr bool takes_symbols_along(CUpti_CallbackId event) noexcept {
    return event == unloading[0] || event == unloading[1];
}

void note_module(const CUpti_ResourceData& event) noexcept {
    const auto* const module = static_cast<const CUpti_ModuleResourceData*>(event.resourceDescriptor);
    if (module == nullptr || callbacks.kernels_may_launch.load()) return;
    if (can_launch_kernels(module->pCubin, module->cubinSize)) callbacks.kernels_may_launch = true;
}

[[gnu::cold, gnu::noinline]] void on_resource(CUpti_CallbackId cbid, const CUpti_ResourceData& event) noexcept {
    if (callbacks.is_parents) return;
    const threads_inside::scope stay(callbacks.in_calls);
    if (takes_symbols_along(cbid)) {
        ++symbol_generation;
    } else if (cbid == stream_destroyed) {
        ++stream_generation;
    } else if (cbid == module_loaded) {
        note_module(event);
    } else {
        note_graph_event(cbid, event, questions());
    }
}

// A buffer of another client stays untouched: libprof may neither read it nor free it.
void take_back(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
    if (buffer != nullptr && !callbacks.buffers.load()->complete(buffer, valid_bytes)) callbacks.is_shared = true;
}

}  // namespace

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
    activity_buffers& buffers = *callbacks.buffers.load();
    *max_records = 0;            // as many as fit
    if (callbacks.is_parents) {  // the buffers, too: both processes would write to the same memory
        const bool takes_null = callbacks.version.load() >= null_buffer_is_safe_since;
        *size = takes_null ? 0 : buffers.buffer_bytes();
        *buffer = takes_null ? nullptr : static_cast<std::uint8_t*>(std::calloc(1, *size));
        return;
    }
    const threads_inside::scope stay(callbacks.in_calls);
    *buffer = buffers.take();
    if (*buffer == nullptr) {
        callbacks.where.load()->count_drop(drop_cause::cupti_no_buffer);
        if (callbacks.version.load() < null_buffer_is_safe_since) *buffer = buffers.reclaim_unread();
    }
    *size = *buffer == nullptr ? 0 : buffers.buffer_bytes();
}

void CUPTIAPI on_buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                  std::size_t valid_bytes) noexcept {
    if (callbacks.is_parents) return;
    if (this_thread_flushes) return take_back(buffer, valid_bytes);
    const threads_inside::scope stay(callbacks.in_calls);
    this_thread_gets_buffers = true;
    take_back(buffer, valid_bytes);
}

// A launch has four callbacks: entry and exit of the runtime's call, and entry and exit of the driver's call inside it.
// Both calls have the same correlation id, and only the outer one is recorded. The code that the driver's two callbacks
// and the exit need comes first, in few cache lines, because other code evicts the caches between two callbacks. A
// kernel that this thread has launched before takes the fast path, which makes no call. Everything else takes the slow
// path, on_any_call().
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
        if (this_thread.direct_epoch != epoch || this_thread.is_allocating) [[unlikely]]
            return on_any_call(where, cbid, data);
        const std::uint64_t now = tick_counter();
        if (is_long_call(now - this_thread.latest_call)) [[unlikely]]
            return on_any_call(where, cbid, data);
        begin_writing();
        this_thread.latest_call = now;
        out->close_api([&](record& r) { begin_call_record(r, record_kind::api_exit, where, now, key); });
        return end_writing(epoch);
    }
    if (data.callbackSite != CUPTI_API_ENTER || this_thread.direct_epoch != epoch || epoch == 0 ||
        is_observed_only(epoch) || kind_of_call(where, cbid) != launch_kind::kernel) [[unlikely]] {
        return on_any_call(where, cbid, data);
    }
    const std::uint64_t now = tick_counter();
    if (is_long_stretch(now - this_thread.latest_call)) [[unlikely]]
        return on_any_call(where, cbid, data);
    begin_writing();
    // relaxed: as above.
    const known_texts::entry* const symbol =
        out->known_symbol(data.symbolName, symbol_generation.load(std::memory_order_relaxed));
    const bool fits = symbol != nullptr && out->can_open_api();
    if (fits) [[likely]] {
        this_thread.latest_call = now;
        out->open_api(key, where, [&](record& r) {
            begin_call_record(r, record_kind::api_enter, where, now, key);
            r.name = symbol->name;
            r.category = cbid;
        });
    }
    end_writing(epoch);
    if (!fits) [[unlikely]]
        return on_any_call(where, cbid, data);
}

std::uint64_t cupti_now() noexcept {
    std::uint64_t now = 0;
    auto* timestamp = callbacks.timestamp.load();
    return timestamp != nullptr && timestamp(&now) == CUPTI_SUCCESS ? now : 0;
}

// Given no context CUPTI assumes the current one, but the stream may belong to another. So its context is looked up
// first.
// The pointer may have been loaded before it was withdrawn. A thread that counts itself in before it is withdrawn is
// waited for.
bool look_up_stream_key(void* stream, std::uint64_t& key) noexcept {
    const threads_inside::scope stay(callbacks.in_calls);
    return stream_key_lookup.load() != nullptr && cupti_stream_key(static_cast<CUstream>(stream), key);
}

}  // namespace prof
