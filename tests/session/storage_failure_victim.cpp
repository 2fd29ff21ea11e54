// SPDX-License-Identifier: Apache-2.0
// A program that records more than its storage may take, on the simulated GPU:
//
//   storage_failure_victim STEPS [remove-output | block-disk | block-disk-first | fill-disk | fill-rings | told |
//   make-room |
//                         kill]
//
// Each step has three ranges and two launches. remove-output: after the first step the output directory is removed,
// with all that is in it. block-disk: from the first step to the last no write to a capture comes back (slow_disk.cpp,
// preloaded); block-disk-first: from the beginning on, so that the capture cannot be made. fill-disk: likewise, the
// disk is full until all steps are done and libprof has tried again; then there is a last step. fill-rings: from the
// first step on the file system of the rings is full, and no write to a capture comes back, so that all of CUPTI's
// buffers are wanted at once. told: there can be no capture, and whoever asks libprof hears why. make-room: what stands
// in the way of the capture goes after the first step, and a window begins. kill: it is killed at the end, when libprof
// has taken in all there is. Else prints "done", and ends with status 3; with status 4 and without a step if there is
// no memory for what it does itself.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <prof/prof.h>
#include <signal.h>
#include <unistd.h>
#include <prof/range.hpp>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

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

void call_disk(const char* function) {
    if (void* const found = dlsym(RTLD_DEFAULT, function)) reinterpret_cast<void (*)()>(found)();
}

// Has the disk answer after longer than the program ever takes, and says so: then it was held up.
class patience {
public:
    patience() : thread_([this] { watch(); }) {}
    ~patience() {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    patience(const patience&) = delete;
    patience& operator=(const patience&) = delete;

private:
    void watch() {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, std::chrono::seconds(60), [this] { return is_over_; })) return;
        std::puts("the program was held up");
        call_disk("slow_disk_release");
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_over_ = false;
    std::thread thread_;
};

template <typename TFunction>
TFunction* of_libprof(const char* name) {
    return reinterpret_cast<TFunction*>(dlsym(RTLD_DEFAULT, name));
}

// What comes back at once while there is no file.
void ask_without_file() {
    const auto path = of_libprof<decltype(prof_capture_path)>("prof_capture_path");
    if (path == nullptr) return;
    if (path(nullptr, 0) != 0) std::puts("the path of no file");
    if (of_libprof<decltype(prof_pause)>("prof_pause")() != PROF_OK) std::puts("no pause");
}

void expect_failure_reported(const char* function) {
    const auto called = of_libprof<int()>(function);
    if (called == nullptr) return;
    const bool failed = called() == PROF_FAILED;
    const char* const line = of_libprof<decltype(prof_last_error)>("prof_last_error")();
    if (!failed || std::strstr(line, "cannot create capture") != line) std::printf("%s: %s\n", function, line);
}

void make_room() {
    std::filesystem::remove(std::getenv("PROF_OUTPUT_DIR"));
    const auto pause = of_libprof<decltype(prof_pause)>("prof_pause");
    const auto resume = of_libprof<decltype(prof_resume)>("prof_resume");
    if (pause != nullptr && (pause() != PROF_OK || resume() != PROF_OK)) std::puts("no window");
}

void make_room_and_step(cudaStream_t stream) {
    call_disk("slow_disk_await_refusals");
    if (void* const found = dlsym(RTLD_DEFAULT, "prof_sync")) {
        if (reinterpret_cast<int (*)()>(found)() != PROF_FAILED) std::puts("a capture was written to a full disk");
    }
    call_disk("slow_disk_release");
    if (void* const found = dlsym(RTLD_DEFAULT, "prof_sync")) {
        while (reinterpret_cast<int (*)()>(found)() != PROF_OK) std::this_thread::yield();
    }
    step(stream);
}

// As other processes do who share it.
void fill_file_system_of_rings() {
    const std::string path = std::string{std::getenv("PROF_RINGS")} + "/filler";
    const int file = open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    const std::vector<char> page(4096, 'x');
    while (write(file, page.data(), page.size()) > 0) {
    }
    if (errno != ENOSPC) std::puts("it cannot be filled");
    close(file);
}

// What the program and the simulated GPU will want they have from here on. Where memory is short, it is so for libprof.
bool take_memory_ahead() {
    constexpr int bytes = 16 << 20;
    (void)mallopt(M_TRIM_THRESHOLD, 2 * bytes);
    (void)mallopt(M_MMAP_THRESHOLD, 2 * bytes);
    void* volatile memory = std::malloc(bytes);
    const bool has_it = memory != nullptr;
    std::free(memory);
    return has_it;
}

}  // namespace

int main(int argc, char** argv) {
    if (!take_memory_ahead()) return 4;
    const int steps = argc > 1 ? std::atoi(argv[1]) : 1;
    const auto is_asked = [&](const char* word) { return argc > 2 && std::strcmp(argv[2], word) == 0; };
    std::optional<patience> held_up;
    if (is_asked("block-disk-first")) {
        call_disk("slow_disk_block");
        held_up.emplace();
    }
    fake_gpu_register_kernel(reinterpret_cast<const void*>(work_k), "work_k", 1'000);
    cudaStream_t stream = nullptr;
    (void)cudaStreamCreate(&stream);
    for (int i = 0; i < steps; ++i) {
        step(stream);
        if (i != 0) continue;
        if (is_asked("remove-output")) std::filesystem::remove_all(std::getenv("PROF_OUTPUT_DIR"));
        if (is_asked("block-disk")) call_disk("slow_disk_block");
        if (is_asked("make-room")) make_room();
        if (is_asked("fill-rings")) {
            fill_file_system_of_rings();
            call_disk("slow_disk_block");
        }
        if (is_asked("fill-disk")) call_disk("slow_disk_fill");
    }
    if (is_asked("fill-disk")) make_room_and_step(stream);
    (void)cudaStreamSynchronize(stream);
    if (is_asked("block-disk-first")) ask_without_file();
    if (is_asked("told")) {
        expect_failure_reported("prof_sync");
        expect_failure_reported("prof_stop");
    }
    if (is_asked("kill")) {
        if (const auto sync = of_libprof<decltype(prof_sync)>("prof_sync")) (void)sync();
        (void)raise(SIGKILL);
    }
    held_up.reset();
    std::puts("done");
    std::fflush(stdout);
    call_disk("slow_disk_release");
    return 3;
}
