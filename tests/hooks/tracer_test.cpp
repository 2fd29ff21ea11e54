// SPDX-License-Identifier: Apache-2.0
// What the tracer asks of CUPTI, and when: against the fake, which dies where the real one crashes.
#include "hooks/cupti/tracer.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_cupti.h"
#include "fakes/fake_gpu.h"
#include "hooks/cupti/callbacks.hpp"
#include "hooks/one_ring.hpp"
#include "hooks/stream_names.hpp"
#include "record/label.hpp"
#include "ring/registry.hpp"

namespace prof::tracer_test {
namespace {

region rings{test::one_ring()};

struct Tracer : testing::Test {
    Tracer() {
        fake_gpu_reset();
        fake_gpu_set_clock(FAKE_GPU_CLOCK_VIRTUAL);
        latest = &tracer;
    }
    ~Tracer() override {
        tracer.detach(true);
        while (tracer.read_completed(batch)) tracer.give_back(batch);
    }

    void launch_and_wait(const char* kernel) {
        EXPECT_EQ(fake_cuda_launch(kernel, 1000, nullptr), cudaSuccess);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    // Kernels' names, in the order of their buffers.
    std::string read_all() {
        std::string names;
        for (; tracer.read_completed(batch); tracer.give_back(batch), batch.clear()) {
            for (const kernel_record& kernel : batch.kernels) {
                names += std::string(rings.names().text(kernel.name)) + " ";
            }
        }
        return names;
    }
    static std::uint64_t errors() { return rings.drops()[static_cast<std::size_t>(drop_cause::cupti_error)]; }

    cupti_tracer tracer{rings, {.library = PROF_TEST_FAKE_CUPTI, .buffer_bytes = 4096, .buffer_count = 8}};
    activity_batch batch;
    static inline cupti_tracer* latest = nullptr;
};

// Everything that one of libprof's threads may call at any time.
void call_from_another_thread() {
    std::thread([] {
        Tracer::latest->ask_for_completed();
        Tracer::latest->count_dropped();
        (void)Tracer::latest->snapshot();
        activity_batch batch;
        while (Tracer::latest->read_completed(batch)) Tracer::latest->give_back(batch);
    }).join();
}

// The stream is one of GPU 1's, and named while GPU 0 is current.
TEST_F(Tracer, DistinguishesStreamsByContext) {
    fake_gpu_set_device_count(2);
    ASSERT_EQ(tracer.attach(1).message(), "");
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(fake_cuda_launch("gemm", 1000, stream), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    launch_and_wait("relu");
    std::uint64_t key = 0;
    ASSERT_TRUE(stream_key_lookup.load()(stream, key));
    std::uint64_t current = 0;
    ASSERT_TRUE(stream_key_lookup.load()(nullptr, current));
    tracer.flush(true);
    ASSERT_TRUE(tracer.read_completed(batch));
    ASSERT_EQ(batch.kernels.size(), 2U);
    EXPECT_EQ(key, stream_key(batch.kernels[0].context, batch.kernels[0].stream));
    EXPECT_EQ(current, stream_key(batch.kernels[1].context, batch.kernels[1].stream));
    EXPECT_NE(key >> 32, current >> 32);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    fake_gpu_set_device_count(1);
}

// A call that began first returns last. Its number is not the latest, also where numbers begin again at 1 in between.
TEST_F(Tracer, KnowsTheLatestUnrecordedCallByItsNumber) {
    for (const char* calls_before : {"0", "4294967290"}) {
        ASSERT_EQ(setenv("FAKE_GPU_CALLS_BEFORE", calls_before, 1), 0);
        fake_gpu_reset();
        fake_gpu_set_clock(FAKE_GPU_CLOCK_VIRTUAL);
        ASSERT_EQ(tracer.attach(1).message(), "");
        fake_gpu_interrupt(FAKE_GPU_IN_LAUNCH, [] {
            std::thread([] {
                for (int i = 0; i < 20; ++i) EXPECT_EQ(fake_cuda_launch("later", 1000, nullptr), cudaSuccess);
            }).join();
        });
        launch_and_wait("first");
        fake_gpu_operation latest_launch{};
        ASSERT_EQ(fake_gpu_journal_entry(fake_gpu_journal_size() - 1, &latest_launch), 1);
        // The wait after the first launch has the next number.
        EXPECT_EQ(cupti_tracer::last_unrecorded_call(), latest_launch.correlation_id + 1) << calls_before;
        tracer.detach(true);
    }
    ASSERT_EQ(unsetenv("FAKE_GPU_CALLS_BEFORE"), 0);
}

TEST_F(Tracer, IgnoresOtherThreadsWhileItAttaches) {
    fake_gpu_interrupt(FAKE_GPU_REGISTERING, call_from_another_thread);
    ASSERT_EQ(tracer.attach(1).message(), "");
    EXPECT_EQ(fake_cupti_calls("cuptiActivityFlushAll"), 0U);
    EXPECT_EQ(fake_cupti_calls("cuptiGetTimestamp"), 1U) << "its own, before";
    EXPECT_TRUE(tracer.attached());
    call_from_another_thread();
    EXPECT_EQ(fake_cupti_calls("cuptiActivityFlushAll"), 1U);
}

// The fake would end this process.
TEST_F(Tracer, IgnoresOtherThreadsWhileItFinalizes) {
    ASSERT_EQ(tracer.attach(1).message(), "");
    launch_and_wait("late_k");
    fake_gpu_interrupt(FAKE_GPU_FINALIZING, call_from_another_thread);
    tracer.detach(true);
    EXPECT_EQ(fake_cupti_calls("cuptiFinalize"), 1U);
}

TEST_F(Tracer, HasAllRecordsAfterDisable) {
    ASSERT_EQ(tracer.attach(1).message(), "");
    launch_and_wait("first_k");
    tracer.flush(true);
    launch_and_wait("second_k");
    tracer.disable();
    launch_and_wait("third_k");
    const std::uint64_t before = errors();
    EXPECT_EQ(read_all(), "first_k second_k ");
    tracer.detach(true);
    EXPECT_EQ(read_all(), "");
    EXPECT_EQ(errors(), before);
}

// Kernels' names went with CUPTI.
TEST_F(Tracer, ReadsNoBufferAfterFinalize) {
    ASSERT_EQ(tracer.attach(1).message(), "");
    launch_and_wait("lost_k");
    tracer.detach(true);
    const std::uint64_t before = errors();
    EXPECT_EQ(read_all(), "");
    EXPECT_EQ(errors(), before + 1);

    ASSERT_EQ(tracer.attach(2).message(), "");
    launch_and_wait("next_k");
    tracer.disable();
    EXPECT_EQ(read_all(), "next_k ");
    EXPECT_EQ(errors(), before + 1);
}

// --- callbacks in a forked child, whose parent's CUPTI still makes them

// What the child, which records ranges, has in its ring after a launch, beside the one range; negative where a buffer
// was given.
int records_of_a_launch_in_the_child() {
    set_gate(recording_epoch, 0);
    leave_region_in_child(false, nullptr);
    cupti_tracer::leave_to_parent();
    static region own{test::one_ring()};
    own.inherit(rings, false);
    install_region(&own, nullptr);
    set_gate(recording_epoch, 7);
    producer* const out = recording_producer();
    record push;
    push.kind = record_kind::range_push;
    out->push(push);
    CUpti_CallbackData data{};
    data.symbolName = "kernel";
    for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT, CUPTI_API_ENTER, CUPTI_API_EXIT}) {
        data.callbackSite = site;
        data.correlationId += site == CUPTI_API_ENTER ? 1 : 0;
        on_event(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
    }
    CUpti_ResourceData resource{};
    on_event(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &resource);
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t most = 0;
    on_buffer_requested(&buffer, &size, &most);
    if (buffer != nullptr && size == 0) return -1;
    on_buffer_completed(nullptr, 0, buffer, size, 0);
    std::free(buffer);
    const auto found = glance<record>(own.rings().front(), own.slots(own.rings().front()));
    return static_cast<int>(found.view.first.size() + found.view.second.size()) - 1;
}

TEST(CuptiCallbacks, RecordNothingInAForkedChild) {
    cupti_tracer tracer{rings, {.library = PROF_TEST_FAKE_CUPTI, .buffer_bytes = 4096, .buffer_count = 8}};
    ASSERT_EQ(tracer.attach(1).message(), "");
    const pid_t child = fork();
    if (child == 0) _exit(records_of_a_launch_in_the_child() & 0xFF);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
    tracer.detach(true);
}

}  // namespace
}  // namespace prof::tracer_test
