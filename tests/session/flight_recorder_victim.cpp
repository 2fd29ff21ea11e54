// SPDX-License-Identifier: Apache-2.0
// A program that would run for ever, on the simulated GPU, while only the latest part of its recording is kept. Its
// steps are numbered (the payload of their range), so that the test knows which are there.
//
//   flight_recorder_victim steps N       so many steps
//   flight_recorder_victim seconds N     as many as that takes, and until something was let go
//   flight_recorder_victim for_ever      until it is killed; prints a line once what is kept has been renewed
//   flight_recorder_victim paced N       so many steps, so slowly that nothing is dropped
//   flight_recorder_victim texts N       the same after texts of 250,000 bytes, of which there are so many that one is
//                                        refused
//   flight_recorder_victim text N        keeps a text of N bytes, and no more
//
// Prints "steps N", "largest N": the most storage in KiB that the capture ever took, "kept N": the texts, and
// "length N": of the file.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <prof/range.hpp>
#include <string>
#include <thread>

#include "fakes/fake_gpu.h"
#include "hooks/nvtx_event.hpp"

namespace {

using prof::test::push_numbered;

void step_k() {}

struct storage {
    std::uint64_t bytes = 0;   // that it takes
    std::uint64_t length = 0;  // up to its end
};

storage of_capture() {
    char path[4096];
    struct stat status {};
    if (prof_capture_path(path, sizeof path) == 0 || stat(path, &status) != 0) return {};
    return {static_cast<std::uint64_t>(status.st_blocks) * 512, static_cast<std::uint64_t>(status.st_size)};
}

void step(std::uint64_t number, cudaStream_t stream) {
    push_numbered("step", number);
    {
        PROF_RANGE("forward");
        (void)cudaLaunchKernel(reinterpret_cast<const void*>(step_k), dim3(1), dim3(32), nullptr, 0, stream);
    }
    nvtxRangePop();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string scene = argc > 1 ? argv[1] : "";
    const std::uint64_t number = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
    fake_gpu_register_kernel(reinterpret_cast<const void*>(step_k), "step_k", 1'000);
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);

    std::atomic<bool> go_on{true};
    std::atomic<std::uint64_t> largest{0};
    std::atomic<bool> renewed{false};
    std::atomic<bool> front_is_gone{false};
    std::thread watch([&] {
        while (go_on) {
            const storage now = of_capture();
            if (now.bytes > largest) largest = now.bytes;
            if (now.length > now.bytes + (64U << 10)) front_is_gone = true;
            if (now.length > 4 * now.bytes && !renewed.exchange(true) && scene == "for_ever") {
                std::puts("renewed");
                std::fflush(stdout);
            }
        }
    });
    if (scene == "text") {
        step(1, stream);
        std::printf("result %d\n", prof_keep_text("only", std::string(number, 'x').c_str()));
    }
    std::uint64_t kept = 0;
    if (scene == "texts") {
        step(1, stream);
        // One that replaces another takes no more room.
        for (int i = 0; i < 2; ++i) (void)prof_keep_text("0", std::string(250'000, 'z').c_str());
        while (prof_keep_text(std::to_string(kept).c_str(),
                              std::string(250'000, static_cast<char>('a' + kept)).c_str()) == PROF_OK)
            ++kept;
        if (prof_keep_text("next", std::string(250'000, 'x').c_str()) != PROF_FAILED) return 4;
    }
    const bool paced = scene == "paced" || scene == "texts";
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::seconds(number);
    const nvtxRangeId_t whole = nvtxRangeStartA("whole");
    push_numbered("training", 0);
    std::uint64_t steps = 0;
    const auto is_over = [&] {
        if (scene == "steps" || paced) return steps == number;
        if (scene == "text") return true;
        return scene == "seconds" && front_is_gone && clock::now() >= end;
    };
    while (!is_over()) {
        step(++steps, stream);
        if (paced && steps % 1'000 == 0 && prof_sync() != PROF_OK) return 5;
    }
    nvtxRangePop();
    nvtxRangeEnd(whole);
    go_on = false;
    watch.join();
    if (prof_stop() != PROF_OK) return 3;
    if (const storage now = of_capture(); now.bytes > largest) largest = now.bytes;
    std::printf("steps %llu\nlargest %llu\nkept %llu\nlength %llu\n", static_cast<unsigned long long>(steps),
                static_cast<unsigned long long>(largest.load() / 1024), static_cast<unsigned long long>(kept),
                static_cast<unsigned long long>(of_capture().length));
    return 0;
}
