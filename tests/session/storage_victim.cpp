// A program that records more than its storage may take, on the simulated GPU:
//
//   storage_victim STEPS [remove-output | block-disk | fill-disk | block-first-write | kill]
//
// Each step has three ranges and two launches. remove-output: after the first step the output directory is removed,
// with all that is in it. block-disk: from the first step to the last no write to a capture comes back (slow_disk.cpp,
// preloaded). fill-disk: likewise, the disk is full until all steps
// are done and libprof has tried again; then there is a last step. block-first-write: a thread's first range waits for
// the disk, and meanwhile the others are pushed, STEPS of them in all; nothing is launched. kill: it is killed at the
// end. Else prints "done", and ends with status 3.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <malloc.h>
#include <prof/prof.h>
#include <signal.h>
#include <prof/range.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "fakes/fake_gpu.h"

namespace {

void work_k() {}

void launch(cudaStream_t stream) {
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(work_k), dim3(1), dim3(32), nullptr, 0, stream);
}

void step(cudaStream_t stream) {
    PROF_RANGE("step");
    {
        PROF_RANGE("forward");
        launch(stream);
    }
    PROF_RANGE("backward");
    launch(stream);
}

void tell_disk(const char* function) {
    if (void* const found = dlsym(RTLD_DEFAULT, function)) reinterpret_cast<void (*)()>(found)();
}

int block_first_write(int ranges) {
    tell_disk("slow_disk_block");
    std::thread first([] { PROF_RANGE("first"); });
    tell_disk("slow_disk_await_writer");
    for (int i = 1; i < ranges; ++i) {
        PROF_RANGE("meanwhile");
    }
    tell_disk("slow_disk_release");
    first.join();
    std::puts("done");
    return 3;
}

void make_room_and_step(cudaStream_t stream) {
    tell_disk("slow_disk_await_refusals");
    if (void* const found = dlsym(RTLD_DEFAULT, "prof_sync")) {
        if (reinterpret_cast<int (*)()>(found)() != PROF_FAILED) std::puts("a capture was written to a full disk");
    }
    tell_disk("slow_disk_release");
    if (void* const found = dlsym(RTLD_DEFAULT, "prof_sync")) {
        while (reinterpret_cast<int (*)()>(found)() != PROF_OK) std::this_thread::yield();
    }
    step(stream);
}

// What the program and the simulated GPU will want they have from here on. Where memory is short, it is so for libprof.
void take_memory_ahead() {
    constexpr int bytes = 16 << 20;
    (void)mallopt(M_TRIM_THRESHOLD, 2 * bytes);
    (void)mallopt(M_MMAP_THRESHOLD, 2 * bytes);
    void* volatile memory = std::malloc(bytes);
    std::free(memory);
}

}  // namespace

int main(int argc, char** argv) {
    take_memory_ahead();
    const int steps = argc > 1 ? std::atoi(argv[1]) : 1;
    const auto is_asked = [&](const char* word) { return argc > 2 && std::strcmp(argv[2], word) == 0; };
    if (is_asked("block-first-write")) return block_first_write(steps);
    fake_gpu_register_kernel(reinterpret_cast<const void*>(work_k), "work_k", 1'000);
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    for (int i = 0; i < steps; ++i) {
        step(stream);
        if (i != 0) continue;
        if (is_asked("remove-output")) std::filesystem::remove_all(std::getenv("PROF_OUTPUT_DIR"));
        if (is_asked("block-disk")) tell_disk("slow_disk_block");
        if (is_asked("fill-disk")) tell_disk("slow_disk_fill");
    }
    if (is_asked("fill-disk")) make_room_and_step(stream);
    (void)cudaStreamSynchronize(stream);
    if (is_asked("kill")) (void)raise(SIGKILL);
    std::puts("done");
    std::fflush(stdout);
    tell_disk("slow_disk_release");
    return 3;
}
