// SPDX-License-Identifier: Apache-2.0
// Work that the GPU launches itself: kernels launched by kernels (dynamic parallelism), and a graph launched by a
// graph's kernel. Each kernel writes down when it ran; tests/gpu/check_device_launches.py compares that with what
// libprof reports.
//
//   device_launches --journal FILE
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <prof/range.hpp>
#include <vector>

#include "spin.cuh"

namespace {

constexpr int runs = 4;
constexpr unsigned long long us = 1000;

enum place { plain, parent, child, launcher, node, place_count };
constexpr const char* names[place_count] = {"device_plain", "device_parent", "device_child", "device_launcher",
                                            "device_node"};

struct memory {
    truth::stamp* stamps = nullptr;  // `runs` for each place
    std::uint32_t* turns = nullptr;
    __host__ __device__ truth::stamp* of(place p) const { return stamps + p * runs; }
    __host__ __device__ std::uint32_t* turn(place p) const { return turns + p; }
};

void must(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "device_launches: %s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
}

}  // namespace

extern "C" __global__ void device_plain(memory m) {
    truth::spin_and_stamp(100 * us, m.of(plain), m.turn(plain), [] {});
}

extern "C" __global__ void device_child(memory m) {
    truth::spin_and_stamp(300 * us, m.of(child), m.turn(child), [] {});
}

extern "C" __global__ void device_parent(memory m) {
    truth::spin_and_stamp(200 * us, m.of(parent), m.turn(parent),
                          [&] { device_child<<<1, 1, 0, cudaStreamFireAndForget>>>(m); });
}

extern "C" __global__ void device_node(memory m) {
    truth::spin_and_stamp(250 * us, m.of(node), m.turn(node), [] {});
}

extern "C" __global__ void device_launcher(memory m, cudaGraphExec_t graph) {
    truth::spin_and_stamp(150 * us, m.of(launcher), m.turn(launcher),
                          [&] { cudaGraphLaunch(graph, cudaStreamGraphFireAndForget); });
}

namespace {

template <typename TLaunch>
cudaGraphExec_t captured(cudaStream_t stream, unsigned int flags, TLaunch&& launch) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    launch();
    must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&executable, graph, flags), "cudaGraphInstantiate");
    return executable;
}

void write(std::FILE* file, const std::vector<truth::stamp>& stamps) {
    std::fprintf(file, "{");
    for (int p = 0; p < place_count; ++p) {
        std::fprintf(file, "%s\n  \"%s\": [", p == 0 ? "" : ",", names[p]);
        for (int run = 0; run < runs; ++run) {
            const truth::stamp& ran = stamps[static_cast<std::size_t>(p * runs + run)];
            std::fprintf(file, "%s[%llu, %llu]", run == 0 ? "" : ", ", static_cast<unsigned long long>(ran.start_ns),
                         static_cast<unsigned long long>(ran.end_ns));
        }
        std::fprintf(file, "]");
    }
    std::fprintf(file, "\n}\n");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 || std::strcmp(argv[1], "--journal") != 0) {
        std::fprintf(stderr, "usage: device_launches --journal FILE\n");
        return 2;
    }
    memory m;
    cudaStream_t stream = nullptr;
    const std::size_t bytes = place_count * runs * sizeof(truth::stamp);
    must(cudaMalloc(&m.stamps, bytes), "cudaMalloc");
    must(cudaMalloc(&m.turns, place_count * sizeof(std::uint32_t)), "cudaMalloc");
    must(cudaMemset(m.stamps, 0, bytes), "cudaMemset");
    must(cudaMemset(m.turns, 0, place_count * sizeof(std::uint32_t)), "cudaMemset");
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    const auto wait = [&] { must(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); };
    for (int run = 0; run < runs; ++run) {
        PROF_RANGE("plain");
        device_plain<<<1, 1, 0, stream>>>(m);
        wait();
    }
    for (int run = 0; run < runs; ++run) {
        PROF_RANGE("parents");
        device_parent<<<1, 1, 0, stream>>>(m);
        wait();
    }
    const cudaGraphExec_t launched =
        captured(stream, cudaGraphInstantiateFlagDeviceLaunch, [&] { device_node<<<1, 1, 0, stream>>>(m); });
    must(cudaGraphUpload(launched, stream), "cudaGraphUpload");
    const cudaGraphExec_t launches = captured(stream, 0, [&] { device_launcher<<<1, 1, 0, stream>>>(m, launched); });
    for (int run = 0; run < runs; ++run) {
        PROF_RANGE("graphs");
        must(cudaGraphLaunch(launches, stream), "cudaGraphLaunch");
        wait();
    }
    std::vector<truth::stamp> stamps(place_count * runs);
    must(cudaMemcpy(stamps.data(), m.stamps, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::FILE* const file = std::fopen(argv[2], "w");
    if (file == nullptr) {
        std::perror(argv[2]);
        return 1;
    }
    write(file, stamps);
    return std::fclose(file) == 0 ? 0 : 1;
}
