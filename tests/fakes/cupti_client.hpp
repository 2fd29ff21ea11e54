// SPDX-License-Identifier: Apache-2.0
// A CUPTI client for tests of the fake itself: collects callbacks and records. One test at a time.
#pragma once

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fakes/fake_cupti.h"

namespace fake {

struct seen_callback {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
    CUpti_ApiCallbackSite site;
    std::uint32_t correlation_id;
    std::string function;
    std::string symbol;
    bool has_context;
};

// Each test starts on a fresh GPU with a virtual clock at 1 s, an api cost of 100 ns and a launch latency of 1000 ns.
class cupti_client : public testing::Test {
protected:
    static constexpr std::size_t buffer_bytes = 4096;

    void SetUp() override {
        client = this;
        fake_gpu_reset();
        fake_gpu_set_clock(FAKE_GPU_CLOCK_VIRTUAL);
        fake_gpu_set_now_ns(1'000'000'000);
        fake_gpu_set_api_cost_ns(100);
        fake_gpu_set_launch_latency_ns(1000);
        ASSERT_EQ(cuptiActivityRegisterCallbacks(request, complete), CUPTI_SUCCESS);
    }

    void TearDown() override {
        fake_gpu_reset();
        for (std::uint8_t* buffer : outstanding) {
            std::free(buffer);
        }
    }

    void subscribe() { ASSERT_EQ(cuptiSubscribe(&subscriber, callback, nullptr), CUPTI_SUCCESS); }

    // Copies of the kernel records delivered so far.
    std::vector<CUpti_ActivityKernel10> kernels() {
        const std::scoped_lock lock{mutex};
        return kernel_records;
    }
    std::size_t kernel_count() { return kernels().size(); }

    static void request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
        const std::scoped_lock lock{client->mutex};
        client->requested_on = std::this_thread::get_id();
        if (client->gives_no_buffer) {
            *buffer = nullptr;
            return;
        }
        *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
        *size = buffer_bytes;
        *max_records = client->max_records;
        client->outstanding.insert(*buffer);
    }

    static void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
        const std::scoped_lock lock{client->mutex};
        client->completed_on.push_back(std::this_thread::get_id());
        CUpti_Activity* record = nullptr;
        while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
            client->kinds.push_back(record->kind);
            if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
                client->kernel_records.push_back(*reinterpret_cast<CUpti_ActivityKernel10*>(record));
            } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
                client->copies.push_back(*reinterpret_cast<CUpti_ActivityMemcpy6*>(record));
            }
        }
        client->outstanding.erase(buffer);
        std::free(buffer);
    }

    static void callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void* data) {
        const std::scoped_lock lock{client->mutex};
        if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
            client->callbacks.push_back({domain, cbid, CUPTI_API_ENTER, 0, "", "", false});
            const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
            const auto& graph = *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor);
            if (cbid == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
                std::uint64_t clone = 0;
                std::uint64_t original = 0;
                EXPECT_EQ(cuptiGetGraphNodeId(graph.node, &clone), CUPTI_SUCCESS);
                EXPECT_EQ(cuptiGetGraphNodeId(graph.originalNode, &original), CUPTI_SUCCESS);
                client->clones.emplace_back(original, clone);
            }
            return;
        }
        const auto& call = *static_cast<const CUpti_CallbackData*>(data);
        client->callbacks.push_back({domain, cbid, call.callbackSite, call.correlationId, call.functionName,
                                     call.symbolName == nullptr ? "" : call.symbolName, call.context != nullptr});
    }

    static inline cupti_client* client = nullptr;

    std::mutex mutex;
    CUpti_SubscriberHandle subscriber = nullptr;
    bool gives_no_buffer = false;
    std::size_t max_records = 0;
    std::thread::id requested_on;
    std::vector<std::thread::id> completed_on;
    std::set<std::uint8_t*> outstanding;
    std::vector<CUpti_ActivityKind> kinds;
    std::vector<CUpti_ActivityKernel10> kernel_records;
    std::vector<CUpti_ActivityMemcpy6> copies;
    std::vector<seen_callback> callbacks;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> clones;  // node ids: original, clone
};

inline fake_gpu_operation journal(std::size_t index) {
    fake_gpu_operation operation{};
    EXPECT_EQ(fake_gpu_journal_entry(index, &operation), 1) << index;
    return operation;
}

}  // namespace fake
