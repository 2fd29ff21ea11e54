#include "analysis/reports/reports.hpp"

#include <algorithm>
#include <iterator>

namespace prof {
namespace {

constexpr report_kind kinds[] = {
    {"kernels", "GPU time by kernel", kernels_report, false},
    {"copies", "GPU time and bytes by kind of copy and set, with the memories' kinds", copies_report, false},
    {"steps", "GPU time a step by range, estimated from the steps that were captured", steps_report, false},
    {"death", "how the process ended: ranges still open, launches that did not complete", death_report, false},
    {"pytorch_ops", "time by operator, backward node and record_function range of PyTorch", pytorch_ops_report, false},
    {"modules", "GPU time by torch.nn.Module and phase: `prof run --modules` records them", modules_report, false},
    {"cuda_api_sum", "CUDA calls: host time by function (Nsight's)", cuda_api_sum},
    {"cuda_gpu_kern_sum", "kernels: GPU time by name (Nsight's)", cuda_gpu_kern_sum},
    {"cuda_gpu_mem_size_sum", "copies and sets: bytes by direction (Nsight's)", cuda_gpu_mem_size_sum},
    {"cuda_gpu_mem_time_sum", "copies and sets: GPU time by direction (Nsight's)", cuda_gpu_mem_time_sum},
    {"cuda_kern_exec_sum", "kernels: time of call, queue and execution (Nsight's)", cuda_kern_exec_sum},
    {"nvtx_gpu_proj_sum", "ranges projected on the GPU, by name (Nsight's: launching thread only)", nvtx_gpu_proj_sum},
    {"nvtx_gpu_proj_trace", "ranges projected on the GPU, one by one (Nsight's)", nvtx_gpu_proj_trace},
    {"nvtx_kern_sum", "kernels by range and thread (Nsight's)", nvtx_kern_sum},
    {"nvtx_pushpop_sum", "push/pop ranges: host time by name (Nsight's)", nvtx_pushpop_sum},
};

}  // namespace

std::span<const report_kind> report_kinds() noexcept { return kinds; }

const report_kind* find_report(std::string_view name) noexcept {
    const auto* const found =
        std::find_if(std::begin(kinds), std::end(kinds), [&](const report_kind& kind) { return kind.name == name; });
    return found == std::end(kinds) ? nullptr : found;
}

}  // namespace prof
