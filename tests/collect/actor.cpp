// SPDX-License-Identifier: Apache-2.0
#include "collect/actor.hpp"

#include <gtest/gtest.h>

#include "fakes/fake_gpu.h"
#include "hooks/nvtx_event.hpp"

namespace prof::test {
namespace {

using act = program_step::act;

constexpr std::size_t memory_bytes = 4096;

// Their addresses are what is launched.
constexpr std::array<char, kernel_count> kernels{};
constexpr const char* kernel_names[kernel_count] = {"gemm", "softmax", "_Z5layerIfEvPT_", "_Z5layerIdEvPT_"};

void expect_success(cudaError_t result) { ASSERT_EQ(result, cudaSuccess) << cudaGetErrorString(result); }

}  // namespace

actor::actor() : domains_{nullptr, nvtxDomainCreateA("prof"), nvtxDomainCreateA("NCCL")}, host_(memory_bytes) {
    for (std::size_t i = 0; i < kernels.size(); ++i) fake_gpu_register_kernel(&kernels[i], kernel_names[i], 1);
    for (int device = 0; device < device_count; ++device) {
        expect_success(cudaSetDevice(device));
        expect_success(cudaMalloc(&memory_[static_cast<std::size_t>(device)], memory_bytes));
        for (int i = 0; i < streams_per_device; ++i) {
            expect_success(cudaStreamCreateWithFlags(
                &streams_[static_cast<std::size_t>(device * streams_per_device + i)], cudaStreamNonBlocking));
        }
    }
}

void actor::forget_program() {
    for (cudaGraphExec_t graph : graphs_) expect_success(cudaGraphExecDestroy(graph));
    graphs_.clear();
    started_.clear();
}

void actor::launch(int kernel, std::uint64_t duration_ns, cudaStream_t stream) {
    fake_gpu_next_duration_ns(duration_ns);
    expect_success(cudaLaunchKernel(&kernels[static_cast<std::size_t>(kernel)], dim3(1), dim3(32), nullptr, 0, stream));
}

void actor::capture(const captured_graph& graph) {
    const cudaStream_t on = stream(graph.device, graph.stream);
    expect_success(cudaSetDevice(graph.device));
    expect_success(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal));
    for (const captured_graph::node& node : graph.nodes) launch(node.kernel, node.duration_ns, on);
    cudaGraph_t captured = nullptr;
    expect_success(cudaStreamEndCapture(on, &captured));
    cudaGraphExec_t executable = nullptr;
    expect_success(cudaGraphInstantiate(&executable, captured, 0));
    expect_success(cudaGraphDestroy(captured));
    graphs_.push_back(executable);
}

std::vector<executed> actor::perform(const program_step& step) {
    fake_gpu_advance_ns(step.idle_ns);
    const nvtxDomainHandle_t domain = domains_[static_cast<std::size_t>(step.domain)];
    const nvtxEventAttributes_t event = event_of(step.name.c_str());
    const cudaStream_t on = stream(step.device, step.stream);
    const auto device = static_cast<std::size_t>(step.device);
    const std::size_t before = fake_gpu_journal_size();
    if (step.what >= act::kernel) {
        expect_success(cudaSetDevice(step.device));
        fake_gpu_next_duration_ns(step.duration_ns);
    }
    switch (step.what) {
        case act::push:
            (void)(domain == nullptr ? nvtxRangePushA(step.name.c_str()) : nvtxDomainRangePushEx(domain, &event));
            break;
        case act::pop:
            (void)(domain == nullptr ? nvtxRangePop() : nvtxDomainRangePop(domain));
            break;
        case act::start:
            started_[step.id] = nvtxRangeStartA(step.name.c_str());
            break;
        case act::end:
            nvtxRangeEnd(started_.at(step.id));
            break;
        case act::mark:
            nvtxMarkA(step.name.c_str());
            break;
        case act::kernel:
        case act::unseen:
            launch(step.kernel, step.duration_ns, on);
            break;
        case act::copy:
            expect_success(cudaMemcpyAsync(memory_[device], host_.data(), step.bytes, cudaMemcpyHostToDevice, on));
            break;
        case act::set:
            expect_success(cudaMemsetAsync(memory_[device], 1, step.bytes, on));
            break;
        case act::peer:
            expect_success(cudaMemcpyPeerAsync(memory_[1 - device], 1 - step.device, memory_[device], step.device,
                                               step.bytes, on));
            break;
        case act::replay:
            fake_gpu_next_duration_ns(0);  // its nodes have theirs
            expect_success(cudaGraphLaunch(graphs_[static_cast<std::size_t>(step.id)], on));
            break;
    }
    std::vector<executed> done;
    fake_gpu_operation operation{};
    for (std::size_t i = before; fake_gpu_journal_entry(i, &operation) == 1; ++i) {
        if (operation.kind == FAKE_GPU_GRAPH) continue;
        executed each;
        each.work.start = static_cast<std::int64_t>(operation.start_ns);
        each.work.end = static_cast<std::int64_t>(operation.end_ns);
        each.work.device = operation.device;
        each.work.stream = operation.stream;
        each.kind = operation.kind;
        each.kernel = operation.name == nullptr ? "" : operation.name;
        each.bytes = operation.bytes;
        done.push_back(each);
    }
    return done;
}

void actor::wait_for_gpu() {
    for (int device = 0; device < device_count; ++device) {
        expect_success(cudaSetDevice(device));
        expect_success(cudaDeviceSynchronize());
    }
}

}  // namespace prof::test
