// SPDX-License-Identifier: Apache-2.0
// What the truth program runs on the GPU: kernels that spin for a given time and write down by themselves when they
// began and ended (globaltimer, in ns). On a GPU they are real (kernels.cu); on the simulated
// one their times are read from its journal (kernels_simulated.cpp). Any thread.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

namespace truth {

// truth_forward, truth_layer, …: by its name a kernel can be counted.
enum class kernel { forward, layer, backward, optimizer, tiny, side, gate, decide, again };
inline constexpr int kernel_count = 7;  // without those that decide on a condition
const char* name_of(kernel which);

struct stamp {
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0;
};

// A kernel's place for its stamps: the n-th run of launch `id` writes stamps[first + n] (a graph's node runs often).
struct spin {
    kernel which = kernel::gate;
    std::uint64_t ns = 0;
    std::uint32_t id = 0;
    std::uint32_t first = 0;
};

// Where the spins of one device write to.
struct stamp_memory {
    stamp* stamps = nullptr;
    std::uint32_t* turns = nullptr;  // by id: runs so far
};

cudaError_t launch(const spin& what, const stamp_memory& memory, cudaStream_t stream);
// `nodes` are the spins in it, in the order in which they run, as often as they do.
cudaError_t launch(cudaGraphExec_t graph, const std::vector<spin>& nodes, cudaStream_t stream);
cudaError_t launch_cooperatively(const spin& what, const stamp_memory& memory, cudaStream_t stream);
// May begin when the kernel before it allows it, or has ended (programmatic dependent launch).
cudaError_t launch_dependently(const spin& what, const stamp_memory& memory, cudaStream_t stream);
// Of a graph that was instantiated so that the device may launch it.
cudaError_t upload(cudaGraphExec_t graph, cudaStream_t stream);

// What a conditional node goes by: `decide` gives it the value that the host set last, `again` one less than before.
struct condition {
    cudaGraphConditionalHandle handle = 0;
    unsigned int* value = nullptr;  // pinned
};
cudaError_t make_condition(condition& made, cudaGraph_t graph);
// REQUIRES: no graph with it is running.
void set_condition(const condition& which, unsigned int value);
cudaError_t launch_decision(const spin& what, const condition& about, const stamp_memory& memory, cudaStream_t stream);

// One cudaMemcpy of `count` stamps.
cudaError_t read_back(std::vector<stamp>& stamps, const stamp_memory& memory, std::uint32_t count);

// A context of device 0 beside its primary one. The simulated GPU has the primary one only, which stands for it.
struct side_context {
    void* handle = nullptr;
};
// It is current on the calling thread afterwards.
cudaError_t make_context(side_context& made);
cudaError_t enter(const side_context& which);

// One stream for each of two green contexts of device 0: parts of its multiprocessors, in the primary context.
cudaError_t make_green_streams(cudaStream_t (&made)[2]);

// Whether times of the host and of the GPU may be compared: not on the simulated GPU, but where FAKE_GPU_CLOCK is
// `realtime`.
bool clocks_agree();

// Whether the host's clock runs while a call waits; the simulated GPU's jumps.
bool waits_take_time();

// Between devices 0 and 1, both ways. False where the machine cannot.
bool enable_peer_access();

}  // namespace truth
