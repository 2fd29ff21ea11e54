// SPDX-License-Identifier: Apache-2.0
// libcupti's callback API, and what belongs to the whole library.
#include <cstring>

#include "fakes/cupti/activity.hpp"
#include "fakes/cupti/callback_names.hpp"
#include "fakes/cupti/entry.hpp"
#include "fakes/gpu/simulated_gpu.hpp"

using fake::cupti;
using fake::entry;

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
    return entry("cuptiGetVersion", [&] {
        if (version == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        *version = fake::cupti_version();
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
    return entry("cuptiGetTimestamp", [&] {
        if (timestamp == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        *timestamp = fake::simulated_gpu::instance().clock.now_ns();
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiGetLastError() { return fake::take_last_error(); }

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
    return entry("cuptiGetResultString", [&] {
        const char* name = fake::result_name(result);
        if (text == nullptr || name == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        *text = name;
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char** text) { return cuptiGetResultString(result, text); }

CUptiResult cuptiSupportedDomains(size_t* count, CUpti_DomainTable* domains) {
    return entry("cuptiSupportedDomains", [&] {
        static CUpti_CallbackDomain table[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                               CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_SYNCHRONIZE};
        if (count == nullptr || domains == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        *count = std::size(table);
        *domains = table;
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
    return entry("cuptiSubscribe", [&] {
        if (const CUptiResult refused = fake::require_device(); refused != CUPTI_SUCCESS) {
            return refused;
        }
        cupti().attach();
        return cupti().subscriber.subscribe(subscriber, callback, userdata);
    });
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
    return entry("cuptiUnsubscribe", [&] { return cupti().subscriber.unsubscribe(subscriber); });
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                CUpti_CallbackId cbid) {
    return entry("cuptiEnableCallback",
                 [&] { return cupti().subscriber.enable(enable != 0, subscriber, domain, cbid); });
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain) {
    return entry("cuptiEnableDomain",
                 [&] { return cupti().subscriber.enable_domain(enable != 0, subscriber, domain); });
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
    return entry("cuptiEnableAllDomains", [&] { return cupti().subscriber.enable_all(enable != 0, subscriber); });
}

CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                  CUpti_CallbackId cbid) {
    return entry("cuptiGetCallbackState", [&] { return cupti().subscriber.state(enable, subscriber, domain, cbid); });
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char** name) {
    return entry("cuptiGetCallbackName", [&] {
        const char* known = cbid < fake::callback_limit(domain) ? fake::callback_name(domain, cbid) : nullptr;
        if (name == nullptr || known == nullptr) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
        *name = known;
        return CUPTI_SUCCESS;
    });
}

CUptiResult cuptiFinalize() {
    return entry("cuptiFinalize", [] {
        const fake::last_call alone;
        fake::simulated_gpu::instance().at(FAKE_GPU_FINALIZING);
        cupti().finalize();
        return CUPTI_SUCCESS;
    });
}

}  // extern "C"
