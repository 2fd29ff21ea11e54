// SPDX-License-Identifier: Apache-2.0
#include "analysis/hta/kernel_type.hpp"

#include "analysis/projection/name_parts.hpp"

namespace prof {
namespace {

constexpr std::string_view communication_starts[] = {"nccl", "hip", "hccl"};
constexpr std::string_view memory_starts[] = {"Memcpy", "Memset", "dma"};
// Names that are no computation to HTA, wherever the word stands and at the beginning.
constexpr std::string_view words_of_others[] = {"Memcpy", "Memset", "dma", "Sync"};
constexpr std::string_view starts_of_others[] = {"Stream Wait Event",
                                                 "runFunction",
                                                 "job_exe",
                                                 "packet",
                                                 "pe_exe",
                                                 "cpum_exe_subgraph",
                                                 "hccl",
                                                 "collective_subgraph_execution"};

}  // namespace

std::string_view to_string(kernel_type value) noexcept {
    switch (value) {
        case kernel_type::communication:
            return "COMMUNICATION";
        case kernel_type::memory:
            return "MEMORY";
        case kernel_type::other:
            return "OTHER";
        case kernel_type::computation:
            break;
    }
    return "COMPUTATION";
}

std::string_view to_string(hta_scope value) noexcept { return value == hta_scope::hta ? "hta" : "all"; }

kernel_type hta_kernel_type(std::string_view name) noexcept {
    if (begins_with_one_of(name, communication_starts) || has_part(name, "ncclKernel"))
        return kernel_type::communication;
    if (begins_with_one_of(name, memory_starts)) return kernel_type::memory;
    const bool is_launch = name.starts_with("cuda") && has_part(name, "LaunchKernel");
    if (is_launch || has_one_of(name, words_of_others) || begins_with_one_of(name, starts_of_others)) {
        return kernel_type::other;
    }
    return kernel_type::computation;
}

kernel_type type_classifier::operator()(const gpu_op& op) {
    if (is_transfer(op.kind)) return kernel_type::memory;
    if (op.kind == op_kind::graph) return kernel_type::computation;
    if (scope_ == hta_scope::all) {
        return own_(op) == op_class::communication ? kernel_type::communication : kernel_type::computation;
    }
    const auto [found, is_new] =
        by_name_.try_emplace(name_id(data_->kernels[op.detail].name), kernel_type::computation);
    if (is_new) found->second = hta_kernel_type((*names_)(op));
    return found->second;
}

}  // namespace prof
