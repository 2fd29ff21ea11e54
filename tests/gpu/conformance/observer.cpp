// SPDX-License-Identifier: Apache-2.0
#include "observer.hpp"

#include <cstdio>
#include <cstdlib>

#include "cupti_functions.hpp"

namespace {

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

struct selection {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
};
constexpr selection selected[] = {
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020},
    {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoD_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD32_v2},
    {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async},
    {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED},
    {CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED},
};

std::string yes(bool condition) { return condition ? "yes" : "no"; }

std::string text(std::uint64_t number) { return std::to_string(number); }

std::string triple(std::int32_t x, std::int32_t y, std::int32_t z) {
    return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
}

}  // namespace

observer& observer::instance() {
    static observer& only = *new observer;
    return only;
}

// --- what the scenario asks for -----------------------------------------------------------------

void observer::start() {
    expect("subscribe", cupti().cuptiSubscribe(&subscriber, on_callback, this));
    for (const auto& [domain, cbid] : selected) {
        expect("enable callback " + text(domain) + "/" + text(cbid),
               cupti().cuptiEnableCallback(1, subscriber, domain, cbid));
    }
    expect("register buffer callbacks", cupti().cuptiActivityRegisterCallbacks(on_request, on_complete));
    for (const CUpti_ActivityKind kind : kinds) {
        expect("enable kind " + text(kind), cupti().cuptiActivityEnable(kind));
    }
    print("started");
}

void observer::stop() {
    for (const CUpti_ActivityKind kind : kinds) {
        expect("disable kind " + text(kind), cupti().cuptiActivityDisable(kind));
    }
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    expect("unsubscribe", cupti().cuptiUnsubscribe(subscriber));
    expect("finalize", cupti().cuptiFinalize());
    print("stopped");
}

void observer::expect(const std::string& name, CUptiResult result) {
    if (result != CUPTI_SUCCESS) {
        print_result(name, result);
    }
}

void observer::print(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}

void observer::print_result(const std::string& name, CUptiResult result) {
    const char* spelled = nullptr;
    cupti().cuptiGetResultString(result, &spelled);
    print(name + ": " + (spelled == nullptr ? text(static_cast<std::uint64_t>(result)) : spelled));
}

void observer::name_stream(const std::string& name, cudaStream_t stream) {
    std::uint32_t id = 0;
    expect("id of stream " + name, cupti().cuptiGetStreamIdEx(context_, stream, 0, &id));
    const std::scoped_lock lock{mutex_};
    streams_[id] = name;
}

void observer::flush(std::uint32_t flag) { expect("flush(" + text(flag) + ")", cupti().cuptiActivityFlushAll(flag)); }

void observer::forget() {
    const std::scoped_lock lock{mutex_};
    callbacks_.clear();
    records_.clear();
    buffers_.clear();
    aliases_.clear();
    last_alias_.clear();
}

void observer::report_callbacks() {
    const std::scoped_lock lock{mutex_};
    for (const std::string& each : callbacks_) {
        print("callback " + each);
    }
}

void observer::report_records() {
    const std::scoped_lock lock{mutex_};
    print("records: " + text(records_.size()));
    for (const std::string& each : records_) {
        print("record " + each);
    }
}

void observer::report_buffers() {
    const std::scoped_lock lock{mutex_};
    for (const std::string& each : buffers_) {
        print("buffer " + each);
    }
}

std::size_t observer::records_seen() {
    const std::scoped_lock lock{mutex_};
    return records_.size();
}

std::size_t observer::buffers_outstanding() {
    const std::scoped_lock lock{mutex_};
    return outstanding_;
}

// --- events from CUPTI --------------------------------------------------------------------------

void observer::on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
    auto& me = *static_cast<observer*>(self);
    const std::scoped_lock lock{me.mutex_};
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        me.node_announced(cbid, *static_cast<const CUpti_ResourceData*>(data));
    } else {
        me.api_called(domain, cbid, *static_cast<const CUpti_CallbackData*>(data));
    }
}

void observer::api_called(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& call) {
    constexpr std::uint64_t token = 0x5EEDU;
    if (call.context != nullptr) {
        context_ = call.context;
    }
    const bool is_enter = call.callbackSite == CUPTI_API_ENTER;
    std::string line = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "runtime " : "driver ";
    line += text(cbid) + " " + call.functionName + (is_enter ? " enter" : " exit");
    line += " call=" + alias('c', call.correlationId);
    line += " symbol=" + std::string{call.symbolName == nullptr ? "none" : call.symbolName};
    line += " context=" + yes(call.context != nullptr);
    line += " on=" + thread_name(std::this_thread::get_id());
    if (is_enter) {
        *call.correlationData = token + cbid;
        std::uint64_t now_ns = 0;
        cupti().cuptiGetTimestamp(&now_ns);
        entered_ns_.try_emplace(call.correlationId, now_ns);
    } else {
        line += " data_kept=" + yes(*call.correlationData == token + cbid);
        line += " returns=" + text(static_cast<std::uint64_t>(*static_cast<const int*>(call.functionReturnValue)));
    }
    callbacks_.push_back(line);
}

void observer::node_announced(CUpti_CallbackId cbid, const CUpti_ResourceData& resource) {
    const auto& graph = *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor);
    std::string line = cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ? "node created" : "node cloned";
    std::uint64_t id = 0;
    cupti().cuptiGetGraphNodeId(graph.node, &id);
    line += " type=" + text(graph.nodeType) + " " + node_name(id);
    if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
        cupti().cuptiGetGraphNodeId(graph.originalNode, &id);
        line += " from " + node_name(id);
    }
    callbacks_.push_back(line);
}

void observer::on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    observer& me = instance();
    const std::scoped_lock lock{me.mutex_};
    *max_records = 0;
    if (!me.gives_buffers) {
        *buffer = nullptr;
        *size = 0;
        me.buffers_.push_back("refused on=" + me.thread_name(std::this_thread::get_id()));
        return;
    }
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, me.buffer_bytes));
    *size = me.buffer_bytes;
    ++me.outstanding_;
    me.buffers_.push_back("asked for on=" + me.thread_name(std::this_thread::get_id()));
}

void observer::on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    observer& me = instance();
    const std::scoped_lock lock{me.mutex_};
    CUpti_Activity* record = nullptr;
    std::size_t records = 0;
    CUptiResult result = CUPTI_SUCCESS;
    while ((result = cupti().cuptiActivityGetNextRecord(buffer, valid, &record)) == CUPTI_SUCCESS) {
        me.records_.push_back(me.describe(*record));
        ++records;
    }
    const char* ending = nullptr;
    cupti().cuptiGetResultString(result, &ending);
    me.buffers_.push_back("returned on=" + me.thread_name(std::this_thread::get_id()) + " records=" + text(records) +
                          " ends with " + ending);
    --me.outstanding_;
    std::free(buffer);
}

std::string observer::describe(const CUpti_Activity& record) {
    switch (record.kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
            const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
            return "kernel " + std::string{kernel.name} + " grid=" + triple(kernel.gridX, kernel.gridY, kernel.gridZ) +
                   " block=" + triple(kernel.blockX, kernel.blockY, kernel.blockZ) +
                   " shared=" + std::to_string(kernel.dynamicSharedMemory) + " device=" + text(kernel.deviceId) +
                   " stream=" + stream_name(kernel.streamId) + " call=" + alias('c', kernel.correlationId) +
                   " node=" + node_name(kernel.graphNodeId) + " graph=" + alias('g', kernel.graphId) + " " +
                   times(kernel.start, kernel.end, kernel.correlationId);
        }
        case CUPTI_ACTIVITY_KIND_MEMCPY: {
            const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
            return "memcpy kind=" + text(copy.copyKind) + " from=" + text(copy.srcKind) + " to=" + text(copy.dstKind) +
                   " bytes=" + text(copy.bytes) + " flags=" + text(copy.flags) + " device=" + text(copy.deviceId) +
                   " stream=" + stream_name(copy.streamId) + " call=" + alias('c', copy.correlationId) +
                   " node=" + node_name(copy.graphNodeId) + " " + times(copy.start, copy.end, copy.correlationId);
        }
        case CUPTI_ACTIVITY_KIND_MEMSET: {
            const auto& set = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
            return "memset value=" + text(set.value) + " memory=" + text(set.memoryKind) + " bytes=" + text(set.bytes) +
                   " flags=" + text(set.flags) + " device=" + text(set.deviceId) +
                   " stream=" + stream_name(set.streamId) + " call=" + alias('c', set.correlationId) +
                   " node=" + node_name(set.graphNodeId) + " " + times(set.start, set.end, set.correlationId);
        }
        case CUPTI_ACTIVITY_KIND_RUNTIME:
        case CUPTI_ACTIVITY_KIND_DRIVER: {
            const auto& api = reinterpret_cast<const CUpti_ActivityAPI&>(record);
            return std::string{record.kind == CUPTI_ACTIVITY_KIND_RUNTIME ? "runtime " : "driver "} + text(api.cbid) +
                   " call=" + alias('c', api.correlationId) + " returns=" + text(api.returnValue) +
                   " ordered=" + yes(api.start > 0 && api.end >= api.start);
        }
        case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
            const auto& external = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
            return "external kind=" + text(external.externalKind) + " id=" + text(external.externalId) +
                   " call=" + alias('c', external.correlationId);
        }
        default:
            return "kind " + text(record.kind);
    }
}

std::string observer::times(std::uint64_t start, std::uint64_t end, std::uint32_t correlation) const {
    if (start == 0 || end == 0) {
        return "start=" + std::string{start == 0 ? "0" : "known"} + " end=" + (end == 0 ? "0" : "known");
    }
    const auto entered = entered_ns_.find(correlation);
    return "ordered=" + yes(end > start) +
           " after_call=" + (entered == entered_ns_.end() ? "unknown" : yes(start > entered->second));
}

std::string observer::stream_name(std::uint32_t id) const {
    const auto known = streams_.find(id);
    return known == streams_.end() ? "other" : known->second;
}

std::string observer::node_name(std::uint64_t id) { return id == 0 ? "none" : alias('n', id); }

std::string observer::thread_name(std::thread::id thread) const { return thread == main_thread_ ? "main" : "another"; }

std::string observer::alias(char letter, std::uint64_t id) {
    if (id == 0) {
        return "none";
    }
    std::string& name = aliases_[{letter, id}];
    if (name.empty()) {
        name = letter + std::to_string(++last_alias_[letter]);
    }
    return name;
}
