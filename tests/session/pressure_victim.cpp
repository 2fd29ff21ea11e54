// SPDX-License-Identifier: Apache-2.0
// A program that asks more of libprof than one may, on the simulated GPU:
//
//   pressure_victim flood THREADS RANGES    so many threads push and pop so many ranges each, as fast as they can
//   pressure_victim names COUNT             so many ranges "name 0", "name 1", …, each with a launch
//   pressure_victim churn THREADS           so many threads, 50 at a time, each with a range and a launch in it
//   pressure_victim late LAUNCHES           CUPTI hands no buffer back before all is launched, then the last one first
//   pressure_victim never LAUNCHES          the first launch never completes
//   pressure_victim graphs LAUNCHES         a CUDA graph of one kernel, which is launched so often
//   pressure_victim exhaust LAUNCHES        then takes memory until it is killed
//
// Prints "done", and ends with status 3. Every kernel is launched in a range "work" of its own, but for names.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/range.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fakes/fake_cupti.h"
#include "session/loaded_fake_cupti.hpp"

namespace {

void work_k() {}

void launch(cudaStream_t stream) {
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(work_k), dim3(1), dim3(32), nullptr, 0, stream);
}

void work(cudaStream_t stream) {
    PROF_RANGE("work");
    launch(stream);
}

void replay(int count, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    (void)cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
    launch(stream);
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < count; ++i) {
        PROF_RANGE("work");
        (void)cudaGraphLaunch(exec, stream);
    }
}

template <typename TWork>
void on_threads(int count, TWork&& what) {
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t) threads.emplace_back(what);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string scene = argc > 1 ? argv[1] : "";
    const int count = argc > 2 ? std::atoi(argv[2]) : 0;
    fake_gpu_register_kernel(reinterpret_cast<const void*>(work_k), "work_k", 1'000);
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);  // CUDA is there before the first thread
    if (scene == "flood") {
        const int ranges = argc > 3 ? std::atoi(argv[3]) : 0;
        on_threads(count, [ranges] {
            for (int i = 0; i < ranges; ++i) {
                PROF_RANGE("flood");
            }
        });
    } else if (scene == "names") {
        for (int i = 0; i < count; ++i) {
            nvtxRangePushA(("name " + std::to_string(i)).c_str());
            launch(stream);
            nvtxRangePop();
        }
    } else if (scene == "churn") {
        for (int begun = 0; begun < count; begun += 50) on_threads(50, [stream] { work(stream); });
    } else if (scene == "late") {
        prof::test::of_the_fake_cupti<void()>("fake_cupti_hold_buffers")();
        for (int i = 0; i < count; ++i) work(stream);
        (void)cudaDeviceSynchronize();
        prof::test::of_the_fake_cupti<void(fake_cupti_order)>("fake_cupti_release_buffers")(FAKE_CUPTI_REVERSED);
    } else if (scene == "never") {
        fake_gpu_next_never_completes();
        cudaStream_t other = nullptr;
        (void)cudaStreamCreate(&other);
        launch(other);
        for (int i = 1; i < count; ++i) work(stream);
    } else if (scene == "graphs") {
        replay(count, stream);
    } else if (scene == "exhaust") {
        for (int i = 0; i < count; ++i) work(stream);
        constexpr std::size_t piece = 1U << 20;
        for (;;) std::memset(::operator new(piece), 1, piece);
    }
    (void)cudaStreamSynchronize(stream);
    std::puts("done");
    std::fflush(stdout);
    return 3;
}
