// SPDX-License-Identifier: Apache-2.0
// Programs with collective operations, one scene a run, for nccl_test.cpp. What a scene prints and its status are to be
// the same with libprof in it and without.
//
//   nccl_victim SCENE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/nccl/fake_nccl.h"
#include "session/scenes.hpp"

namespace {

using prof::test::expect;
using prof::test::of_libprof;

void wait_for_gpu() { expect(cudaDeviceSynchronize() == cudaSuccess, "the GPU ends its work"); }

bool has_libprof() { return of_libprof<int()>("prof_pause") != nullptr; }

void all_reduces(fake_nccl_comm* comm, int count) {
    for (int i = 0; i < count; ++i) {
        fake_nccl_call(comm, "AllReduce", 100 + static_cast<std::size_t>(i), "ncclFloat32", 0, nullptr);
    }
}

// Two communicators; kernels of the program's own between.
void collectives() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(0xABCD'0001, "world", 2, 8, 3);
    fake_nccl_comm* const pair = fake_nccl_init(0xABCD'0002, nullptr, 1, 2, 1);
    for (int i = 0; i < 3; ++i) {
        fake_cuda_launch("own_k", 2'000, nullptr);
        fake_nccl_call(world, "AllReduce", 1'000, "ncclFloat32", 0, nullptr);
        fake_cuda_launch("own_k", 2'000, nullptr);
    }
    fake_nccl_group_start();
    fake_nccl_call(world, "AllGather", 500, "ncclFloat32", 0, nullptr);
    fake_nccl_call(world, "ReduceScatter", 700, "ncclBfloat16", 0, nullptr);
    fake_nccl_call(pair, "Reduce", 90, "ncclInt64", 1, nullptr);
    fake_nccl_group_end();
    fake_nccl_group_start();
    fake_nccl_call(pair, "Send", 64, "ncclUint8", 0, nullptr);
    fake_nccl_call(pair, "Recv", 32, "ncclFloat16", 0, nullptr);
    fake_nccl_group_end();
    fake_nccl_call(world, "Broadcast", 10, "ncclFloat32", 5, nullptr);
    fake_nccl_call(world, "AllReduce", 1'000, "ncclFloat32", 0, nullptr);
    wait_for_gpu();
    fake_nccl_destroy(pair);
    fake_nccl_destroy(world);
}

void elsewhere() {
    fake_nccl_tell_elsewhere(1);
    collectives();
}

void coalesced() {
    wait_for_gpu();
    fake_nccl_coalesce_broadcasts(1);
    fake_nccl_comm* const world = fake_nccl_init(7, "world", 1, 2, 0);
    for (int i = 0; i < 3; ++i) fake_nccl_call(world, "Broadcast", 16, "ncclFloat32", 1, nullptr);
    all_reduces(world, 2);
    wait_for_gpu();
}

// Nothing is told between windows, and the mask is the program's there.
void windows() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(1, "world", 1, 4, 0);
    for (int window = 0; window < 3; ++window) {
        if (window != 0 && has_libprof()) expect(of_libprof<int()>("prof_resume")() == PROF_OK, "it resumes");
        if (has_libprof()) expect(fake_nccl_mask() != 0, "the plugin is called in a window");
        all_reduces(world, 4);
        if (has_libprof()) {
            expect(fake_nccl_events() == 4 * 5, "it is called for each");
            expect(of_libprof<int()>("prof_pause")() == PROF_OK, "it pauses");
            expect(fake_nccl_mask() == 0, "the plugin is not called between windows");
        }
        all_reduces(world, 10);
        expect(fake_nccl_events() == 0, "it is not called");
    }
}

void graph() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(1, "world", 1, 4, 0);
    all_reduces(world, 1);
    cudaStream_t stream = nullptr;
    expect(cudaStreamCreate(&stream) == cudaSuccess, "a stream");
    expect(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess, "a capture");
    fake_nccl_capturing(1);
    fake_cuda_launch("own_k", 2'000, stream);
    fake_nccl_call(world, "AllReduce", 800, "ncclFloat32", 0, stream);
    fake_nccl_capturing(0);
    cudaGraph_t captured = nullptr;
    cudaGraphExec_t executable = nullptr;
    expect(cudaStreamEndCapture(stream, &captured) == cudaSuccess, "a graph");
    expect(cudaGraphInstantiate(&executable, captured, 0) == cudaSuccess, "an executable graph");
    for (int i = 0; i < 3; ++i) expect(cudaGraphLaunch(executable, stream) == cudaSuccess, "a launch");
    all_reduces(world, 1);
    wait_for_gpu();
}

void copies() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(1, "world", 1, 4, 0);
    all_reduces(world, 1);
    fake_nccl_copy_call(world, "AllGather", 64, "ncclFloat32", 3, nullptr);
    fake_nccl_copy_call(world, "AllGather", 64, "ncclFloat32", 3, nullptr);
    all_reduces(world, 1);
    wait_for_gpu();
}

// Each thread has a communicator of its own.
void threads() {
    wait_for_gpu();
    std::vector<std::thread> all;
    for (int t = 0; t < 4; ++t) {
        all.emplace_back([t] {
            fake_nccl_comm* const own = fake_nccl_init(static_cast<std::uint64_t>(t + 1), "own", 1, 4, t);
            all_reduces(own, 200);
            fake_nccl_destroy(own);
        });
    }
    for (std::thread& each : all) each.join();
    wait_for_gpu();
}

// The plugin is closed, and loaded again.
void again() {
    wait_for_gpu();
    for (int i = 0; i < 3; ++i) {
        fake_nccl_comm* const world = fake_nccl_init(static_cast<std::uint64_t>(i + 1), "world", 1, 4, 0);
        all_reduces(world, 2);
        fake_nccl_destroy(world);
        expect(fake_nccl_mask() == 0, "nobody asks for anything after the last communicator");
    }
}

// A child uses the communicator that it inherited, which NCCL does not promise, and ends without its end.
void fork_in_the_middle() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(1, "world", 1, 4, 0);
    all_reduces(world, 2);
    const pid_t child = fork();
    if (child == 0) {
        all_reduces(world, 3);
        fake_nccl_destroy(world);
        _exit(7);
    }
    int status = 0;
    expect(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "the child ends");
    all_reduces(world, 2);
    wait_for_gpu();
}

void exit_in_the_middle() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(1, "world", 1, 4, 0);
    all_reduces(world, 5);
    (void)std::puts("exits");
    std::exit(3);
}

void killed() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(0xBEEF, "world", 1, 4, 2);
    all_reduces(world, 5);
    (void)raise(SIGKILL);
}

// Calls that NCCL does not make.
void garbage() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(1, std::string(3'000, 'n').c_str(), -1, -1, -1);
    if (has_libprof()) {
        struct table {
            const char* name;
            void* init;
            int (*start)(void*, void**, void*);
            int (*stop)(void*);
            int (*state)(void*, int, void*);
            int (*finalize)(void*);
        };
        const auto* const plugin = static_cast<const table*>(fake_nccl_plugin());
        void* const context = fake_nccl_context(world);
        alignas(8) std::array<unsigned char, 112> event{};
        void* handle = nullptr;
        for (const std::uint64_t kind : {0ULL, 1ULL, 2ULL, 4ULL, 64ULL, 128ULL, 256ULL, 512ULL, 1024ULL, 2048ULL,
                                         4096ULL, 8192ULL, ~0ULL, 1ULL << 63}) {
            std::memcpy(event.data(), &kind, sizeof kind);
            (void)plugin->start(context, &handle, event.data());
            (void)plugin->stop(handle);
            (void)plugin->state(handle, 22, nullptr);
            (void)plugin->start(nullptr, &handle, event.data());
        }
        (void)plugin->start(context, nullptr, event.data());
        (void)plugin->start(context, &handle, nullptr);
        (void)plugin->start(event.data(), &handle, event.data());
        (void)plugin->stop(nullptr);
        (void)plugin->finalize(nullptr);
        (void)plugin->finalize(event.data());
    }
    all_reduces(world, 1);
    wait_for_gpu();
}

// What the program finds of its own setting in a child.
void child_environment() {
    wait_for_gpu();
    fake_nccl_comm* const world = fake_nccl_init(1, "world", 1, 4, 0);
    all_reduces(world, 1);
    wait_for_gpu();
    std::printf("%d\n", fake_nccl_plugin_version() == 0 ? 0 : 1);
    std::printf("%s\n", fake_nccl_plugin_name());
}

}  // namespace

int main(int, char** argv) {
    return prof::test::play(argv[1], {
                                         {"collectives", collectives},
                                         {"elsewhere", elsewhere},
                                         {"coalesced", coalesced},
                                         {"windows", windows},
                                         {"graph", graph},
                                         {"copies", copies},
                                         {"threads", threads},
                                         {"again", again},
                                         {"fork_in_the_middle", fork_in_the_middle},
                                         {"exit_in_the_middle", exit_in_the_middle},
                                         {"killed", killed},
                                         {"garbage", garbage},
                                         {"plugin", child_environment},
                                     });
}
