// SPDX-License-Identifier: Apache-2.0
// The one subscriber, the callbacks it has enabled, and their dispatch. Any thread; dispatching takes no lock.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "fakes/cupti/freed_memory.hpp"

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback = nullptr;
    void* userdata = nullptr;
};

namespace fake {

class subscription {
public:
    subscription(lifetimes& memory, runtime_hooks& hooks) : lifetimes_(memory), hooks_(hooks) {}

    CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata);
    CUptiResult unsubscribe(CUpti_SubscriberHandle handle);
    CUptiResult enable(bool on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
    CUptiResult enable_domain(bool on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain);
    CUptiResult enable_all(bool on, CUpti_SubscriberHandle handle);
    CUptiResult state(uint32_t* is_on, CUpti_SubscriberHandle handle, CUpti_CallbackDomain domain,
                      CUpti_CallbackId cbid) const;

    bool is_subscribed() const { return current_.load() != nullptr; }
    bool is_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid) const;

    void dispatch(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data);

    // Finalize and reset: the subscriber is cut off.
    void clear();

private:
    static constexpr std::size_t max_callbacks = 1024;
    using callback_switches = std::array<std::atomic<bool>, max_callbacks>;

    bool owns(CUpti_SubscriberHandle handle) const;
    void switch_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on);

    lifetimes& lifetimes_;
    runtime_hooks& hooks_;
    mutable std::mutex mutex_;  // of changes; a dispatch reads the atomics alone
    std::atomic<CUpti_Subscriber_st*> current_{nullptr};
    // All there ever were: a dispatch may be using one when its client unsubscribes.
    std::vector<std::unique_ptr<CUpti_Subscriber_st>> subscribers_;
    std::array<callback_switches, CUPTI_CB_DOMAIN_SIZE> switches_{};
};

// Callback ids of the domain are below this, in the emulated version; 0 for no such domain.
CUpti_CallbackId callback_limit(CUpti_CallbackDomain domain);

}  // namespace fake
