// SPDX-License-Identifier: Apache-2.0
// Captures of any size, for benchmarks: written with the capture writer as the drain thread writes them, names first,
// then each thread's records, then the GPU's, chunk after chunk. The same arguments give the same capture.
#pragma once

#include <cstdint>
#include <string>

namespace prof::bench {

enum class capture_shape : std::uint8_t {
    training,  // an eager training step: a main and an autograd thread, ranges four deep, copies now and
               // then, and all-reduces beside on a second stream
    threads,   // 64 threads, a stream each
    deep,      // ranges 100 deep around every launch
    names,     // a name of its own for every range and every thirtieth kernel
    layers,    // training with numbered layers, which recur, and one launch in each innermost range
    graphs,    // 50 CUDA graphs of 200 nodes, replayed
    pytorch,   // a launch-bound step of PyTorch with modules, as `prof run --modules` records it: each launch finds the
              // GPU idle, a second thread runs autograd's nodes, which are more than the ranges, and the step ends with
              // a copy to the host. Of as many records as 835 MB, a step has 900 launches and 1,560 ranges and nodes
    requests,  // start/end ranges, 500 of them open at any time, around launches of one thread
};

struct synthetic_counts {
    std::uint64_t records = 0;  // ring records, kernels and copies
    std::uint64_t kernels = 0;
    std::uint64_t copies = 0;
    std::uint64_t ranges = 0;
    std::int64_t gpu_ns = 0;  // durations added
    std::uint64_t bytes = 0;  // of the file
};

// A rank of a job, eight on each host, whose clocks differ. Ranks differ by a little time in each step. Of the shape
// `training` the all-reduces are described as NCCL's plugin does it.
struct synthetic_rank {
    std::uint32_t rank = 0;
    std::uint32_t ranks = 0;  // 0: no job
};

// At least `records` records, up to the end of the step that reaches them. Throws prof::error.
synthetic_counts write_synthetic_capture(const std::string& path, capture_shape shape, std::uint64_t records,
                                         const synthetic_rank& in_job = {});

}  // namespace prof::bench
