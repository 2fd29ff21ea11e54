// SPDX-License-Identifier: Apache-2.0
// What cuptiFinalize is dangerous for in the fake, as in the real one: hooks in the runtime, and threads that are in
// the middle of a callback.
#include "fakes/cuda/fake_cuda.h"
#include "fakes/cupti_client.hpp"

namespace fake::fake_finalize_test {
namespace {

struct FakeFinalize : cupti_client {
    void SetUp() override {
        cupti_client::SetUp();
        subscribe();
    }
    void switch_launches(CUpti_CallbackDomain domain, bool on) {
        const CUpti_CallbackId cbid = domain == CUPTI_CB_DOMAIN_RUNTIME_API
                                          ? CUpti_CallbackId{CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000}
                                          : CUpti_CallbackId{CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel};
        EXPECT_EQ(cuptiEnableCallback(on ? 1 : 0, subscriber, domain, cbid), CUPTI_SUCCESS);
    }
    // `meanwhile` is called in the middle of the launch, after the driver's entry and before its exit.
    static void launch(void (*meanwhile)() = nullptr) {
        fake_gpu_interrupt(FAKE_GPU_IN_LAUNCH, meanwhile);
        EXPECT_EQ(fake_cuda_launch("k", 0, nullptr), cudaSuccess);
    }
    static void finalize() { EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS); }
    static FakeFinalize& latest() { return *static_cast<FakeFinalize*>(client); }
};

constexpr CUpti_CallbackDomain runtime = CUPTI_CB_DOMAIN_RUNTIME_API;
constexpr CUpti_CallbackDomain driver = CUPTI_CB_DOMAIN_DRIVER_API;

TEST_F(FakeFinalize, IsHarmlessBetweenCalls) {
    switch_launches(runtime, true);
    switch_launches(driver, true);
    launch();
    finalize();
    launch();
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
    EXPECT_EQ(callbacks.size(), 4U);
}

TEST_F(FakeFinalize, HarmsARuntimeCallInProgress) {
    switch_launches(runtime, true);
    launch(finalize);
    EXPECT_EQ(fake_cupti_freed_uses(), 1U) << "its exit";
    launch();
    EXPECT_EQ(fake_cupti_freed_uses(), 1U) << "the hook was taken off";
}

TEST_F(FakeFinalize, IsHarmlessDuringADriverCall) {
    switch_launches(driver, true);
    launch(finalize);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
}

// The callback's use goes first, and then the call's: none is left, and the hook is on.
TEST_F(FakeFinalize, LeavesAHookSwitchedOffDuringACall) {
    switch_launches(runtime, true);
    launch([] { latest().switch_launches(runtime, false); });
    EXPECT_EQ(callbacks.size(), 1U);
    launch();
    EXPECT_EQ(callbacks.size(), 1U);
    EXPECT_EQ(fake_cupti_freed_uses(), 0U) << "nothing is freed yet";
    finalize();
    launch();
    launch();
    EXPECT_EQ(fake_cupti_freed_uses(), 2U) << "each call";
}

TEST_F(FakeFinalize, RemovesAHookSwitchedOnTwiceAndOffOnce) {
    for (const bool on : {true, true, false}) switch_launches(runtime, on);
    launch(finalize);
    EXPECT_EQ(fake_cupti_freed_uses(), 1U) << "the hook was on";
    launch();
    EXPECT_EQ(fake_cupti_freed_uses(), 1U);
}

TEST_F(FakeFinalize, MissesAHookSwitchedOffTwice) {
    for (const bool on : {true, false, false}) switch_launches(runtime, on);
    launch(finalize);
    launch();
    EXPECT_EQ(fake_cupti_freed_uses(), 0U);
    subscribe();
    switch_launches(runtime, true);
    launch();
    EXPECT_EQ(callbacks.size(), 2U) << "it is on again";
}

TEST_F(FakeFinalize, HarmsAThreadInACallback) {
    for (const CUpti_CallbackDomain domain : {driver, runtime}) {
        switch_launches(domain, true);
        fake_gpu_interrupt(FAKE_GPU_IN_CALLBACK, [] { std::thread(finalize).join(); });
        launch();
        EXPECT_EQ(fake_cupti_freed_uses(), domain == driver ? 1U : 3U) << "of the runtime's call the count, too";
        subscribe();
    }
}

TEST_F(FakeFinalize, IsHarmlessDuringACallWithoutACallback) {
    fake_gpu_interrupt(FAKE_GPU_IN_CALLBACK, finalize);
    launch();
    EXPECT_EQ(fake_cupti_calls("cuptiFinalize"), 0U);
}

}  // namespace
}  // namespace fake::fake_finalize_test
