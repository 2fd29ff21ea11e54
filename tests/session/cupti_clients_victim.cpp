// SPDX-License-Identifier: Apache-2.0
// Other clients of CUPTI in the program, one scene a run, for cupti_clients_test.cpp. What a scene prints is what the
// other client got; what libprof did to CUPTI goes to the file "calls".
//
//   cupti_clients_victim SCENE
#include <cupti.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "session/scenes.hpp"
#include "support/sanitized.hpp"

namespace {

using prof::test::expect;
using prof::test::of_libprof;

// libcupti as the process has it; the client's calls and libprof's go to the same.
template <typename TFunction>
TFunction* cupti(const char* name) {
    static void* const library = dlopen(std::getenv("PROF_CUPTI_LIBRARY"), RTLD_NOW);
    auto* const function = library == nullptr ? nullptr : reinterpret_cast<TFunction*>(dlsym(library, name));
    expect(function != nullptr, name);
    return function;
}
#define CUPTI(function) cupti<decltype(function)>(#function)

void train(int steps) {
    for (int i = 0; i < steps; ++i) {
        PROF_RANGE("step");
        expect(fake_cuda_launch("step_k", 2'000, nullptr) == 0, "a launch");
    }
    expect(cudaDeviceSynchronize() == cudaSuccess, "the GPU ends its work");
}

// A client of the activity records, as there are many. It knows its buffers, and leaves others alone.
class activity_client {
public:
    static void begin() {
        bring_buffers();
        want_kernels();
    }
    static void bring_buffers() {
        expect(CUPTI(cuptiActivityRegisterCallbacks)(request, complete) == CUPTI_SUCCESS, "register");
    }
    static void want_kernels() {
        expect(CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS, "enable");
    }
    static void end() {
        expect(CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == CUPTI_SUCCESS, "flush");
        expect(CUPTI(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS, "disable");
        const std::scoped_lock lock(mutex);
        for (const auto& block : blocks) {
            const bool is_whole = std::all_of(block.begin(), block.begin() + guard, [](auto b) { return b == 0xAB; });
            if (!is_whole) std::puts("the memory before a buffer was written to");
        }
    }
    static std::size_t kernels() {
        const std::scoped_lock lock(mutex);
        return kernel_count;
    }

private:
    static constexpr std::size_t guard = 4096;
    static constexpr std::size_t buffer_bytes = 64 << 10;

    static void CUPTIAPI request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
        const std::scoped_lock lock(mutex);
        blocks.emplace_back(guard + buffer_bytes, std::uint8_t{0xAB});
        *buffer = blocks.back().data() + guard;
        *size = buffer_bytes;
        *max_records = 0;
    }
    static void CUPTIAPI complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
        const std::scoped_lock lock(mutex);
        const bool is_own = std::any_of(blocks.begin(), blocks.end(),
                                        [&](const auto& block) { return block.data() + guard == buffer; });
        CUpti_Activity* record = nullptr;
        while (is_own && CUPTI(cuptiActivityGetNextRecord)(buffer, valid, &record) == CUPTI_SUCCESS) {
            if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ++kernel_count;
        }
    }

    static inline std::mutex mutex;
    static inline std::vector<std::vector<std::uint8_t>> blocks;
    static inline std::size_t kernel_count = 0;
};

// A client that subscribes first, as Nsight and Kineto do.
class subscribed_client {
public:
    subscribed_client() : result_(CUPTI(cuptiSubscribe)(&handle_, calls_seen, nullptr)) {
        if (result_ == CUPTI_SUCCESS) activity_client::begin();
    }
    ~subscribed_client() {
        if (result_ == CUPTI_SUCCESS) {
            activity_client::end();
            expect(CUPTI(cuptiUnsubscribe)(handle_) == CUPTI_SUCCESS, "unsubscribe");
        }
        std::printf("subscribed: %d, kernels: %zu\n", static_cast<int>(result_), activity_client::kernels());
    }
    subscribed_client(const subscribed_client&) = delete;
    subscribed_client& operator=(const subscribed_client&) = delete;

private:
    static void CUPTIAPI calls_seen(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

    CUpti_SubscriberHandle handle_ = nullptr;
    CUptiResult result_;
};

// Goes about it as Triton's Proton does: kernels are wanted before there are buffers, each launch is heard at both its
// ends, and in the end CUPTI is finalized, whoever else may come.
class proton_client {
public:
    proton_client() {
        expect(CUPTI(cuptiSubscribe)(&handle_, calls_seen, this) == CUPTI_SUCCESS, "subscribe");
        activity_client::want_kernels();
        activity_client::bring_buffers();
        on_call(1);
    }
    ~proton_client() {
        expect(CUPTI(cuptiActivityFlushAll)(0) == CUPTI_SUCCESS, "flush");
        activity_client::end();
        on_call(0);
        expect(CUPTI(cuptiUnsubscribe)(handle_) == CUPTI_SUCCESS, "unsubscribe");
        expect(CUPTI(cuptiFinalize)() == CUPTI_SUCCESS, "finalize");
        std::printf("launches: %d, kernels: %zu\n", launches_.load(), activity_client::kernels());
    }
    proton_client(const proton_client&) = delete;
    proton_client& operator=(const proton_client&) = delete;

private:
    void on_call(std::uint32_t on) {
        expect(CUPTI(cuptiEnableCallback)(on, handle_, CUPTI_CB_DOMAIN_RUNTIME_API,
                                          CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) == CUPTI_SUCCESS,
               "callbacks");
    }
    static void CUPTIAPI calls_seen(void* self, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
        if (static_cast<const CUpti_CallbackData*>(data)->callbackSite != CUPTI_API_EXIT) return;
        static_cast<proton_client*>(self)->launches_.fetch_add(1);
    }

    CUpti_SubscriberHandle handle_ = nullptr;
    std::atomic<int> launches_{0};
};

void stop() {
    if (const auto end = of_libprof<decltype(prof_stop)>("prof_stop")) (void)end();
}

void start() {
    if (const auto begin = of_libprof<decltype(prof_start)>("prof_start")) {
        expect(begin(nullptr) == PROF_OK, "a recording");
    }
}

void pause() {
    const auto pause = of_libprof<decltype(prof_pause)>("prof_pause");
    const auto sync = of_libprof<decltype(prof_sync)>("prof_sync");
    if (pause != nullptr) expect(pause() == PROF_OK && sync() == PROF_OK, "a pause");
}

void resume() {
    const auto resume = of_libprof<decltype(prof_resume)>("prof_resume");
    if (resume != nullptr) expect(resume() == PROF_OK, "the end of a pause");
}

void subscribed_before() {
    const subscribed_client client;
    train(10);
    stop();
    train(10);
}

void subscribes_during() {
    train(5);
    const subscribed_client client;
    train(5);
}

void subscribes_after_stop() {
    train(5);
    stop();
    const subscribed_client client;
    train(10);
}

void subscribes_while_paused() {
    train(5);
    pause();
    {
        const subscribed_client client;
        train(10);
    }
    resume();
    train(3);
}

void proton_before() {
    {
        const proton_client client;
        train(10);
        train(10);
    }
    stop();
    start();
    train(5);
}

void proton_between() {
    train(5);
    pause();
    {
        const proton_client client;
        train(10);
    }
    resume();
    train(3);
    stop();
    {
        const proton_client client;
        train(10);
    }
    start();
    train(2);
}

void subscribes_where_nothing_is_recorded() {
    const subscribed_client client;
    train(10);
}

// Clients of the activity records alone, which CUPTI cannot keep apart.
void activity_before() {
    activity_client::begin();
    train(5);
    start();
    train(10);
    stop();
    activity_client::end();
}

// It gets the buffer that libprof gave CUPTI, and what is recorded from then on.
void activity_after() {
    train(5);
    activity_client::begin();
    train(10);
    stop();
    start();
    train(5);
    stop();
    activity_client::end();
}

// Threads that launch without end, and recordings that begin and end meanwhile.
void recordings_while_threads_launch() {
    train(1);
    std::atomic<bool> ends{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            while (!ends) expect(fake_cuda_launch("step_k", 2'000, nullptr) == 0, "a launch");
        });
    }
    for (int i = 0; i < (prof::test::is_sanitized ? 20 : 100); ++i) {
        stop();
        start();
        train(1);
    }
    ends = true;
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int, char** argv) {
    const int status =
        prof::test::play(argv[1], {
                                      {"subscribed_before", subscribed_before},
                                      {"subscribes_during", subscribes_during},
                                      {"subscribes_after_stop", subscribes_after_stop},
                                      {"subscribes_while_paused", subscribes_while_paused},
                                      {"proton_before", proton_before},
                                      {"proton_between", proton_between},
                                      {"subscribes_where_nothing_is_recorded", subscribes_where_nothing_is_recorded},
                                      {"activity_before", activity_before},
                                      {"activity_after", activity_after},
                                      {"recordings_while_threads_launch", recordings_while_threads_launch},
                                  });
    const auto calls = cupti<std::size_t(const char*)>("fake_cupti_calls");
    std::FILE* const file = std::fopen("calls", "w");
    expect(file != nullptr, "a file");
    std::fprintf(file, "finalized %zu", calls("cuptiFinalize"));
    std::fclose(file);
    return status;
}
