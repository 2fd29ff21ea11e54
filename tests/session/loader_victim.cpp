// SPDX-License-Identifier: Apache-2.0
// A program that uses CUDA while a library is being loaded, for loader_test.cpp.
//
//   loader_victim other_thread | initialiser PLUGIN
//
// other_thread: one thread is in the library's initialiser, and stays there until another thread has done all that a
// program does. initialiser: the initialiser starts a thread that does it, and waits for its end. In both the loader's
// lock is held all the time. A program that waits for that lock ends after a minute by SIGALRM.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <prof/prof.h>
#include <unistd.h>
#include <prof/range.hpp>

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "session/scenes.hpp"

namespace {

using prof::test::expect;

std::function<void()> what;

// Streams that no thread has used before, more than a thread remembers.
void use_cuda(const char* kernel) {
    std::vector<cudaStream_t> streams(100);
    cudaEvent_t event = nullptr;
    expect(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess, "an event");
    for (cudaStream_t& stream : streams) {
        PROF_RANGE("stream");
        expect(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream");
        expect(fake_cuda_launch(kernel, 1'000, stream) == 0, "a launch");
        expect(cudaEventRecord(event, stream) == cudaSuccess, "a record");
        expect(cudaStreamWaitEvent(streams.front(), event, 0) == cudaSuccess, "a wait of a stream");
        expect(cudaStreamSynchronize(stream) == cudaSuccess, "a wait");
    }
}

void begin_next_window() {
    expect(prof_sync() == PROF_OK, "a sync");
    expect(prof_pause() == PROF_OK, "a pause");
    expect(prof_resume() == PROF_OK, "a new window");
}

void record_two_windows() {
    use_cuda("second_window");
    begin_next_window();
    use_cuda("third_window");
    expect(prof_sync() == PROF_OK, "a sync");
}

void load(const char* plugin) {
    if (dlopen(plugin, RTLD_NOW) != nullptr) return;
    std::puts(dlerror());
    std::_Exit(4);
}

void load_on_other_thread(const char* plugin) {
    static std::atomic<bool> is_inside{false};
    static std::atomic<bool> may_leave{false};
    what = [] {
        is_inside = true;
        is_inside.notify_all();
        may_leave.wait(false);
    };
    std::thread loading([&] { load(plugin); });
    is_inside.wait(false);
    record_two_windows();
    may_leave = true;
    may_leave.notify_all();
    loading.join();
}

void load_here(const char* plugin) {
    what = [] { std::thread(record_two_windows).join(); };
    load(plugin);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void in_initialiser() { what(); }

int main(int, char** argv) {
    alarm(60);
    use_cuda("first_window");
    begin_next_window();  // each of libprof's threads has done before what it will do again
    const std::string plugin = argv[2];
    return prof::test::play(argv[1], {{"other_thread", [&] { load_on_other_thread(plugin.c_str()); }},
                                      {"initialiser", [&] { load_here(plugin.c_str()); }}});
}
