// SPDX-License-Identifier: Apache-2.0
// CUDA's own memory (cuda_memory_kind) by the library that called CUDA, the kind and the place of birth. What PyTorch's
// allocator has of it is its reserved memory, and marked as such, so that nobody counts it twice. A pure function of a
// timeline; linear in its events of CUDA's memory, with a search in the allocator's blocks for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "memory/memory_summary.hpp"
#include "record/memory.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct cuda_memory_row {
    std::uint32_t device = 0;  // index; of memory of the host that of the GPU for which it was had
    cuda_memory_kind kind = cuda_memory_kind::device;
    std::string caller{};          // "libnccl.so.2", "train"; "": not known
    bool is_of_allocator = false;  // reserved by PyTorch's allocator, whose blocks lie in it
    std::string path{};            // of ranges; "": outside any
    std::uint64_t at_peak = 0;     // bytes, at the peak of the highest step
    std::uint64_t at_end = 0;
    std::uint64_t most = 0;             // at once
    std::uint64_t births = 0;           // pieces that were had
    std::uint64_t births_in_steps = 0;  // of these, in steps that count
};

std::string_view to_string(cuda_memory_kind kind) noexcept;

// With most at the peak first. `of`: measure_memory() of the same timeline and options.
std::vector<cuda_memory_row> cuda_memory_rows(const timeline& data, const attribution& att,
                                              const memory_options& options, const memory_summary& of);

}  // namespace prof
