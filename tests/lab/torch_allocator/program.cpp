// SPDX-License-Identifier: Apache-2.0
// Uses PyTorch's caching allocator (libc10_cuda) at random, and prints what it says of itself after each step.
//
//   program steps      20 steps; two of them end with an error of too little memory, one gives its memory back
//   program cost       what an allocation and its end take, while libprof records and while it does not
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace {

auto& allocator() { return *c10::cuda::CUDACachingAllocator::get(); }

class blocks {
public:
    void change(std::mt19937& random) {
        if (!live_.empty() && random() % 5 >= 3) {
            const std::size_t which = random() % live_.size();
            allocator().raw_delete(live_[which]);
            live_[which] = live_.back();
            live_.pop_back();
            return;
        }
        constexpr std::size_t small = 1 << 16, large = 40 << 20;
        try {
            live_.push_back(allocator().raw_alloc(1 + random() % (random() % 3 != 0 ? small : large)));
        } catch (const std::exception&) {
            std::puts("out of memory");
            clear();
        }
    }
    void clear() {
        for (void* block : live_) allocator().raw_delete(block);
        live_.clear();
    }

private:
    std::vector<void*> live_;
};

void print_stats(int step) {
    const auto stats = allocator().getDeviceStats(0);
    std::printf("step %d allocated %lld peak %lld reserved %lld\n", step,
                static_cast<long long>(stats.allocated_bytes[0].current),
                static_cast<long long>(stats.allocated_bytes[0].peak),
                static_cast<long long>(stats.reserved_bytes[0].peak));
}

void run_steps() {
    std::mt19937 random(7);
    blocks made;
    for (int step = 0; step < 20; ++step) {
        allocator().resetPeakStats(0);
        nvtxRangePushA("step");
        for (const char* phase : {"forward", "backward", "optimizer"}) {
            const auto run = [&] {
                nvtxRangePushA(phase);
                for (int i = 0; i < 100; ++i) made.change(random);
                nvtxRangePop();
            };
            if (std::strcmp(phase, "backward") == 0) {
                std::thread(run).join();  // as autograd's
            } else {
                run();
            }
        }
        if (step == 9) made.clear();
        print_stats(step);
        nvtxRangePop();
    }
}

void print_cost() {
    auto* const start = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_DEFAULT, "prof_start"));
    auto* const stop = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "prof_stop"));
    if (start == nullptr || stop == nullptr) return;
    std::vector<double> recording, stopped;
    for (int window = 0; window < 80; ++window) {
        const bool is_recording = window % 2 == 0;
        if (is_recording) {
            start(nullptr);
        } else {
            stop();
        }
        constexpr int pairs = 20'000;
        const auto pair = [] { allocator().raw_delete(allocator().raw_alloc(4096)); };
        for (int i = 0; i < pairs / 20; ++i) pair();
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < pairs; ++i) pair();
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        (is_recording ? recording : stopped).push_back(took.count() / pairs);
    }
    const auto median = [](std::vector<double>& of) {
        std::sort(of.begin(), of.end());
        return of[of.size() / 2];
    };
    const double with = median(recording), without = median(stopped);
    std::printf("a pair takes %.1f ns while recording and %.1f stopped: ratio %.3f\n", with, without, with / without);
}

}  // namespace

int main(int, char** arguments) {
    allocator().init(1);
    nvtxRangePushA("start-up");
    allocator().raw_delete(allocator().raw_alloc(4096));
    nvtxRangePop();
    if (std::strcmp(arguments[1], "cost") == 0) {
        print_cost();
    } else {
        run_steps();
    }
}
