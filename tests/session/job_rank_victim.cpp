// SPDX-License-Identifier: Apache-2.0
// A rank of a job that comes to a stand, on the simulated GPU and NCCL: six iterations of forward and backward with an
// all-reduce, all ranks of which begin together, and then what the last argument says.
//
//   job_rank_victim FOLDER RANK RANKS loader|reduce|gather|end|die
//
// `reduce` and `gather`: it waits for a collective that never ends; `loader`: it waits in a range; `die`: it aborts in
// one. Before it waits, it makes the file FOLDER/stands.RANK with its process id.
#include <cuda_runtime_api.h>
#include <unistd.h>
#include <prof/range.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/fake_gpu.h"
#include "fakes/nccl/fake_nccl.h"

namespace {

std::string folder;

void tell(const std::string& name) {
    const std::string path = folder + '/' + name;
    std::ofstream(path + ".new") << getpid();
    std::filesystem::rename(path + ".new", path);
}

void wait_for(const std::string& name) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!std::filesystem::exists(folder + '/' + name)) {
        if (std::chrono::steady_clock::now() > until) std::_Exit(20);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

}  // namespace

int main(int, char** argv) {
    folder = argv[1];
    const std::string rank = argv[2];
    const int ranks = std::atoi(argv[3]);
    const std::string last = argv[4];
    (void)cudaDeviceSynchronize();
    fake_nccl_comm* const world = fake_nccl_init(0xD0'0D, "dp", 1, ranks, std::atoi(rank.c_str()));
    {
        PROF_RANGE("start");
        tell("starts." + rank);
        for (int other = 0; other < ranks; ++other) wait_for("starts." + std::to_string(other));
    }
    for (int i = 0; i < 6; ++i) {
        PROF_RANGE_FORMAT("iteration %d", i);
        {
            PROF_RANGE("forward");
            fake_cuda_launch("forward_k", 200'000, nullptr);
        }
        PROF_RANGE("backward");
        fake_cuda_launch("backward_k", 400'000, nullptr);
        fake_nccl_call(world, "AllReduce", 1 << 20, "ncclFloat32", 0, nullptr);
        (void)cudaDeviceSynchronize();
    }
    if (last == "end") return 0;
    PROF_RANGE("iteration 6");
    if (last == "loader" || last == "die") {
        PROF_RANGE("next batch");
        tell("stands." + rank);
        if (last == "die") std::abort();
        for (;;) pause();
    }
    PROF_RANGE("forward");
    fake_gpu_next_duration_ns(3'600'000'000'000);  // an hour: nobody waits for its end
    fake_nccl_call(world, last == "reduce" ? "AllReduce" : "AllGather", 1 << 20, "ncclFloat32", 0, nullptr);
    tell("stands." + rank);
    (void)cudaDeviceSynchronize();
    return 21;
}
