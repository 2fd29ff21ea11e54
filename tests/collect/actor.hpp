// SPDX-License-Identifier: Apache-2.0
// Carries out the steps of a random program on the simulated GPU, through the real NVTX client and CUDA's functions.
// Any thread may call it, one at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "collect/random_program.hpp"
#include "hooks/nvtx/nvtx_types.hpp"

namespace prof::test {

class actor {
public:
    // Streams, memory and kernels on the simulated GPU as it is now; domains of the NVTX tool that is installed now.
    actor();

    void capture(const captured_graph& graph);
    // What the simulated GPU executes for it.
    std::vector<executed> perform(const program_step& step);
    void wait_for_gpu();
    void forget_program();  // its graphs and start/end ranges

private:
    cudaStream_t stream(int device, int index) const {
        return streams_[static_cast<std::size_t>(device * streams_per_device + index)];
    }
    static void launch(int kernel, std::uint64_t duration_ns, cudaStream_t stream);

    std::array<nvtxDomainHandle_t, domain_count> domains_{};
    std::array<cudaStream_t, device_count * streams_per_device> streams_{};
    std::array<void*, device_count> memory_{};
    std::vector<char> host_;
    std::vector<cudaGraphExec_t> graphs_;
    std::map<int, nvtxRangeId_t> started_;
};

}  // namespace prof::test
