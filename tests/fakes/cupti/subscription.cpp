// SPDX-License-Identifier: Apache-2.0
#include "fakes/cupti/subscription.hpp"

#include "fakes/cupti/entry.hpp"
#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {

CUpti_CallbackId callback_limit(CUpti_CallbackDomain domain) {
    switch (domain) {
        case CUPTI_CB_DOMAIN_DRIVER_API:
            return CUPTI_DRIVER_TRACE_CBID_SIZE;
        case CUPTI_CB_DOMAIN_RUNTIME_API:
            // The first that 13.0 added.
            return cupti_version() < cuda_13_0 ? CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000
                                               : CUPTI_RUNTIME_TRACE_CBID_SIZE;
        case CUPTI_CB_DOMAIN_RESOURCE:
            // The first that 13.0 added.
            return cupti_version() < cuda_13_0 ? CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED
                                               : CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS + 1;
        case CUPTI_CB_DOMAIN_SYNCHRONIZE:
            return CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED + 1;
        case CUPTI_CB_DOMAIN_NVTX:
            return CUPTI_CBID_NVTX_SIZE;
        case CUPTI_CB_DOMAIN_STATE:
            return CUPTI_CBID_STATE_WARNING + 1;
        default:
            return 0;
    }
}

bool subscription::owns(CUpti_SubscriberHandle handle) const { return handle != nullptr && handle == current_.load(); }

CUptiResult subscription::subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata) {
    if (handle == nullptr) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    simulated_gpu::instance().at(FAKE_GPU_IN_SUBSCRIPTION);
    const std::scoped_lock lock{mutex_};
    if (is_subscribed()) {
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    subscribers_.push_back(std::make_unique<CUpti_Subscriber_st>(CUpti_Subscriber_st{callback, userdata}));
    current_ = *handle = subscribers_.back().get();
    return CUPTI_SUCCESS;
}

CUptiResult subscription::unsubscribe(CUpti_SubscriberHandle handle) {
    {
        const std::scoped_lock lock{mutex_};
        if (!owns(handle)) {
            return CUPTI_ERROR_INVALID_PARAMETER;
        }
    }
    clear();
    return CUPTI_SUCCESS;
}

CUptiResult subscription::enable(bool on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                 CUpti_CallbackId cbid) {
    const std::scoped_lock lock{mutex_};
    if (!owns(handle) || cbid == 0 || cbid >= callback_limit(domain)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    switch_callback(domain, cbid, on);
    return CUPTI_SUCCESS;
}

CUptiResult subscription::enable_domain(bool on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain) {
    const std::scoped_lock lock{mutex_};
    if (!owns(handle) || callback_limit(domain) == 0) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    for (CUpti_CallbackId cbid = 1; cbid < callback_limit(domain); ++cbid) {
        switch_callback(domain, cbid, on);
    }
    return CUPTI_SUCCESS;
}

void subscription::switch_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on) {
    switches_[domain][cbid] = on;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
        hooks_.switch_callback(cbid, on);
    }
}

CUptiResult subscription::enable_all(bool on, CUpti_SubscriberHandle handle) {
    for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
        const CUptiResult result = enable_domain(on, handle, static_cast<CUpti_CallbackDomain>(domain));
        if (result != CUPTI_SUCCESS) {
            return result;
        }
    }
    return CUPTI_SUCCESS;
}

CUptiResult subscription::state(uint32_t* is_on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId cbid) const {
    if (is_on == nullptr || !owns(handle) || cbid == 0 || cbid >= callback_limit(domain)) {
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
    *is_on = switches_[domain][cbid] ? 1 : 0;
    return CUPTI_SUCCESS;
}

bool subscription::is_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) const {
    return is_subscribed() && cbid < callback_limit(domain) && switches_[domain][cbid];
}

void subscription::dispatch(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
    const CUpti_Subscriber_st* subscriber = current_.load();
    if (subscriber == nullptr || subscriber->callback == nullptr || !is_enabled(domain, cbid)) {
        return;
    }
    const std::uint64_t lifetime = lifetimes_.current();
    simulated_gpu::instance().at(FAKE_GPU_IN_CALLBACK);
    subscriber->callback(subscriber->userdata, domain, cbid, data);
    lifetimes_.use(lifetime);
}

void subscription::clear() {
    const std::scoped_lock lock{mutex_};
    current_ = nullptr;
    for (auto& domain : switches_) {
        for (auto& each : domain) {
            each = false;
        }
    }
}

}  // namespace fake
