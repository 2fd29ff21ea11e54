// SPDX-License-Identifier: Apache-2.0
// When the tracer finalizes CUPTI: never while a thread would go on with memory of CUPTI's that is freed by that, which
// the fake counts.
#include <cuda_profiler_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_cupti.h"
#include "fakes/fake_gpu.h"
#include "hooks/cupti/callbacks.hpp"
#include "hooks/cupti/tracer.hpp"
#include "hooks/one_ring.hpp"
#include "hooks/stream_names.hpp"
#include "hooks/suspension.hpp"
#include "ring/gate.hpp"
#include "ring/registry.hpp"

namespace prof::tracer_finalize_test {
namespace {

struct TracerFinalize : testing::Test {
    TracerFinalize() {
        fake_gpu_reset();
        fake_gpu_set_clock(FAKE_GPU_CLOCK_VIRTUAL);
        latest = this;
    }
    ~TracerFinalize() override {
        tracer.detach(false);
        while (tracer.read_completed(batch)) tracer.give_back(batch);
    }

    outcome attach(bool runtime_calls) { return tracer.attach(++epoch, activity_set::all(), false, runtime_calls); }
    // In the middle of it, after the entry of the driver's call and before its exit, `meanwhile` is called on another
    // thread.
    static void launch(void (*meanwhile)() = nullptr) {
        during = meanwhile;
        fake_gpu_interrupt(FAKE_GPU_IN_LAUNCH, [] {
            if (during != nullptr) std::thread(during).join();
        });
        EXPECT_EQ(fake_cuda_launch("k", 1000, nullptr), cudaSuccess);
    }
    static void detach() { latest->tracer.detach(true); }
    static std::size_t times_finalized() { return fake_cupti_calls("cuptiFinalize"); }

    static inline region rings{test::one_ring()};  // for good: a callback may look at it late
    cupti_tracer tracer{rings, {.library = PROF_TEST_FAKE_CUPTI, .buffer_bytes = 4096, .buffer_count = 8}};
    activity_batch batch;
    std::uint32_t epoch = 0;
    static inline TracerFinalize* latest = nullptr;
    static inline void (*during)() = nullptr;
};

struct TracerFinalizeInCall : TracerFinalize, testing::WithParamInterface<bool> {
    static bool records_runtime_calls() { return GetParam(); }
};

TEST_P(TracerFinalizeInCall, HarmsNoCallInProgressAtDetach) {
    ASSERT_EQ(attach(records_runtime_calls()).message(), "");
    launch(detach);
    launch();
    EXPECT_EQ(times_finalized(), records_runtime_calls() ? 0U : 1U);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

TEST_P(TracerFinalizeInCall, HarmsNoCallInProgressAtAttach) {
    launch([] { EXPECT_EQ(latest->attach(records_runtime_calls()).message(), ""); });
    tracer.detach(true);
    launch();
    EXPECT_EQ(times_finalized(), records_runtime_calls() ? 0U : 1U);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

// The hook that was left behind stays for good.
TEST_P(TracerFinalizeInCall, HarmsNoCallOfALaterRecording) {
    ASSERT_EQ(attach(records_runtime_calls()).message(), "");
    launch(detach);
    ASSERT_EQ(attach(false).message(), "");
    launch();
    tracer.detach(true);
    launch();
    EXPECT_EQ(times_finalized(), records_runtime_calls() ? 0U : 2U);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Of, TracerFinalizeInCall, testing::Bool(),
                         [](const auto& test) { return test.param ? "TheRuntimes" : "TheDrivers"; });

// A thread that is in the middle of CUPTI's callback for as long as the test wants. It comes in at the last moment,
// while the tracer switches off.
class thread_in_callback {
public:
    thread_in_callback() {
        latest = this;
        fake_gpu_interrupt(FAKE_GPU_DISABLING, [] {
            fake_gpu_interrupt(FAKE_GPU_IN_CALLBACK, [] { latest->place_.begin(); });
            latest->thread_ = std::thread([] { EXPECT_EQ(fake_cuda_launch("k", 1000, nullptr), cudaSuccess); });
            latest->place_.wait_until_begun();
        });
    }
    ~thread_in_callback() { thread_.join(); }
    thread_in_callback(const thread_in_callback&) = delete;
    thread_in_callback& operator=(const thread_in_callback&) = delete;

    void leave() { place_.end(); }

private:
    static inline thread_in_callback* latest = nullptr;
    test::suspension place_;
    std::thread thread_;
};

TEST_F(TracerFinalize, IsSkippedWhileAThreadIsInACallback) {
    ASSERT_EQ(attach(false).message(), "");
    {
        thread_in_callback other;
        tracer.detach(true);
        EXPECT_EQ(times_finalized(), 0U);
        EXPECT_EQ(fake_cupti_is_subscribed(), 0);
        other.leave();
    }
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);

    ASSERT_EQ(attach(false).message(), "");
    launch();
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 1U) << "as soon as it can be";
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

TEST_F(TracerFinalize, WaitsForAThreadThatLeavesItsCallback) {
    ASSERT_EQ(attach(false).message(), "");
    {
        thread_in_callback other;
        std::thread patient([&] {
            while (fake_cupti_calls("cuptiActivityGetNumDroppedRecords") == 0) std::this_thread::yield();
            other.leave();  // the tracer is silent
        });
        tracer.detach(true);
        patient.join();
    }
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

// It sleeps there, as a thread does that has left CUPTI long ago.
TEST_F(TracerFinalize, IsSkippedWhileAThreadWaitsInCudaProfilerStart) {
    static std::atomic<int> observed{0};
    static std::atomic<bool> may_go_on{false};
    ASSERT_EQ(tracer
                  .observe_profiler_calls([](bool) noexcept {
                      ++observed;
                      observed.notify_all();
                      may_go_on.wait(false);
                  })
                  .message(),
              "");
    ASSERT_EQ(attach(false).message(), "");
    std::thread waiting([] { EXPECT_EQ(cudaProfilerStart(), cudaSuccess); });
    observed.wait(0);
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 0U);
    EXPECT_EQ(fake_cupti_is_subscribed(), 1) << "it comes back to what that frees, and wants it again";
    may_go_on = true;
    may_go_on.notify_all();
    waiting.join();
    EXPECT_EQ(observed, 1);

    ASSERT_EQ(attach(false).message(), "");
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 1U);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

// It waits there for the capture to be made.
TEST_F(TracerFinalize, IsSkippedWhileAThreadMakesTheFirstRecord) {
    static std::atomic<int> begun{0};
    static std::atomic<bool> may_go_on{false};
    ASSERT_EQ(attach(false).message(), "");
    install_region(&rings, []() noexcept {
        ++begun;
        begun.notify_all();
        may_go_on.wait(false);
        return first_use_outcome::begun;
    });
    set_gate(recording_epoch, epoch);
    std::thread first([] { EXPECT_EQ(fake_cuda_launch("k", 1000, nullptr), cudaSuccess); });
    begun.wait(0);
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 0U);
    may_go_on = true;
    may_go_on.notify_all();
    first.join();
    set_gate(recording_epoch, 0);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

// It sleeps in the driver, which libprof asks for a stream's context, as it does that waits for a lock of the driver's.
TEST_F(TracerFinalize, IsSkippedWhileAThreadSleepsInACallThatACallbackMakes) {
    static std::atomic<bool> is_there{false};
    static std::atomic<bool> may_go_on{false};
    static region own_rings{test::one_ring()};  // the other's ring is in use
    ASSERT_EQ(attach(false).message(), "");
    install_region(&own_rings, nullptr);
    set_gate(recording_epoch, epoch);
    fake_gpu_interrupt(FAKE_GPU_ASKED_FOR_CONTEXT, [] {
        is_there = true;
        is_there.notify_all();
        may_go_on.wait(false);
    });
    std::thread waiting([] {
        cudaStream_t stream = nullptr;
        cudaEvent_t event = nullptr;
        EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
        EXPECT_EQ(cudaEventCreate(&event), cudaSuccess);
        EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    });
    is_there.wait(false);
    set_gate(recording_epoch, 0);
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 0U);
    may_go_on = true;
    may_go_on.notify_all();
    waiting.join();

    ASSERT_EQ(attach(false).message(), "");
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 1U);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

// NVTX names a stream: that asks CUPTI for its number, outside of any callback.
TEST_F(TracerFinalize, WaitsForAThreadThatAsksForAStream) {
    static std::atomic<bool> is_there{false};
    static std::atomic<bool> may_go_on{false};
    ASSERT_EQ(attach(false).message(), "");
    fake_gpu_interrupt(FAKE_GPU_ASKED_FOR_CONTEXT, [] {
        is_there = true;
        is_there.notify_all();
        may_go_on.wait(false);
    });
    auto* const look_up = stream_key_lookup.load();
    ASSERT_NE(look_up, nullptr);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    std::thread asking([&] {
        std::uint64_t key = 0;
        EXPECT_TRUE(look_up(stream, key));
    });
    is_there.wait(false);
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 0U);
    may_go_on = true;
    may_go_on.notify_all();
    asking.join();
    std::uint64_t key = 0;
    EXPECT_FALSE(look_up(stream, key)) << "CUPTI was detached from since the function was found";
}

// It was getting a buffer when CUPTI was asked for all of them: what it then writes there is read all the same.
TEST_F(TracerFinalize, ReadsTheRecordOfALateThreadFirst) {
    static test::suspension place;
    ASSERT_EQ(attach(false).message(), "");
    tracer.flush(true);  // the first buffer, with the GPU's record
    ASSERT_TRUE(tracer.read_completed(batch));
    tracer.give_back(batch);
    fake_gpu_interrupt(FAKE_GPU_GETTING_BUFFER, [] { place.begin(); });
    std::thread late([] {
        EXPECT_EQ(fake_cuda_launch("late", 1000, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    });
    place.wait_until_begun();
    tracer.disable();
    EXPECT_FALSE(tracer.read_completed(batch));
    std::thread patient([] { place.end(); });
    EXPECT_TRUE(tracer.wait_until_left());
    ASSERT_TRUE(tracer.read_completed(batch));
    tracer.give_back(batch);
    EXPECT_EQ(batch.kernels.size(), 1U);
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 1U);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
    late.join();
    patient.join();
}

// CUPTI takes a buffer along that it never gives back, as for a launch that comes at the last moment.
TEST_F(TracerFinalize, ReclaimsABufferThatCuptiKept) {
    const auto end_and_count_kernels = [&] {
        tracer.disable();
        batch.clear();  // what is read is added
        while (tracer.read_completed(batch)) tracer.give_back(batch);
        const std::size_t kernels = batch.kernels.size();
        tracer.detach(true);
        return kernels;
    };
    for (int i = 0; i < 20; ++i) {  // there are eight
        ASSERT_EQ(attach(false).message(), "");
        std::uint8_t* buffer = nullptr;
        std::size_t size = 0;
        std::size_t max_records = 0;
        on_buffer_requested(&buffer, &size, &max_records);
        EXPECT_NE(buffer, nullptr);
        launch();
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        EXPECT_EQ(end_and_count_kernels(), 1U);
    }
    EXPECT_EQ(times_finalized(), 20U);
}

// What still calls back then may do so in the middle of it.
TEST_F(TracerFinalize, RunsAfterEveryCallbackIsSwitchedOff) {
    static std::vector<std::string> on;
    ASSERT_EQ(tracer.observe_profiler_calls([](bool) noexcept {}).message(), "");
    ASSERT_EQ(tracer.observe_graphs().message(), "");
    ASSERT_EQ(attach(false).message(), "");
    fake_gpu_interrupt(FAKE_GPU_FINALIZING, [] {
        for (int domain = CUPTI_CB_DOMAIN_DRIVER_API; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
            for (std::uint32_t cbid = 0; cbid < 1024; ++cbid) {
                if (fake_cupti_callback_is_enabled(domain, cbid) != 0) {
                    on.push_back(std::to_string(domain) + "." + std::to_string(cbid));
                }
            }
        }
        for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
            if (fake_cupti_kind_is_enabled(kind) != 0) on.push_back("kind " + std::to_string(kind));
        }
    });
    tracer.detach(true);
    EXPECT_EQ(times_finalized(), 1U);
    EXPECT_EQ(on, std::vector<std::string>{});
}

}  // namespace
}  // namespace prof::tracer_finalize_test
