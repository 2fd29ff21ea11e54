// SPDX-License-Identifier: Apache-2.0
// libcupti's questions about the driver's objects, and fake_cupti.h.
#include "fakes/cupti/activity.hpp"
#include "fakes/cupti/entry.hpp"
#include "fakes/gpu/objects.hpp"
#include "fakes/gpu/simulated_gpu.hpp"

using fake::cupti;
using fake::entry;

namespace {

// Answers with `value`, a member of `object`.
template <class TObject, class TValue, class TAnswer>
CUptiResult answer(const TObject* object, TValue TObject::*value, TAnswer* to) {
    if (object == nullptr || to == nullptr) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *to = object->*value;
    return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
    return entry("cuptiGetContextId",
                 [&] { return context == nullptr ? CUPTI_ERROR_INVALID_CONTEXT : answer(context, &CUctx_st::id, id); });
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
    return entry("cuptiGetDeviceId", [&] {
        return context == nullptr ? CUPTI_ERROR_INVALID_CONTEXT : answer(context, &CUctx_st::device, id);
    });
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t* id) {
    return entry("cuptiGetStreamIdEx", [&] {
        if (context == nullptr) {
            return CUPTI_ERROR_INVALID_CONTEXT;
        }
        if (stream == nullptr && per_thread != 0) {
            stream = CU_STREAM_PER_THREAD;
        }
        const CUstream known = fake::simulated_gpu::instance().resolve_stream(stream, context);
        return known == nullptr ? CUPTI_ERROR_INVALID_STREAM : answer(known, &CUstream_st::id, id);
    });
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
    return cuptiGetStreamIdEx(context, stream, 0, id);
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
    return entry("cuptiGetGraphNodeId", [&] { return answer(node, &CUgraphNode_st::id, id); });
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
    return entry("cuptiGetGraphId", [&] { return answer(graph, &CUgraph_st::id, id); });
}

CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
    return entry("cuptiGetGraphExecId", [&] { return answer(exec, &CUgraphExec_st::id, id); });
}

void fake_cupti_drop_records(size_t n) { cupti().buffers.drop_next(n); }

void fake_cupti_hold_buffers(void) { cupti().buffers.hold(); }

void fake_cupti_release_buffers(fake_cupti_order order) { cupti().buffers.release(order); }

int fake_cupti_is_subscribed(void) { return cupti().subscriber.is_subscribed() ? 1 : 0; }

int fake_cupti_kind_is_enabled(int kind) { return cupti().is_enabled(static_cast<CUpti_ActivityKind>(kind)) ? 1 : 0; }

int fake_cupti_callback_is_enabled(int domain, uint32_t cbid) {
    return cupti().subscriber.is_enabled(static_cast<CUpti_CallbackDomain>(domain), cbid) ? 1 : 0;
}

size_t fake_cupti_buffers_held(void) { return cupti().buffers.buffers_held(); }

size_t fake_cupti_freed_uses(void) { return cupti().memory.freed_uses(); }

}  // extern "C"
