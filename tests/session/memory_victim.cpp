// SPDX-License-Identifier: Apache-2.0
// A program whose memory is looked at, on the simulated GPU, with libprof or without it. One scene a run:
//
//   memory_victim crowd THREADS     so many threads at once, each with ranges, names of its own, launches
//   memory_victim cycles COUNT      prof_start and prof_stop so many times, while two threads go on launching
//   memory_victim long RECORDS      so many records from two threads, and others that come and go
//
// Prints lines of NAME VALUE…: "memory" is the process's anonymous memory in KiB (PROF_RINGS=memory puts the rings
// there too).
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <prof/prof.h>
#include <prof/range.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fakes/fake_gpu.h"

namespace {

void work_k() {}

void launch(cudaStream_t stream) {
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(work_k), dim3(1), dim3(32), nullptr, 0, stream);
}

long anonymous_kib() {
    std::ifstream in("/proc/self/smaps_rollup");
    for (std::string word; in >> word;) {
        long kib = 0;
        if (word == "Anonymous:" && in >> kib) return kib;
    }
    return -1;
}

long entries(const char* directory) {
    DIR* const dir = opendir(directory);
    if (dir == nullptr) return -1;
    long count = 0;
    while (readdir(dir) != nullptr) ++count;
    closedir(dir);
    return count;
}

long lines(const char* path) {
    std::ifstream in(path);
    long count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
}

// 9 ranges, 1 launch: 2 records each.
constexpr long records_a_piece = 20;
void piece(cudaStream_t stream) {
    for (int i = 0; i < 8; ++i) {
        PROF_RANGE("piece");
    }
    PROF_RANGE("launch");
    launch(stream);
}

// The first threads fill the large rings, all fill theirs; together they fill the name table.
void crowd(int thread_count) {
    std::barrier all_there(thread_count + 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < thread_count; ++t) {
        threads.emplace_back([&, t] {
            all_there.arrive_and_wait();
            for (int i = 0; i < 80; ++i) {
                const std::string name = "a name of thread " + std::to_string(t) + ", which is number " +
                                         std::to_string(i) + " of those that it uses once";
                nvtxRangePushA(name.c_str());
                nvtxRangePop();
            }
            for (int i = 0; i < 50 + (t < 72 ? 2500 : 0); ++i) piece(nullptr);
            all_there.arrive_and_wait();
            all_there.arrive_and_wait();
        });
    }
    all_there.arrive_and_wait();
    all_there.arrive_and_wait();
    (void)cudaDeviceSynchronize();
    std::printf("memory %ld\n", anonymous_kib());
    all_there.arrive_and_wait();
    for (std::thread& thread : threads) thread.join();
}

// What libprof is compared with lacks the simulated GPU's own memory: its journal, which only grows.
long journal_kib() { return static_cast<long>(fake_gpu_journal_size() * sizeof(fake_gpu_operation) / 1024); }

void cycles(int count) {
    const auto start = reinterpret_cast<decltype(&prof_start)>(dlsym(RTLD_DEFAULT, "prof_start"));
    const auto stop = reinterpret_cast<decltype(&prof_stop)>(dlsym(RTLD_DEFAULT, "prof_stop"));
    std::atomic<bool> go_on{true};
    std::atomic<long> launches{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            while (go_on) {
                piece(nullptr);
                if (++launches % 64 == 0) (void)cudaDeviceSynchronize();
            }
        });
    }
    for (int i = 1; i <= count; ++i) {
        if (start(nullptr) != PROF_OK) std::_Exit(10);
        for (const long enough = launches + 200; launches < enough;) std::this_thread::yield();
        if (stop() != PROF_OK) std::_Exit(11);
        if (i % 10 == 0) {
            std::printf("cycle %d %ld %ld %ld %ld\n", i, entries("/proc/self/fd"), entries("/proc/self/task"),
                        lines("/proc/self/maps"), anonymous_kib() - journal_kib());
        }
    }
    go_on = false;
    for (std::thread& thread : threads) thread.join();
}

void long_run(long records) {
    // A million records a second or two, as much as the drain thread moves beside two busy threads, or slower.
    const char* chosen = std::getenv("PROF_LONG_PACE_MS");
    const std::chrono::milliseconds pace(chosen == nullptr ? 1 : std::atoi(chosen));
    const long pieces = records / records_a_piece / 2;  // of each of two threads
    std::atomic<long> made{0};
    std::barrier tenth(3);
    const auto work = [&](long from, long to) {
        long mine = 0;
        for (long i = from; i < to; ++i) {
            piece(nullptr);
            mine += records_a_piece;
            if (i % 100 != 0) continue;
            (void)cudaDeviceSynchronize();  // the virtual clock goes on
            mine += 2;
            std::this_thread::sleep_for(pace);
        }
        made += mine;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            for (int part = 0; part < 10; ++part) {
                work(pieces * part / 10, pieces * (part + 1) / 10);
                tenth.arrive_and_wait();
            }
        });
    }
    for (int part = 1; part <= 10; ++part) {
        for (int i = 0; i < 20; ++i) {
            std::thread([&] {
                const std::string name = "passing by " + std::to_string(part) + " " + std::to_string(i);
                const prof::scoped_range range(name.c_str());
                work(1, 3);
                made += 2;
            }).join();
        }
        tenth.arrive_and_wait();
        std::printf("memory %ld\n", anonymous_kib());
        std::fflush(stdout);
    }
    for (std::thread& thread : threads) thread.join();
    (void)cudaDeviceSynchronize();
    std::printf("made %ld\n", made.load() + 2);  // the last wait; the first cudaFree makes no call of the driver's
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    fake_gpu_register_kernel(reinterpret_cast<const void*>(work_k), "work_k", 1'000);
    (void)cudaFree(nullptr);
    const std::string scene = argv[1];
    const long number = std::atol(argv[2]);
    if (scene == "crowd") {
        crowd(static_cast<int>(number));
    } else if (scene == "cycles") {
        cycles(static_cast<int>(number));
    } else if (scene == "long") {
        long_run(number);
    } else {
        return 2;
    }
    return 0;
}
