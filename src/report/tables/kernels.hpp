// SPDX-License-Identifier: Apache-2.0
// Tables by kernel name and by kind of transfer. Pure functions of a timeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/projection/op_class.hpp"
#include "analysis/projection/transfer_name.hpp"
#include "report/tables/durations.hpp"
#include "symbols/kernel_names.hpp"
#include "timeline/timeline.hpp"

namespace prof {

struct kernel_row {
    std::string name{};    // in the style asked for; of a CUDA graph recorded as a whole graph_name()
    std::string symbol{};  // as CUPTI gave it; "" for a graph, and where several symbols have that name
    double share = 0;      // of all kernels' time, 0 … 1
    duration_statistics time{};
    std::uint32_t registers_per_thread = 0;  // of the first instance
    op_class kind = op_class::compute;       // or communication
};
// By total time, descending; ties by name.
std::vector<kernel_row> kernel_table(const timeline& data, kernel_name_style names = kernel_name_style::full);

struct transfer_row {
    std::string operation{};  // Kineto's words: "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"
    double share = 0;
    duration_statistics time{};
    std::uint64_t bytes = 0;
    std::uint64_t min_bytes = 0;
    std::uint64_t max_bytes = 0;
    double gigabytes_per_s = 0;  // bytes / total time; 10^9 bytes
};
std::vector<transfer_row> transfer_table(const timeline& data);  // by total time, descending

}  // namespace prof
