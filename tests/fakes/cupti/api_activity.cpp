// SPDX-License-Identifier: Apache-2.0
// libcupti's activity API.
#include <cstring>

#include "fakes/cupti/activity.hpp"
#include "fakes/cupti/entry.hpp"
#include "fakes/gpu/simulated_gpu.hpp"

using fake::cupti;
using fake::entry;

extern "C" {

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
    return entry("cuptiActivityRegisterCallbacks", [&] {
        if (request == nullptr || complete == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        fake::simulated_gpu::instance().at(FAKE_GPU_REGISTERING);
        cupti().buffers.register_callbacks(request, complete);
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
    return entry("cuptiActivityEnable", [&] { return cupti().enable_kind(kind); });
}

CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
    return entry("cuptiActivityEnableAndDump", [&] { return cupti().enable_kind(kind, true); });
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
    return entry("cuptiActivityDisable", [&] {
        fake::simulated_gpu::instance().at(FAKE_GPU_DISABLING);
        return cupti().disable_kind(kind);
    });
}

CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
    return entry("cuptiActivityEnableContext",
                 [&] { return context == nullptr ? CUPTI_ERROR_INVALID_CONTEXT : cupti().enable_kind(kind); });
}

CUptiResult cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
    return entry("cuptiActivityDisableContext",
                 [&] { return context == nullptr ? CUPTI_ERROR_INVALID_CONTEXT : cupti().disable_kind(kind); });
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
    return entry("cuptiActivityEnableRuntimeApi",
                 [&] { return cupti().select_api(CUPTI_CB_DOMAIN_RUNTIME_API, cbid, enable != 0); });
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
    return entry("cuptiActivityEnableDriverApi",
                 [&] { return cupti().select_api(CUPTI_CB_DOMAIN_DRIVER_API, cbid, enable != 0); });
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
    return entry("cuptiActivityFlushAll", [&] {
        cupti().buffers.flush((flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0);
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiActivityFlush(CUcontext, uint32_t, uint32_t flag) { return cuptiActivityFlushAll(flag); }

// Full and complete buffers come back from the worker as soon as they are: no period is left to wait for.
CUptiResult cuptiActivityFlushPeriod(uint32_t) {
    return entry("cuptiActivityFlushPeriod", [] { return CUPTI_SUCCESS; });
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
    return entry("cuptiActivityGetNextRecord", [&] {
        if (buffer == nullptr || record == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        const auto size_at = [](const std::uint8_t* place) {
            CUpti_ActivityKind kind = CUPTI_ACTIVITY_KIND_INVALID;
            std::memcpy(&kind, place, sizeof(kind));
            return fake::record_size(kind, fake::cupti_version());
        };
        std::uint8_t* next = buffer;
        if (*record != nullptr) {
            auto* previous = reinterpret_cast<std::uint8_t*>(*record);
            next = previous + size_at(previous);
        }
        if (next >= buffer + valid_bytes) {
            return CUPTI_ERROR_MAX_LIMIT_REACHED;
        }
        if (size_at(next) == 0) {
            return CUPTI_ERROR_INVALID_KIND;
        }
        *record = reinterpret_cast<CUpti_Activity*>(next);
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
    return entry("cuptiActivityGetNumDroppedRecords", [&] {
        if (dropped == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        *dropped = cupti().buffers.take_dropped();
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) {
    return entry("cuptiActivitySetAttribute", [&] { return cupti().set_attribute(attribute, size, value); });
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* size, void* value) {
    return entry("cuptiActivityGetAttribute", [&] { return cupti().get_attribute(attribute, size, value); });
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
    return entry("cuptiSetThreadIdType", [&] {
        if (type < CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT || type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        cupti().set_thread_id_type(type);
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
    return entry("cuptiGetThreadIdType", [&] {
        if (type == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        *type = cupti().thread_id_type();
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
    return entry("cuptiActivityPushExternalCorrelationId", [&] {
        if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        fake::external_ids()[kind].push_back(id);
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last_id) {
    return entry("cuptiActivityPopExternalCorrelationId", [&] {
        if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        auto& ids = fake::external_ids()[kind];
        if (ids.empty()) {
            return CUPTI_ERROR_QUEUE_EMPTY;
        }
        if (last_id != nullptr) {
            *last_id = ids.back();
        }
        ids.pop_back();
        return CUPTI_SUCCESS;
    });
}

// Accepted for clients that ask; the fake records no latencies, launch attributes or hardware trace.
CUptiResult cuptiActivityEnableLatencyTimestamps(uint8_t) {
    return entry("cuptiActivityEnableLatencyTimestamps", [] { return CUPTI_SUCCESS; });
}

}  // extern "C"
