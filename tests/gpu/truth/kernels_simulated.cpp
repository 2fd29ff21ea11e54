// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "fakes/fake_gpu.h"
#include "kernels.hpp"

namespace truth {
namespace {

constexpr std::array names = {"truth_forward", "truth_layer", "truth_backward", "truth_optimizer", "truth_tiny",
                              "truth_side",    "truth_gate",  "truth_decide",   "truth_again"};
constexpr std::array<char, names.size()> addresses{};

[[maybe_unused]] const bool are_registered = [] {
    for (std::size_t i = 0; i < names.size(); ++i) fake_gpu_register_kernel(&addresses[i], names[i], 1);
    return true;
}();

// Place of a stamp → the journal's entry that it is read from.
std::mutex mutex;
std::map<std::pair<const stamp*, std::uint32_t>, std::size_t> entries;
std::map<std::pair<const stamp*, std::uint32_t>, std::uint32_t> turns;  // by memory and id
std::map<std::uint32_t, const stamp*> memory_of_captured;               // by id

void note(const spin& what, const stamp* stamps, std::size_t entry) {
    entries[{stamps, what.first + turns[{stamps, what.id}]++}] = entry;
}

// The kernels that the calling thread has put into the journal since it had `before` entries.
std::vector<std::size_t> own_kernels(std::size_t before) {
    std::vector<std::size_t> own;
    fake_gpu_operation operation{};
    for (std::size_t i = before; fake_gpu_journal_entry(i, &operation) == 1; ++i) {
        const bool is_mine = operation.thread_id == static_cast<std::uint32_t>(gettid());
        if (is_mine && operation.kind == FAKE_GPU_KERNEL) own.push_back(i);
    }
    return own;
}

}  // namespace

const char* name_of(kernel which) { return names[static_cast<std::size_t>(which)]; }

// `call` launches the function that it is given.
template <typename TCall>
cudaError_t launch_by(TCall&& call, const spin& what, const stamp_memory& memory) {
    const std::size_t before = fake_gpu_journal_size();
    fake_gpu_next_kernel_duration_ns(what.ns == 0 ? 1 : what.ns);
    const cudaError_t result = call(&addresses[static_cast<std::size_t>(what.which)]);
    const std::scoped_lock lock{mutex};
    const std::vector<std::size_t> own = own_kernels(before);
    if (own.empty()) {
        memory_of_captured[what.id] = memory.stamps;
    } else {
        note(what, memory.stamps, own.front());
    }
    return result;
}

cudaError_t launch(const spin& what, const stamp_memory& memory, cudaStream_t stream) {
    return launch_by([&](const void* code) { return cudaLaunchKernel(code, dim3(1), dim3(1), nullptr, 0, stream); },
                     what, memory);
}

cudaError_t launch_cooperatively(const spin& what, const stamp_memory& memory, cudaStream_t stream) {
    return launch_by(
        [&](const void* code) { return cudaLaunchCooperativeKernel(code, dim3(1), dim3(1), nullptr, 0, stream); }, what,
        memory);
}

cudaError_t launch_dependently(const spin& what, const stamp_memory& memory, cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = config.blockDim = dim3(1);
    config.stream = stream;
    return launch_by([&](const void* code) { return cudaLaunchKernelExC(&config, code, nullptr); }, what, memory);
}

cudaError_t upload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

cudaError_t make_condition(condition& made, cudaGraph_t graph) {
    return cudaGraphConditionalHandleCreate(&made.handle, graph, 1, cudaGraphCondAssignDefault);
}

void set_condition(const condition& which, unsigned int value) { fake_gpu_set_condition(which.handle, value); }

cudaError_t launch_decision(const spin& what, const condition&, const stamp_memory& memory, cudaStream_t stream) {
    return launch(what, memory, stream);
}

cudaError_t launch(cudaGraphExec_t graph, const std::vector<spin>& nodes, cudaStream_t stream) {
    const std::size_t before = fake_gpu_journal_size();
    const cudaError_t result = cudaGraphLaunch(graph, stream);
    const std::scoped_lock lock{mutex};
    const std::vector<std::size_t> own = own_kernels(before);
    for (std::size_t i = 0; i < nodes.size() && i < own.size(); ++i) {
        note(nodes[i], memory_of_captured.at(nodes[i].id), own[i]);
    }
    return result;
}

cudaError_t read_back(std::vector<stamp>& stamps, const stamp_memory& memory, std::uint32_t count) {
    stamps.resize(count);
    const cudaError_t result = cudaMemcpy(stamps.data(), memory.stamps, count * sizeof(stamp), cudaMemcpyDeviceToHost);
    const std::scoped_lock lock{mutex};
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto entry = entries.find({memory.stamps, i});
        fake_gpu_operation operation{};
        if (entry == entries.end() || fake_gpu_journal_entry(entry->second, &operation) != 1) continue;
        stamps[i] = {operation.start_ns, operation.end_ns};
    }
    return result;
}

cudaError_t make_context(side_context&) { return cudaSuccess; }

cudaError_t enter(const side_context&) { return cudaSuccess; }

cudaError_t make_green_streams(cudaStream_t (&made)[2]) {
    const cudaError_t result = cudaStreamCreateWithFlags(&made[0], cudaStreamNonBlocking);
    return result == cudaSuccess ? cudaStreamCreateWithFlags(&made[1], cudaStreamNonBlocking) : result;
}

bool clocks_agree() {
    const char* const clock = std::getenv("FAKE_GPU_CLOCK");
    return clock != nullptr && std::strcmp(clock, "realtime") == 0;
}

bool waits_take_time() { return false; }

bool enable_peer_access() { return true; }

}  // namespace truth
