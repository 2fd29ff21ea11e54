// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/cupti_client.hpp"

namespace fake::fake_gpu_test {
namespace {

using FakeGpu = cupti_client;

cudaStream_t new_stream() {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
}

void launch(const char* name, std::uint64_t duration_ns = 0, cudaStream_t stream = nullptr) {
    EXPECT_EQ(fake_cuda_launch(name, duration_ns, stream), cudaSuccess);
}

TEST_F(FakeGpu, RunsAStreamInOrderAndTwoStreamsAtOnce) {
    const cudaStream_t first = new_stream();   // 1 000 000 100 after its api cost
    const cudaStream_t second = new_stream();  // 1 000 000 200
    launch("a", 5000, first);                  // starts 1000 after 1 000 000 200
    launch("b", 3000, first);                  // when a ends
    launch("c", 4000, second);                 // starts 1000 after 1 000 000 400
    EXPECT_EQ(journal(0).start_ns, 1'000'001'200);
    EXPECT_EQ(journal(0).end_ns, 1'000'006'200);
    EXPECT_EQ(journal(1).start_ns, 1'000'006'200);
    EXPECT_EQ(journal(1).end_ns, 1'000'009'200);
    EXPECT_EQ(journal(2).start_ns, 1'000'001'400);
    EXPECT_EQ(journal(2).end_ns, 1'000'005'400);
}

TEST_F(FakeGpu, SynchronisationMovesTheVirtualClockToTheEnd) {
    launch("a", 1'000'000);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    // launched at 1 s, starts 1 us later; the synchronising call takes its own 100 ns
    EXPECT_EQ(fake_gpu_now_ns(), 1'001'001'100);
}

TEST_F(FakeGpu, DefaultStreamWaitsForBlockingStreams) {
    cudaStream_t blocking = nullptr;
    ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
    launch("a", 50'000, blocking);
    launch("b", 1000);
    EXPECT_EQ(journal(1).start_ns, journal(0).end_ns);
}

TEST_F(FakeGpu, OrdersStreamsByEvents) {
    const cudaStream_t first = new_stream();
    const cudaStream_t second = new_stream();
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
    launch("a", 50'000, first);
    ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    launch("b", 1000, second);
    EXPECT_EQ(journal(1).start_ns, journal(0).end_ns);
}

TEST_F(FakeGpu, ReturnsLaunchTimeoutForAHungStreamAndKeepsOthersRunning) {
    const cudaStream_t hung = new_stream();
    const cudaStream_t healthy = new_stream();
    fake_gpu_next_never_completes();
    launch("hangs", 0, hung);
    launch("runs", 1000, healthy);
    EXPECT_EQ(journal(0).end_ns, FAKE_GPU_NEVER);
    EXPECT_EQ(cudaStreamSynchronize(hung), cudaErrorLaunchTimeout);
    EXPECT_EQ(cudaStreamSynchronize(healthy), cudaSuccess);
}

TEST_F(FakeGpu, CopiesBytes) {
    void* device = nullptr;
    ASSERT_EQ(cudaMalloc(&device, 4), cudaSuccess);
    int back = 0;
    const int sent = 42;
    ASSERT_EQ(cudaMemcpy(device, &sent, 4, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(&back, device, 4, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(back, 42);
}

TEST_F(FakeGpu, AnswersNoDeviceWithoutDevices) {
    fake_gpu_set_device_count(0);
    int count = -1;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(cuptiSubscribe(&subscriber, callback, nullptr), CUPTI_ERROR_UNKNOWN);
    EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_ERROR_UNKNOWN);
    fake_cupti_set_version(28);
    EXPECT_EQ(cuptiSubscribe(&subscriber, callback, nullptr), CUPTI_ERROR_NOT_INITIALIZED);
}

}  // namespace
}  // namespace fake::fake_gpu_test
