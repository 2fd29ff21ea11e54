// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/stream_syncs.hpp"

#include "base/clock.hpp"
#include "hooks/cupti/callback_state.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

// The parameters of the runtime's calls begin like those of the driver's. A handle of the runtime is the driver's.
struct sync_call {
    sync_kind kind = sync_kind::host_event;
    CUevent event = nullptr;
    CUstream stream = nullptr;
};

sync_call read_call(launch_kind kind, const void* params) noexcept {
    switch (kind) {
        case launch_kind::event_record: {
            const auto& given = *static_cast<const cuEventRecord_params*>(params);
            return {sync_kind::event_record, given.hEvent, given.hStream};
        }
        case launch_kind::stream_wait: {
            const auto& given = *static_cast<const cuStreamWaitEvent_params*>(params);
            return {sync_kind::stream_wait, given.hEvent, given.hStream};
        }
        case launch_kind::wait_stream:
            return {sync_kind::host_stream, nullptr, static_cast<const cuStreamSynchronize_params*>(params)->hStream};
        default:
            return {sync_kind::host_event, static_cast<const cuEventSynchronize_params*>(params)->hEvent, nullptr};
    }
}

// A default stream has no handle of its own: it is one of each context.
bool default_stream_key(CUstream stream, CUcontext context, std::uint64_t& key) noexcept {
    return context != nullptr && cupti_stream_key_in(context, stream, key);
}

bool find_stream(producer& out, CUstream stream, bool per_thread, const CUpti_CallbackData& data,
                 std::uint64_t& key) noexcept {
    if (stream == nullptr) stream = per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    const bool is_default = stream == CU_STREAM_PER_THREAD || stream == CU_STREAM_LEGACY;
    std::uint64_t handle = reinterpret_cast<std::uintptr_t>(stream);
    if (is_default) handle |= std::uint64_t{data.contextUid} << 8;  // never a pointer, which is a multiple of 8
    // relaxed: a program destroys a stream only after its last call with it.
    const std::uint32_t generation = stream_generation.load(std::memory_order_relaxed);
    if (const std::uint64_t* known = out.streams().find(handle, generation); known != nullptr) {
        key = *known;
        return true;
    }
    if (!(is_default ? default_stream_key(stream, data.context, key) : cupti_stream_key(stream, key))) return false;
    out.streams().add(handle, key);
    return true;
}

}  // namespace

void note_sync(producer& out, launch_kind kind, api_domain domain, CUpti_CallbackId cbid,
               const CUpti_CallbackData& data) noexcept {
    if (data.functionParams == nullptr) return;
    const sync_call call = read_call(kind, data.functionParams);
    record r;
    r.kind = record_kind::stream_sync;
    r.flags = static_cast<std::uint8_t>(call.kind);
    r.value = reinterpret_cast<std::uintptr_t>(call.event);
    if (call.kind != sync_kind::host_event) {
        std::uint64_t key = 0;
        if (!find_stream(out, call.stream, is_per_thread(domain, cbid), data, key)) return;
        r.name = static_cast<std::uint32_t>(key);
        r.color = static_cast<std::uint32_t>(key >> 32);
    }
    r.category = cbid;
    r.domain = static_cast<std::uint16_t>(domain);
    r.ticks = ticks_now();
    out.write(r);
}

}  // namespace prof
