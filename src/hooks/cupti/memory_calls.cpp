// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/memory_calls.hpp"

#include <array>

#include "hooks/cupti/callback_state.hpp"
#include "hooks/lines/call_lines.hpp"
#include "hooks/loaded_symbol.hpp"
#include "record/memory.hpp"
#include "record/stack_bounds.hpp"

namespace prof {
namespace {

struct memory_call {
    bool is_known = false;
    cuda_memory_kind kind = cuda_memory_kind::device;
    bool is_freed = false;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::int32_t device = -1;  // -1: that of the current context
};

constexpr int success = 0;
constexpr int out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation

// The parameters of the runtime's calls begin like those of the driver's. Where the call has failed the place of the
// address may not have been written.
template <typename TParams>
const TParams& params_as(const CUpti_CallbackData& data) noexcept {
    return *static_cast<const TParams*>(data.functionParams);
}
std::uint64_t address_at(const void* place) noexcept {
    return place == nullptr ? 0 : *static_cast<const std::uint64_t*>(place);
}

memory_call had(cuda_memory_kind kind, const CUpti_CallbackData& data) noexcept {
    const auto& given = params_as<cuMemAlloc_v2_params>(data);
    return {.is_known = true, .kind = kind, .address = address_at(given.dptr), .bytes = given.bytesize};
}
memory_call given_back(const CUpti_CallbackData& data, cuda_memory_kind kind = cuda_memory_kind::freed) noexcept {
    const auto& given = params_as<cuMemFree_v2_params>(data);
    return {.is_known = given.dptr != 0, .kind = kind, .is_freed = true, .address = given.dptr};
}
memory_call had_pitched(const CUpti_CallbackData& data) noexcept {
    const auto& given = params_as<cuMemAllocPitch_v2_params>(data);
    if (given.pPitch == nullptr) return {};
    return {.is_known = true, .address = address_at(given.dptr), .bytes = *given.pPitch * given.Height};
}
memory_call registered(const CUpti_CallbackData& data) noexcept {
    const auto& given = params_as<cuMemHostRegister_v2_params>(data);
    return {.is_known = true,
            .kind = cuda_memory_kind::registered,
            .address = reinterpret_cast<std::uintptr_t>(given.p),
            .bytes = given.bytesize};
}
memory_call created(const CUpti_CallbackData& data) noexcept {
    const auto& given = params_as<cuMemCreate_params>(data);
    const bool is_of_gpu = given.prop != nullptr && given.prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    return {.is_known = is_of_gpu,
            .kind = cuda_memory_kind::physical,
            .address = address_at(given.handle),
            .bytes = given.size,
            .device = is_of_gpu ? given.prop->location.id : -1};
}

memory_call read_driver_call(CUpti_CallbackId cbid, const CUpti_CallbackData& data) noexcept {
    switch (cbid) {
        case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
            return had(cuda_memory_kind::device, data);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
            return had_pitched(data);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
            return had(cuda_memory_kind::managed, data);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
            return had(cuda_memory_kind::pool, data);
        case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2:
            return had(cuda_memory_kind::pinned, data);
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister:
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
            return registered(data);
        case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
            return created(data);
        case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
            return given_back(data, cuda_memory_kind::physical);
        case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
        case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
        case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
        case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
        case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
            return given_back(data);
        default:
            return {};
    }
}

memory_call read_runtime_call(CUpti_CallbackId cbid, const CUpti_CallbackData& data) noexcept {
    switch (cbid) {
        case CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020:
            return had(cuda_memory_kind::device, data);
        case CUPTI_RUNTIME_TRACE_CBID_cudaMallocPitch_v3020:
            return had_pitched(data);
        case CUPTI_RUNTIME_TRACE_CBID_cudaMallocManaged_v6000:
            return had(cuda_memory_kind::managed, data);
        case CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020:
        case CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_ptsz_v11020:
        case CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_v11020:
        case CUPTI_RUNTIME_TRACE_CBID_cudaMallocFromPoolAsync_ptsz_v11020:
            return had(cuda_memory_kind::pool, data);
        case CUPTI_RUNTIME_TRACE_CBID_cudaMallocHost_v3020:
        case CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020:
            return had(cuda_memory_kind::pinned, data);
        case CUPTI_RUNTIME_TRACE_CBID_cudaHostRegister_v4000:
            return registered(data);
        case CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020:
        case CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020:
        case CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_ptsz_v11020:
        case CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020:
        case CUPTI_RUNTIME_TRACE_CBID_cudaHostUnregister_v4000:
            return given_back(data);
        default:
            return {};
    }
}

// 0 where CUPTI does not know it.
std::uint8_t device_of(const memory_call& call, const CUpti_CallbackData& data) noexcept {
    if (call.device >= 0) return static_cast<std::uint8_t>(call.device);
    auto* const device_id = callbacks.device_id.load();
    std::uint32_t id = 0;
    const bool is_known =
        device_id != nullptr && data.context != nullptr && device_id(data.context, &id) == CUPTI_SUCCESS;
    return is_known ? static_cast<std::uint8_t>(id) : std::uint8_t{0};
}

}  // namespace

void record_memory_calls(bool is_wanted) noexcept {
    if (is_wanted) {
        const std::array<const void*, 3> functions = {first_loaded_symbol("cuMemAlloc_v2"),
                                                      first_loaded_symbol("cudaMalloc"),
                                                      first_loaded_symbol("cuptiSubscribe")};
        note_cuda_functions(functions);
    }
    are_memory_calls_recorded.store(is_wanted);
}

void note_memory_call(producer& out, api_domain domain, CUpti_CallbackId cbid, const CUpti_CallbackData& data,
                      std::uint64_t ticks) noexcept {
    if (data.functionParams == nullptr || data.functionReturnValue == nullptr) return;
    const int result = *static_cast<const int*>(data.functionReturnValue);
    if (result != success && result != out_of_memory) return;
    const memory_call call =
        domain == api_domain::driver ? read_driver_call(cbid, data) : read_runtime_call(cbid, data);
    const bool has_failed = result != success;
    if (!call.is_known || (has_failed && call.is_freed) || (!has_failed && call.address == 0)) return;
    record r;
    r.ticks = ticks;
    r.kind = has_failed ? record_kind::out_of_memory : record_kind::memory_block;
    r.domain = packed_device(static_cast<std::uint8_t>(call.kind), device_of(call, data));
    if (has_failed) {
        r.value = call.bytes;
    } else {
        pack_own(r, call.address, call.bytes, call.is_freed);
    }
    out.write(r);
    if (call.is_freed || !are_lines_recorded()) return;
    note_caller(out, r.value, ticks);
    note_birth(out, r.value, ticks, has_failed || call.bytes >= stack_of_block_bytes);
}

}  // namespace prof
