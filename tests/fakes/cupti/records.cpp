// SPDX-License-Identifier: Apache-2.0
#include "fakes/cupti/records.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fakes/cupti/entry.hpp"

namespace fake {
namespace {

constexpr std::uint32_t cuda_12_2 = 20;
constexpr std::uint32_t cuda_12_4 = 22;
constexpr std::uint32_t cuda_12_5 = 23;
constexpr std::uint32_t cuda_13_1 = 130100;
constexpr std::uint32_t cuda_13_2 = 130200;
constexpr std::uint32_t cuda_13_3 = 130300;
constexpr std::uint32_t cuda_13_4 = 130400;

// Where 13.0's headers, which this is built with, have no name for a later field.
constexpr std::size_t kernel_priority_offset = 216;
constexpr std::uint32_t kernel_priority = 0xAAAA5555;

// What older versions leave in bytes that 13.0 gave a meaning: a reader that does not gate will see it.
constexpr std::uint8_t stale = 0xEE;

template <class TRecord>
record cut(const TRecord& fields, std::uint32_t version) {
    record cut_record;
    std::memcpy(cut_record.bytes.data(), &fields, sizeof(fields));
    cut_record.size = record_size(fields.kind, version);
    return cut_record;
}

// The names that records point to: CUPTI's own until it is finalized. Their storage is never freed, so that a client
// that reads it too late finds the overwritten text.
struct name_store {
    std::mutex mutex;
    std::map<std::string, std::vector<char>> names;
    std::list<std::vector<char>> gone;
};
name_store& kept_names() {
    static auto& store = *new name_store;
    return store;
}

const char* keep(const std::string& name) {
    name_store& store = kept_names();
    const std::scoped_lock lock{store.mutex};
    std::vector<char>& text = store.names[name];
    if (text.empty()) {
        text.assign(name.c_str(), name.c_str() + name.size() + 1);
    }
    return text.data();
}

std::uint64_t known_time(std::uint64_t ns) { return ns == FAKE_GPU_NEVER ? 0 : ns; }

CUpti_ActivityKernel10 kernel(const fake_gpu_operation& operation) {
    CUpti_ActivityKernel10 fields{};
    fields.registersPerThread = 32;
    fields.start = known_time(operation.start_ns);
    fields.end = known_time(operation.end_ns);
    fields.completed = fields.end;
    fields.deviceId = operation.device;
    fields.contextId = operation.context;
    fields.streamId = operation.stream;
    fields.gridX = static_cast<int32_t>(operation.grid[0]);
    fields.gridY = static_cast<int32_t>(operation.grid[1]);
    fields.gridZ = static_cast<int32_t>(operation.grid[2]);
    fields.blockX = static_cast<int32_t>(operation.block[0]);
    fields.blockY = static_cast<int32_t>(operation.block[1]);
    fields.blockZ = static_cast<int32_t>(operation.block[2]);
    fields.dynamicSharedMemory = static_cast<int32_t>(operation.dynamic_shared_bytes);
    fields.sharedMemoryExecuted = operation.dynamic_shared_bytes;
    fields.correlationId = operation.correlation_id;
    fields.gridId = static_cast<int64_t>(operation.index + 1);
    fields.name = operation.name == nullptr ? nullptr : keep(operation.name);
    fields.graphNodeId = operation.graph_node_id;
    fields.graphId = operation.graph_node_id == 0 ? 0 : operation.graph_id;
    fields.channelID = 1;
    fields.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
    return fields;
}

template <class TRecord>
void set_transfer_fields(TRecord& fields, const fake_gpu_operation& operation) {
    fields.bytes = operation.bytes;
    fields.start = known_time(operation.start_ns);
    fields.end = known_time(operation.end_ns);
    fields.deviceId = operation.device;
    fields.contextId = operation.context;
    fields.streamId = operation.stream;
    fields.correlationId = operation.correlation_id;
    fields.flags = operation.is_async;
    fields.graphNodeId = operation.graph_node_id;
    fields.graphId = operation.graph_node_id == 0 ? 0 : operation.graph_id;
    fields.channelID = 2;
    fields.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
}

}  // namespace

std::size_t record_size(CUpti_ActivityKind kind, std::uint32_t version) {
    switch (kind) {
        case CUPTI_ACTIVITY_KIND_KERNEL:
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
            return version >= cuda_13_4   ? 248
                   : version >= cuda_13_3 ? 232
                   : version >= cuda_13_1 ? 224
                   : version >= cuda_13_0 ? 216
                                          : 208;
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            return version >= cuda_13_4 ? 112 : version >= cuda_12_8 ? 96 : 88;
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            return 96;
        case CUPTI_ACTIVITY_KIND_MEMSET:
            return version >= cuda_13_4 ? 104 : 88;
        case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
            return version >= cuda_12_3 ? 56 : 48;
        case CUPTI_ACTIVITY_KIND_DEVICE:
            return version >= cuda_13_2 ? 192 : version >= cuda_12_2 ? 184 : 176;
        case CUPTI_ACTIVITY_KIND_CONTEXT:
            return version >= cuda_13_1 ? 40 : version >= cuda_12_5 ? 32 : version >= cuda_12_4 ? 24 : 16;
        case CUPTI_ACTIVITY_KIND_DRIVER:
        case CUPTI_ACTIVITY_KIND_RUNTIME:
            return sizeof(CUpti_ActivityAPI);
        case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
            return sizeof(CUpti_ActivityExternalCorrelation);
        default:
            return 0;
    }
}

CUpti_ActivityKind record_kind(const fake_gpu_operation& operation, CUpti_ActivityKind kernel_kind) {
    switch (operation.kind) {
        case FAKE_GPU_KERNEL:
            return kernel_kind;
        case FAKE_GPU_MEMCPY:
            return CUPTI_ACTIVITY_KIND_MEMCPY;
        case FAKE_GPU_MEMCPY_PEER:
            return CUPTI_ACTIVITY_KIND_MEMCPY2;
        case FAKE_GPU_MEMSET:
            return CUPTI_ACTIVITY_KIND_MEMSET;
        default:
            return CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    }
}

record make_record(const fake_gpu_operation& operation, CUpti_ActivityKind kernel_kind, std::uint32_t version) {
    const CUpti_ActivityKind kind = record_kind(operation, kernel_kind);
    switch (kind) {
        case CUPTI_ACTIVITY_KIND_MEMCPY: {
            CUpti_ActivityMemcpy6 fields{};
            fields.kind = kind;
            set_transfer_fields(fields, operation);
            fields.copyKind = operation.copy_kind;
            fields.srcKind = operation.source_kind;
            fields.dstKind = operation.destination_kind;
            fields.copyCount = 1;
            fields.isDeviceLaunched = version < cuda_13_0 ? stale : 0;
            return cut(fields, version);
        }
        case CUPTI_ACTIVITY_KIND_MEMCPY2: {
            CUpti_ActivityMemcpyPtoP4 fields{};
            fields.kind = kind;
            set_transfer_fields(fields, operation);
            fields.copyKind = operation.copy_kind;
            fields.srcKind = operation.source_kind;
            fields.dstKind = operation.destination_kind;
            fields.srcDeviceId = operation.source_device;
            fields.srcContextId = operation.source_device + 1;
            fields.dstDeviceId = operation.destination_device;
            fields.dstContextId = operation.destination_device + 1;
            return cut(fields, version);
        }
        case CUPTI_ACTIVITY_KIND_MEMSET: {
            CUpti_ActivityMemset4 fields{};
            fields.kind = kind;
            set_transfer_fields(fields, operation);
            fields.value = operation.value;
            fields.memoryKind = operation.destination_kind;
            if (operation.graph_node_id != 0) {  // CUPTI knows less of a graph's node
                fields.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN;
                fields.flags = CUPTI_ACTIVITY_FLAG_NONE;
            }
            fields.isDeviceLaunched = version < cuda_13_0 ? stale : 0;
            return cut(fields, version);
        }
        case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: {
            CUpti_ActivityGraphTrace2 fields{};
            fields.kind = kind;
            fields.correlationId = operation.correlation_id;
            fields.start = known_time(operation.start_ns);
            fields.end = known_time(operation.end_ns);
            fields.deviceId = fields.endDeviceId = operation.device;
            fields.contextId = fields.endContextId = operation.context;
            fields.streamId = operation.stream;
            fields.graphId = operation.graph_id;
            return cut(fields, version);
        }
        default: {
            CUpti_ActivityKernel10 fields = kernel(operation);
            fields.kind = kind;
            record kernel_record = cut(fields, version);
            std::memcpy(kernel_record.bytes.data() + kernel_priority_offset, &kernel_priority, sizeof(kernel_priority));
            return kernel_record;
        }
    }
}

record make_api_record(const api_call_state& call, std::uint32_t thread_id, std::uint32_t version) {
    CUpti_ActivityAPI fields{};
    fields.kind = call.domain == CUPTI_CB_DOMAIN_RUNTIME_API ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
    fields.cbid = call.cbid;
    fields.start = call.enter_ns;
    fields.end = call.exit_ns;
    fields.processId = static_cast<uint32_t>(getpid());
    fields.threadId = thread_id;
    fields.correlationId = call.correlation_id;
    fields.returnValue = static_cast<uint32_t>(*call.result);
    return cut(fields, version);
}

record make_external_record(CUpti_ExternalCorrelationKind kind, std::uint64_t external_id, std::uint32_t correlation_id,
                            std::uint32_t version) {
    CUpti_ActivityExternalCorrelation fields{};
    fields.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    fields.externalKind = kind;
    fields.externalId = external_id;
    fields.correlationId = correlation_id;
    return cut(fields, version);
}

void forget_names() {
    name_store& store = kept_names();
    const std::scoped_lock lock{store.mutex};
    for (auto& [name, text] : store.names) {
        std::fill(text.begin(), text.end() - 1, '?');
        store.gone.push_back(std::move(text));
    }
    store.names.clear();
}

record make_device_record(std::uint32_t index, const fake_gpu_device& device, std::uint32_t version) {
    CUpti_ActivityDevice5 fields{};
    fields.kind = CUPTI_ACTIVITY_KIND_DEVICE;
    fields.id = index;
    fields.globalMemorySize = device.memory_bytes;
    fields.numThreadsPerWarp = 32;
    fields.numMultiprocessors = static_cast<uint32_t>(device.multiprocessors);
    fields.maxWarpsPerMultiprocessor = 64;
    fields.maxThreadsPerBlock = 1024;
    fields.computeCapabilityMajor = static_cast<uint32_t>(device.compute_major);
    fields.computeCapabilityMinor = static_cast<uint32_t>(device.compute_minor);
    fields.isCudaVisible = 1;
    fields.name = keep(device.name);
    return cut(fields, version);
}

record make_context_record(std::uint32_t context, std::uint32_t device, std::uint32_t version) {
    CUpti_ActivityContext3 fields{};
    fields.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    fields.contextId = context;
    fields.deviceId = device;
    fields.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
    return cut(fields, version);
}

}  // namespace fake
