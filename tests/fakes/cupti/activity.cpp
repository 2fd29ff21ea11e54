// SPDX-License-Identifier: Apache-2.0
#include "fakes/cupti/activity.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "fakes/cupti/entry.hpp"
#include "fakes/gpu/objects.hpp"
#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {
namespace {

constexpr std::uint64_t default_device_buffer_bytes = 3'200'000;
constexpr std::uint64_t default_pool_limit = 250;

std::size_t attribute_size(CUpti_ActivityAttribute attribute) {
    switch (attribute) {
        case CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER:
        case CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED:
        case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
            return sizeof(std::uint8_t);
        case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE:
        case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT:
        case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE:
        case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS:
            return sizeof(std::size_t);
        default:
            return 0;
    }
}

std::size_t api_index(CUpti_CallbackDomain domain) { return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? 1 : 0; }

CUpti_CallbackData callback_data(api_call_state& call, CUpti_ApiCallbackSite site) {
    CUpti_CallbackData data{};
    data.callbackSite = site;
    data.functionName = call.function;
    data.functionParams = call.params;
    data.functionReturnValue = call.result;
    data.symbolName = call.symbol;
    data.context = call.context;
    data.contextUid = call.context_id;
    data.correlationData = &call.correlation_data;
    data.correlationId = call.correlation_id;
    return data;
}

[[maybe_unused]] const bool is_reset_with_the_gpu = [] {
    simulated_gpu::instance().at_reset([] {
        cupti().reset();
        reset_entries();
    });
    return true;
}();

const struct word_at_exit {
    ~word_at_exit() {
        if (getpid() != process) return;  // a forked child, where a thread that is not there may be making it
        if (const std::size_t uses = cupti().memory.freed_uses(); uses != 0) {
            std::fprintf(stderr, "fake CUPTI: %zu uses of memory that cuptiFinalize had freed\n", uses);
        }
    }
    const pid_t process = getpid();
} at_exit;

}  // namespace

cupti_tool& cupti() {
    static cupti_tool& instance = *new cupti_tool;
    return instance;
}

std::map<CUpti_ExternalCorrelationKind, std::vector<std::uint64_t>>& external_ids() {
    static thread_local std::map<CUpti_ExternalCorrelationKind, std::vector<std::uint64_t>> ids;
    return ids;
}

void cupti_tool::attach() { simulated_gpu::instance().attach(this); }

// --- what the client asks for -------------------------------------------------------------------

CUptiResult cupti_tool::enable_kind(CUpti_ActivityKind kind, bool dump) {
    if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) {
        return CUPTI_ERROR_NOT_COMPATIBLE;
    }
    if (const CUptiResult refused = require_device(); refused != CUPTI_SUCCESS) {
        return refused;
    }
    if (record_size(kind, cupti_version()) == 0) {
        return CUPTI_ERROR_NOT_SUPPORTED;  // by the fake
    }
    const bool is_exclusive =
        (kind == CUPTI_ACTIVITY_KIND_KERNEL && is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) ||
        (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && is_enabled(CUPTI_ACTIVITY_KIND_KERNEL));
    if (is_exclusive) {
        return CUPTI_ERROR_NOT_COMPATIBLE;
    }
    attach();
    if (kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
        for (auto& each : excluded_[kind == CUPTI_ACTIVITY_KIND_RUNTIME ? 1 : 0]) {
            each = false;
        }
    }
    simulated_gpu& gpu = simulated_gpu::instance();
    if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && !is_enabled(kind)) {
        untraceable_graph_id_ = gpu.last_graph_id();
        has_traced_graphs_ = true;
    }
    kinds_[kind] = true;
    for (int device = 0; device < gpu.device_count(); ++device) {
        const auto index = static_cast<std::uint32_t>(device);
        const CUcontext context = gpu.existing_context(device);
        if (kind == CUPTI_ACTIVITY_KIND_DEVICE && (dump || context == nullptr)) {
            buffers.append(make_device_record(index, gpu.device(device), cupti_version()));
        }
        if (kind == CUPTI_ACTIVITY_KIND_CONTEXT && context != nullptr) {
            buffers.append(make_context_record(context->id, index, cupti_version()));
        }
    }
    return CUPTI_SUCCESS;
}

CUptiResult cupti_tool::disable_kind(CUpti_ActivityKind kind) {
    if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) {
        return CUPTI_ERROR_INVALID_KIND;
    }
    kinds_[kind] = false;
    return CUPTI_SUCCESS;
}

bool cupti_tool::is_enabled(CUpti_ActivityKind kind) const {
    return kind > 0 && kind < CUPTI_ACTIVITY_KIND_COUNT && kinds_[kind];
}

CUptiResult cupti_tool::select_api(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on) {
    if (cbid == 0 || cbid >= callback_limit(domain)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    attach();
    excluded_[api_index(domain)][cbid] = !on;
    return CUPTI_SUCCESS;
}

CUptiResult cupti_tool::set_attribute(CUpti_ActivityAttribute attribute, const std::size_t* size, const void* value) {
    const std::size_t needed = attribute_size(attribute);
    if (size == nullptr || value == nullptr || needed == 0) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (*size < needed) {
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    }
    std::uint64_t number = 0;
    std::memcpy(&number, value, needed);
    if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
        buffers.set_per_thread(number != 0);
    } else if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) {
        buffers.set_client_zeroes(number != 0);
    }
    const std::scoped_lock lock{attributes_mutex_};
    attributes_[attribute] = number;
    return CUPTI_SUCCESS;
}

CUptiResult cupti_tool::get_attribute(CUpti_ActivityAttribute attribute, std::size_t* size, void* value) const {
    const std::size_t needed = attribute_size(attribute);
    if (size == nullptr || value == nullptr || needed == 0) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    if (*size < needed) {
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    }
    std::uint64_t number = 0;
    if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE) {
        number = default_device_buffer_bytes;
    } else if (attribute == CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT) {
        number = default_pool_limit;
    } else if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
        number = 1;
    }
    const std::scoped_lock lock{attributes_mutex_};
    if (const auto set = attributes_.find(attribute); set != attributes_.end()) {
        number = set->second;
    }
    std::memcpy(value, &number, needed);
    *size = needed;
    return CUPTI_SUCCESS;
}

void cupti_tool::finalize() {
    if (has_traced_graphs_) {
        simulated_gpu::instance().break_graphs_made_after(untraceable_graph_id_);
        has_traced_graphs_ = false;
    }
    hooks.take_off();
    subscriber.clear();
    for (auto& kind : kinds_) {
        kind = false;
    }
    for (auto& domain : excluded_) {
        for (auto& each : domain) {
            each = false;
        }
    }
    thread_id_type_ = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
    {
        const std::scoped_lock lock{attributes_mutex_};
        attributes_.clear();
    }
    buffers.clear();
    forget_names();
    memory.end();
}

void cupti_tool::reset() {
    simulated_gpu::instance().attach(nullptr);
    finalize();
    hooks.reset();
    memory.forget_uses();
}

// --- events from the driver ---------------------------------------------------------------------

CUpti_ActivityKind cupti_tool::kernel_kind() const {
    return is_enabled(CUPTI_ACTIVITY_KIND_KERNEL) ? CUPTI_ACTIVITY_KIND_KERNEL : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

bool cupti_tool::records_api(const api_call_state& call) const {
    const CUpti_ActivityKind kind =
        call.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    return is_enabled(kind) && !excluded_[api_index(call.domain)][call.cbid];
}

void cupti_tool::api_entered(api_call_state& call) noexcept {
    if (is_enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) && records_api(call)) {
        for (const auto& [kind, ids] : external_ids()) {
            if (!ids.empty()) {
                buffers.append(make_external_record(kind, ids.back(), call.correlation_id, cupti_version()));
            }
        }
    }
    if (call.domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
        call.hook_lifetime = hooks.enter(call.cbid);
    }
    const CUpti_CallbackData data = callback_data(call, CUPTI_API_ENTER);
    subscriber.dispatch(call.domain, call.cbid, &data);
}

void cupti_tool::api_exited(api_call_state& call) noexcept {
    const CUpti_CallbackData data = callback_data(call, CUPTI_API_EXIT);
    subscriber.dispatch(call.domain, call.cbid, &data);
    if (records_api(call)) {
        const std::uint32_t thread_id =
            thread_id_type_ == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
                ? static_cast<std::uint32_t>(gettid())
                : static_cast<std::uint32_t>(pthread_self());  // truncated, as the real one does
        buffers.append(make_api_record(call, thread_id, cupti_version()));
    }
    hooks.leave(call.cbid, call.hook_lifetime);
}

std::uint64_t cupti_tool::operation_issued(const fake_gpu_operation& operation) noexcept {
    // A graph is traced as one, or by its nodes.
    const bool is_node = operation.graph_node_id != 0;
    if (is_node && is_enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {
        return 0;
    }
    if (operation.kind == FAKE_GPU_GRAPH && is_enabled(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) &&
        operation.graph_id <= untraceable_graph_id_) {
        die("a graph is launched that was instantiated before CUPTI_ACTIVITY_KIND_GRAPH_TRACE was enabled");
    }
    const bool is_traced_for_good =
        operation.kind == FAKE_GPU_GRAPH && has_traced_graphs_ && operation.graph_id > untraceable_graph_id_;
    if (!is_traced_for_good && !is_enabled(record_kind(operation, kernel_kind()))) {
        return 0;
    }
    return buffers.reserve(make_record(operation, kernel_kind(), cupti_version()), operation.index);
}

void cupti_tool::operation_ended(std::uint64_t ticket, const fake_gpu_operation& operation) noexcept {
    if (ticket != 0) {
        buffers.complete(ticket, make_record(operation, kernel_kind(), cupti_version()));
    }
}

void cupti_tool::resource_changed(CUpti_CallbackIdResource what, CUcontext context, CUstream stream,
                                  void* descriptor) noexcept {
    if (what == CUPTI_CBID_RESOURCE_CONTEXT_CREATED && is_enabled(CUPTI_ACTIVITY_KIND_CONTEXT)) {
        buffers.append(make_context_record(context->id, context->device, cupti_version()));
    }
    CUpti_ResourceData data{};
    data.context = context;
    data.resourceHandle.stream = stream;
    data.resourceDescriptor = descriptor;
    subscriber.dispatch(CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(what), &data);
}

void cupti_tool::synchronized(CUpti_CallbackIdSync what, CUcontext context, CUstream stream) noexcept {
    const CUpti_SynchronizeData data{context, stream};
    subscriber.dispatch(CUPTI_CB_DOMAIN_SYNCHRONIZE, static_cast<CUpti_CallbackId>(what), &data);
}

bool cupti_tool::serializes_kernels() const noexcept { return is_enabled(CUPTI_ACTIVITY_KIND_KERNEL); }

}  // namespace fake
