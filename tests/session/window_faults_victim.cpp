// SPDX-License-Identifier: Apache-2.0
// Programs whose windows open and end at bad moments, for window_faults_test.cpp.
//
//   window_faults_victim late_return | slow_begin | slow_disk | slow_disk_in_steps
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>

#include <string>
#include <thread>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_gpu.h"
#include "session/scenes.hpp"

namespace {

using prof::test::expect;

void launch(const std::string& name, cudaStream_t stream = nullptr) {
    expect(fake_cuda_launch(name.c_str(), 100'000, stream) == 0, "a launch");
}

void step() { expect(prof_step() == PROF_OK, "a step"); }
void tell(const char* function) {
    auto* const found = prof::test::of_libprof<void()>(function);
    expect(found != nullptr, function);
    found();
}

void launch_in_range(const char* name) {
    nvtxRangePushA("step");
    for (int i = 0; i < 3; ++i) launch(name);
    (void)cudaDeviceSynchronize();
    nvtxRangePop();
}

// A call of the warm-up returns when others have begun and ended since.
void late_return() {
    launch_in_range("before");
    step();
    (void)prof_sync();  // from here on CUPTI is attached
    fake_gpu_interrupt(FAKE_GPU_IN_LAUNCH, [] {
        std::thread([] {
            for (int i = 0; i < 50; ++i) launch("warm_up");
        }).join();
    });
    launch("warm_up");
    step();
    launch_in_range("recorded");
    step();
}

// The capture begins on another thread, whose record is the first, and which does not come to its end for as long as
// the first window lasts.
void slow_begin() {
    std::thread other([] { nvtxMarkA("first"); });
    tell("slow_first_record_await");
    launch_in_range("first_window");
    expect(prof_pause() == PROF_OK, "the first window ends");
    (void)prof_sync();  // it is taken in
    expect(prof_resume() == PROF_OK, "the second window begins");
    launch_in_range("second_window");
    tell("slow_first_record_release");
    other.join();
}

// The disk stands still while the window of range 1 is taken in, so that of range 2 is passed over.
void slow_disk() {
    for (int i = 0; i < 6; ++i) {
        if (i == 1) {
            expect(prof_sync() == PROF_OK, "the window before is taken in");
            tell("slow_disk_block");
        }
        nvtxRangePushA("capture");
        launch("range_" + std::to_string(i));
        (void)cudaDeviceSynchronize();
        nvtxRangePop();
        if (i == 1) tell("slow_disk_await_writer");
        if (i == 2) tell("slow_disk_release");
        if (i >= 2) expect(prof_sync() == PROF_OK, "the window before is taken in");
    }
}

// The same with windows by steps, each after a warm-up.
void slow_disk_in_steps() {
    for (int i = 0; i < 12; ++i) {  // wait, warm-up, active
        launch_in_range(("step_" + std::to_string(i)).c_str());
        if (i == 2) {
            expect(prof_sync() == PROF_OK, "nothing is to be taken in");
            tell("slow_disk_block");
        }
        step();
        if (i == 2) tell("slow_disk_await_writer");
        if (i == 4) tell("slow_disk_release");  // the window of step 5 is passed over, and its warm-up begins only now
        if (i >= 4) expect(prof_sync() == PROF_OK, "the window before is taken in");
    }
}

}  // namespace

int main(int, char** argv) {
    return prof::test::play(argv[1], {{"late_return", late_return},
                                      {"slow_begin", slow_begin},
                                      {"slow_disk", slow_disk},
                                      {"slow_disk_in_steps", slow_disk_in_steps}});
}
