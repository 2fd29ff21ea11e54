// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/cupti_client.hpp"

namespace fake::fake_cupti_test {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

using FakeCupti = cupti_client;

cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
}

void launch(const char* name, std::uint64_t duration_ns = 0, cudaStream_t stream = nullptr) {
    EXPECT_EQ(fake_cuda_launch(name, duration_ns, stream), cudaSuccess);
}

TEST_F(FakeCupti, NestsTheDriverCallInTheRuntimeCallWithOneCorrelationId) {
    subscribe();
    ASSERT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                  CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000),
              CUPTI_SUCCESS);
    ASSERT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
              CUPTI_SUCCESS);
    launch("_Z6kernelv");
    ASSERT_EQ(callbacks.size(), 4U);
    const auto is = [&](CUpti_CallbackDomain domain, CUpti_CallbackId cbid, CUpti_ApiCallbackSite site,
                        const char* function) {
        return testing::AllOf(Field(&seen_callback::domain, domain), Field(&seen_callback::cbid, cbid),
                              Field(&seen_callback::site, site), Field(&seen_callback::function, function),
                              Field(&seen_callback::symbol, "_Z6kernelv"),
                              Field(&seen_callback::correlation_id, journal(0).correlation_id));
    };
    EXPECT_THAT(callbacks, ElementsAre(is(CUPTI_CB_DOMAIN_RUNTIME_API, 211, CUPTI_API_ENTER, "cudaLaunchKernel"),
                                       is(CUPTI_CB_DOMAIN_DRIVER_API, 307, CUPTI_API_ENTER, "cuLaunchKernel"),
                                       is(CUPTI_CB_DOMAIN_DRIVER_API, 307, CUPTI_API_EXIT, "cuLaunchKernel"),
                                       is(CUPTI_CB_DOMAIN_RUNTIME_API, 211, CUPTI_API_EXIT, "cudaLaunchKernel")));
}

TEST_F(FakeCupti, HasOneSubscriber) {
    subscribe();
    CUpti_SubscriberHandle second = nullptr;
    EXPECT_EQ(cuptiSubscribe(&second, callback, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(cuptiGetLastError(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(cuptiGetLastError(), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiUnsubscribe(subscriber), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiSubscribe(&second, callback, nullptr), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiUnsubscribe(subscriber), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(FakeCupti, RefusesInvalidArgumentsAsTheRealOne) {
    subscribe();
    EXPECT_EQ(cuptiSubscribe(nullptr, callback, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, 100'000), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiActivityRegisterCallbacks(nullptr, complete), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_NOT_COMPATIBLE);
    EXPECT_EQ(cuptiGetVersion(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
    EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
    CUpti_Activity* record = nullptr;
    EXPECT_EQ(cuptiActivityGetNextRecord(nullptr, 0, &record), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(FakeCupti, SpellsNamesAsTheRealOne) {
    const char* name = nullptr;
    ASSERT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 211, &name), CUPTI_SUCCESS);
    EXPECT_STREQ(name, "cudaLaunchKernel_v7000");
    ASSERT_EQ(cuptiGetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &name), CUPTI_SUCCESS);
    EXPECT_STREQ(name, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
    ASSERT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 0, &name), CUPTI_SUCCESS);
    EXPECT_STREQ(name, "INVALID");
    EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 100'000, &name), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(FakeCupti, FlushesOnlyCompleteBuffersUnlessForced) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    launch("a", 1'000'000);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_EQ(kernel_count(), 0U);
    EXPECT_EQ(journal(0).record, std::uint32_t{FAKE_GPU_RECORD_PENDING});
    ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);
    ASSERT_EQ(kernel_count(), 1U);
    EXPECT_EQ(kernels()[0].end, 0U);
    EXPECT_EQ(journal(0).record, std::uint32_t{FAKE_GPU_RECORD_INCOMPLETE});
    EXPECT_THAT(completed_on, ElementsAre(testing::Ne(std::this_thread::get_id())));
}

TEST_F(FakeCupti, RecordsMatchTheJournal) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    const cudaStream_t stream = new_stream();
    launch("_Z1av", 7000, stream);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    const auto records = kernels();
    ASSERT_EQ(records.size(), 1U);
    const fake_gpu_operation truth = journal(0);
    EXPECT_STREQ(records[0].name, "_Z1av");
    EXPECT_EQ(records[0].start, truth.start_ns);
    EXPECT_EQ(records[0].end - records[0].start, 7000U);
    EXPECT_EQ(records[0].correlationId, truth.correlation_id);
    EXPECT_EQ(records[0].streamId, truth.stream);
    EXPECT_EQ(records[0].blockX, 32);
    EXPECT_EQ(truth.record, std::uint32_t{FAKE_GPU_RECORD_DELIVERED});
}

TEST_F(FakeCupti, AsksForBuffersOnTheLaunchingThreadAndReturnsFullOnesFromItsOwn) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    max_records = 2;
    for (int i = 0; i < 5; ++i) {
        launch("a", 1000);
    }
    EXPECT_EQ(requested_on, std::this_thread::get_id());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    fake_gpu_settle();
    EXPECT_EQ(kernel_count(), 4U);
    for (const std::thread::id thread : completed_on) {
        EXPECT_NE(thread, std::this_thread::get_id());
    }
    EXPECT_EQ(fake_cupti_buffers_held(), 1U);
}

TEST_F(FakeCupti, ResetsTheDropCountWhenRead) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    gives_no_buffer = true;
    launch("lost");
    gives_no_buffer = false;
    fake_cupti_drop_records(1);
    launch("lost too");
    launch("kept");
    std::size_t dropped = 0;
    ASSERT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
    EXPECT_EQ(dropped, 2U);
    ASSERT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
    EXPECT_EQ(dropped, 0U);
    EXPECT_EQ(journal(0).record, std::uint32_t{FAKE_GPU_RECORD_DROPPED});
    EXPECT_EQ(journal(2).record, std::uint32_t{FAKE_GPU_RECORD_PENDING});
}

TEST_F(FakeCupti, DeliversHeldBuffersLateAndInReverse) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    max_records = 1;
    fake_cupti_hold_buffers();
    launch("first");
    launch("second");
    launch("still open");
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_EQ(kernel_count(), 0U);
    fake_cupti_release_buffers(FAKE_CUPTI_REVERSED);
    const auto records = kernels();
    ASSERT_EQ(records.size(), 2U);
    EXPECT_STREQ(records[0].name, "second");
    EXPECT_STREQ(records[1].name, "first");
}

TEST_F(FakeCupti, FailsOnDemand) {
    fake_cupti_fail("cuptiActivityEnable", CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, 1);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
    EXPECT_EQ(fake_cupti_calls("cuptiActivityEnable"), 2U);
}

TEST_F(FakeCupti, FailsByEnvironmentVariable) {
    setenv("FAKE_CUPTI_FAIL", "cuptiSubscribe=39;cuptiGetVersion=999*1", 1);
    fake_gpu_reset();
    unsetenv("FAKE_CUPTI_FAIL");  // read at the reset
    std::uint32_t version = 0;
    EXPECT_EQ(cuptiGetVersion(&version), CUPTI_ERROR_UNKNOWN);
    EXPECT_EQ(cuptiGetVersion(&version), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiSubscribe(&subscriber, callback, nullptr), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
}

TEST_F(FakeCupti, LaysRecordsOutAsItsVersionDoes) {
    for (const auto& [version, kernel_bytes] : std::vector<std::pair<std::uint32_t, std::size_t>>{
             {18, 208}, {28, 208}, {130'001, 216}, {130'100, 224}, {130'300, 232}, {130'400, 248}}) {
        fake_gpu_reset();
        fake_cupti_set_version(version);
        static std::size_t valid_bytes = 0;
        valid_bytes = 0;
        ASSERT_EQ(cuptiActivityRegisterCallbacks(request, [](CUcontext, std::uint32_t, std::uint8_t*, std::size_t,
                                                             std::size_t valid) { valid_bytes += valid; }),
                  CUPTI_SUCCESS);
        ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
        launch("a");
        ASSERT_EQ(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
        EXPECT_EQ(valid_bytes, kernel_bytes) << version;
    }
}

TEST_F(FakeCupti, HasTheLaunchCallbackOfCuda13FromVersion13On) {
    subscribe();
    const auto enable = [&] {
        return cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                   CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000);
    };
    EXPECT_EQ(enable(), CUPTI_SUCCESS);
    fake_cupti_set_version(28);
    EXPECT_EQ(enable(), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(FakeCupti, DistinguishesKindsOfCopies) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_SUCCESS);
    void* device = nullptr;
    void* pinned = nullptr;
    ASSERT_EQ(cudaMalloc(&device, 1 << 20), cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&pinned, 1 << 20), cudaSuccess);
    std::vector<char> pageable(1 << 20);
    ASSERT_EQ(cudaMemcpy(device, pageable.data(), 1 << 20, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(pinned, device, 1 << 19, cudaMemcpyDeviceToHost, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    ASSERT_EQ(copies.size(), 2U);
    EXPECT_EQ(copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EXPECT_EQ(copies[0].srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    EXPECT_EQ(copies[0].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT_EQ(copies[0].flags, 0);
    EXPECT_EQ(copies[1].dstKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
    EXPECT_EQ(copies[1].bytes, std::uint64_t{1} << 19);
    EXPECT_EQ(copies[1].flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
}

TEST_F(FakeCupti, RecordsNoApiCallBySelectionAlone) {
    ASSERT_EQ(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 1), CUPTI_SUCCESS);
    launch("a");
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_THAT(kinds, IsEmpty());
}

TEST_F(FakeCupti, LeavesDeselectedApiCallsOut) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 0), CUPTI_SUCCESS);
    launch("not recorded");
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_THAT(kinds, ElementsAre(CUPTI_ACTIVITY_KIND_RUNTIME));
}

TEST_F(FakeCupti, HasNoContextAtTheEntryOfAThreadsFirstCall) {
    subscribe();
    ASSERT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                                  CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000),
              CUPTI_SUCCESS);
    launch("creates the context");
    callbacks.clear();
    std::thread{[] {
        launch("first");
        launch("second");
    }}.join();
    std::vector<bool> has_context;
    for (const seen_callback& each : callbacks) {
        has_context.push_back(each.has_context);
    }
    EXPECT_THAT(has_context, ElementsAre(false, true, true, true));
}

TEST_F(FakeCupti, StartsAgainAfterFinalize) {
    subscribe();
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    launch("not seen");
    subscribe();
    ASSERT_EQ(cuptiActivityRegisterCallbacks(request, complete), CUPTI_SUCCESS);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    launch("seen");
    ASSERT_EQ(cuptiActivityFlushAll(1), CUPTI_SUCCESS);
    ASSERT_EQ(kernel_count(), 1U);
    EXPECT_STREQ(kernels()[0].name, "seen");
}

TEST_F(FakeCupti, SerialisesKernelsWhileTheSerialisingKindIsEnabled) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL), CUPTI_SUCCESS);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_ERROR_NOT_COMPATIBLE);
    launch("a", 50'000, new_stream());
    launch("b", 50'000, new_stream());
    EXPECT_EQ(journal(1).start_ns, journal(0).end_ns);
}

TEST_F(FakeCupti, LosesNoRecordOfManyThreads) {
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    constexpr int threads = 4;
    constexpr int launches = 200;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) {
        running.emplace_back([] {
            const cudaStream_t stream = new_stream();
            for (int each = 0; each < launches; ++each) {
                launch("a", 1000, stream);
                if (each % 50 == 0) {
                    cuptiActivityFlushAll(0);
                }
            }
            cudaStreamSynchronize(stream);
        });
    }
    for (std::thread& each : running) {
        each.join();
    }
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_EQ(kernel_count(), std::size_t{threads * launches});
    std::set<std::uint32_t> correlations;
    for (const auto& record : kernels()) {
        correlations.insert(record.correlationId);
    }
    EXPECT_EQ(correlations.size(), std::size_t{threads * launches});
    EXPECT_THAT(outstanding, IsEmpty());
}

TEST_F(FakeCupti, CompletesRecordsOnTheRealClock) {
    fake_gpu_set_clock(FAKE_GPU_CLOCK_REALTIME);
    ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
    const std::uint64_t before_ns = fake_gpu_now_ns();
    launch("a", 2'000'000);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_GE(fake_gpu_now_ns() - before_ns, 2'000'000U);
    ASSERT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
    EXPECT_EQ(kernel_count(), 1U);
}

using FakeCuptiDeathTest = cupti_client;

TEST_F(FakeCuptiDeathTest, CrashesWithoutABufferBefore12_9) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            fake_cupti_set_version(26);
            cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
            gives_no_buffer = true;
            launch("a");
        },
        "crashes CUPTI before 12.9");
}

}  // namespace
}  // namespace fake::fake_cupti_test
