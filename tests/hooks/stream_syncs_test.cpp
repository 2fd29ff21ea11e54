// SPDX-License-Identifier: Apache-2.0
// The records of events and waits: which calls make one, and the stream and event in it.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_cupti.h"
#include "fakes/fake_gpu.h"
#include "hooks/cupti/tracer.hpp"
#include "hooks/one_ring.hpp"
#include "record/label.hpp"
#include "ring/registry.hpp"

namespace prof::stream_syncs_test {
namespace {

region rings{[] {
    region_options options = test::one_ring();
    options.large_ring_bytes = 1U << 20;
    return options;
}()};

struct sync {
    sync_kind kind = sync_kind::event_record;
    std::uint64_t event = 0;
    std::uint64_t stream = 0;
    record_kind after = record_kind::none;  // the record before it

    bool operator==(const sync&) const = default;
};

std::uint64_t number_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

struct StreamSyncs : testing::TestWithParam<bool> {
    StreamSyncs() {
        fake_gpu_reset();
        fake_gpu_set_clock(FAKE_GPU_CLOCK_VIRTUAL);
        install_region(&rings, nullptr);
        begin(activity_set::all());
        EXPECT_EQ(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking), cudaSuccess);
        EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    }
    ~StreamSyncs() override { end(); }

    void begin(activity_set what) {
        EXPECT_EQ(tracer.attach(++epoch, what, false, GetParam()).message(), "");
        set_gate(recording_epoch, epoch);
    }
    void end() {
        set_gate(recording_epoch, 0);
        tracer.detach(true);
        while (tracer.read_completed(batch)) tracer.give_back(batch);
        batch.clear();
        (void)syncs();
    }

    std::vector<sync> syncs() {
        std::vector<sync> out;
        record_kind before = record_kind::none;
        for (ring_header& ring : rings.rings()) {
            ring_consumer<record> consumer(&ring.counters, rings.slots(ring), ring.capacity);
            const auto view = consumer.peek();
            for (const auto part : {view.first, view.second}) {
                for (const record& r : part) {
                    if (r.kind == record_kind::stream_sync) {
                        out.push_back({static_cast<sync_kind>(r.flags), r.value, synced_stream(r), before});
                    }
                    before = r.kind;
                }
            }
            consumer.release(view.end);
        }
        return out;
    }

    // The stream's key, as the record of a kernel in it has it.
    std::uint64_t key_of(cudaStream_t stream) {
        EXPECT_EQ(fake_cuda_launch("gemm", 1000, stream), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        tracer.flush(true);
        std::uint64_t key = 0;
        for (; tracer.read_completed(batch); tracer.give_back(batch), batch.clear()) {
            for (const kernel_record& kernel : batch.kernels) key = stream_key(kernel.context, kernel.stream);
        }
        EXPECT_NE(key, 0U);
        (void)syncs();
        return key;
    }

    cupti_tracer tracer{rings, {.library = PROF_TEST_FAKE_CUPTI, .buffer_bytes = 4096, .buffer_count = 8}};
    activity_batch batch;
    cudaStream_t one = nullptr;
    cudaStream_t two = nullptr;
    cudaEvent_t event = nullptr;
    static inline std::uint32_t epoch = 0;
};

TEST_P(StreamSyncs, AreRecordedOnceWithTheKeysOfKernels) {
    const std::uint64_t key_one = key_of(one);
    const std::uint64_t key_two = key_of(two);
    ASSERT_NE(key_one, key_two);
    ASSERT_EQ(cudaEventRecord(event, one), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(two, event, 0), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(two), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const std::vector<sync> found = syncs();
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[0].kind, sync_kind::event_record);
    EXPECT_EQ(found[0].event, number_of(event));
    EXPECT_EQ(found[0].stream, key_one);
    EXPECT_EQ(found[1].kind, sync_kind::stream_wait);
    EXPECT_EQ(found[1].event, number_of(event));
    EXPECT_EQ(found[1].stream, key_two);
    EXPECT_EQ(found[2], (sync{sync_kind::host_event, number_of(event), 0, record_kind::api_enter}));
    EXPECT_EQ(found[3], (sync{sync_kind::host_stream, 0, key_two, record_kind::api_enter}));
}

TEST_P(StreamSyncs, KnowTheDefaultStreamsOfTheirContext) {
    fake_gpu_set_device_count(2);
    for (const int device : {0, 1, 0}) {
        ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
        for (const cudaStream_t stream : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
            const std::uint64_t key = key_of(stream);
            ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
            const std::vector<sync> found = syncs();
            ASSERT_EQ(found.size(), 1U) << device;
            EXPECT_EQ(found[0].stream, key) << device << " " << stream;
        }
    }
    fake_gpu_set_device_count(1);
}

// The driver gives a new stream the memory of the old one.
TEST_P(StreamSyncs, ForgetDestroyedStreams) {
    for (int i = 0; i < 50; ++i) {
        cudaStream_t stream = nullptr;
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        const std::uint64_t key = key_of(stream);
        ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
        const std::vector<sync> found = syncs();
        ASSERT_EQ(found.size(), 1U);
        EXPECT_EQ(found[0].stream, key);
        ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    }
}

TEST_P(StreamSyncs, AskCuptiOncePerStream) {
    ASSERT_EQ(cudaEventRecord(event, one), cudaSuccess);
    const auto asked = fake_cupti_calls("cuptiGetStreamIdEx");
    for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(cudaEventRecord(event, one), cudaSuccess);
        ASSERT_EQ(cudaStreamWaitEvent(one, event, 0), cudaSuccess);
    }
    EXPECT_EQ(fake_cupti_calls("cuptiGetStreamIdEx"), asked);
    EXPECT_EQ(syncs().size(), 21U);
}

TEST_P(StreamSyncs, BelongToTheActivityWaits) {
    end();
    activity_set what = activity_set::all();
    what.remove(activity::waits);
    begin(what);
    ASSERT_EQ(cudaEventRecord(event, one), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(two, event, 0), cudaSuccess);
    ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
    EXPECT_TRUE(syncs().empty());
}

TEST_P(StreamSyncs, EndWithTheRecording) {
    end();
    ASSERT_EQ(cudaEventRecord(event, one), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(two, event, 0), cudaSuccess);
    EXPECT_TRUE(syncs().empty());
}

INSTANTIATE_TEST_SUITE_P(Calls, StreamSyncs, testing::Bool(),
                         [](const auto& of) { return of.param ? "OfTheRuntime" : "OfTheDriver"; });

}  // namespace
}  // namespace prof::stream_syncs_test
