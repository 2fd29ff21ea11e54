// SPDX-License-Identifier: Apache-2.0
// A program that pauses and resumes its recording in the middle of its work, with the GPU behind it, for the tests of
// windows. Kernels launched while it records are "recorded_k", those launched while it does not "unrecorded_k".
//
//   windows_victim [windows N] [steps N] [threads N] [finalized N]
//
// finalized: whether CUPTI is finalized, 0 (never) or 1 (once at least).
#include <cuda_runtime_api.h>
#include <prof/prof.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <prof/range.hpp>
#include <prof/session.hpp>
#include <string>
#include <thread>
#include <vector>

#include "fakes/fake_cupti.h"
#include "fakes/fake_gpu.h"
#include "session/loaded_fake_cupti.hpp"

namespace {

void recorded_k() {}
void unrecorded_k() {}

void launch(void (*kernel)(), cudaStream_t stream) {
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(32), nullptr, 0, stream);
}

void train(int steps, void (*kernel)(), cudaStream_t stream) {
    for (int i = 0; i < steps; ++i) {
        PROF_RANGE("step");
        for (int k = 0; k < 5; ++k) launch(kernel, stream);
    }
}

int number_after(const std::map<std::string, int>& words, const char* word, int otherwise) {
    const auto found = words.find(word);
    return found == words.end() ? otherwise : found->second;
}

}  // namespace

int main(int argc, char** argv) {
    std::map<std::string, int> words;
    for (int i = 1; i + 1 < argc; i += 2) words[argv[i]] = std::atoi(argv[i + 1]);
    const int steps = number_after(words, "steps", 3);

    fake_gpu_register_kernel(reinterpret_cast<const void*>(recorded_k), "recorded_k", 200'000);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(unrecorded_k), "unrecorded_k", 200'000);
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);

    // Threads that launch all the time, whether anything is recorded or not.
    std::atomic<bool> go_on{true};
    std::vector<std::thread> threads;
    for (int t = 0; t < number_after(words, "threads", 0); ++t) {
        threads.emplace_back([&] {
            cudaStream_t own = nullptr;
            (void)cudaStreamCreate(&own);
            while (go_on) {
                PROF_RANGE("elsewhere");
                launch(unrecorded_k, own);
                (void)cudaStreamSynchronize(own);
            }
        });
    }

    prof::session session;
    const int windows = number_after(words, "windows", 3);
    for (int window = 0; window < windows; ++window) {
        if (window != 0) session.resume();
        session.step();
        nvtxRangePushA("across");
        train(steps, recorded_k, stream);
        session.pause();  // the GPU has hardly begun
        nvtxRangePop();
        train(steps, unrecorded_k, stream);
        if (prof_pause() != PROF_WRONG_STATE || prof_is_recording() != 1) return 12;
    }
    go_on = false;
    for (std::thread& thread : threads) thread.join();
    session.stop();
    if (prof_resume() != PROF_WRONG_STATE || prof_is_recording() != 0) return 13;
    (void)cudaDeviceSynchronize();
    const std::size_t finalized =
        prof::test::of_the_fake_cupti<decltype(fake_cupti_calls)>("fake_cupti_calls")("cuptiFinalize");
    const int is_expected = number_after(words, "finalized", -1);
    if (is_expected >= 0 && (finalized != 0) != (is_expected == 1)) return 14;
    std::puts("done");
    return 0;
}
