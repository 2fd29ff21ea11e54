// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/call_names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "analysis/projection/runtime_names.hpp"
#include "analysis/projection/used_frameworks.hpp"
#include "record/api_names.hpp"

namespace prof {
namespace {

bool is_cpp_symbol(std::string_view symbol) noexcept { return symbol.starts_with("_Z"); }

// Kernels of cuBLAS, cuDNN and NCCL that have C names: ampere_sgemm_64x64_nn, sm80_xmma_gemm_…, ncclKernel_…
bool is_of_a_library(std::string_view symbol) noexcept {
    constexpr std::array beginnings = {"ampere_", "cudnn_",  "cutlass_", "hopper_", "maxwell_",
                                       "nccl",    "pascal_", "turing_",  "volta_"};
    const auto is_beginning = [&](std::string_view text) { return symbol.starts_with(text); };
    const auto is_digit = [&](std::size_t at) { return at < symbol.size() && symbol[at] >= '0' && symbol[at] <= '9'; };
    return std::any_of(beginnings.begin(), beginnings.end(), is_beginning) ||
           (symbol.starts_with("sm") && is_digit(2) && is_digit(3));
}

bool calls_runtime(const timeline& data, const frameworks& used) {
    // Of two frameworks each may have made a call.
    if (used.has_torch) return !used.has_jax && !used.has_tensorflow;
    if (used.has_jax || used.has_tensorflow) return false;
    if (const std::string_view loaded = data.property("cuda_runtime"); !loaded.empty()) return loaded != "none";
    return std::any_of(data.api_calls.begin(), data.api_calls.end(), [&](const timeline_api_call& call) {
        return call.kernel_name != 0 && is_cpp_symbol(data.name(call.kernel_name));
    });
}

}  // namespace

std::string api_call_name(api_domain domain, std::uint32_t callback_id) {
    const std::string_view known = api_name(domain, callback_id);
    if (!known.empty()) return std::string(known);
    return (domain == api_domain::driver ? "driver call " : "runtime call ") + std::to_string(callback_id);
}

call_names::call_names(const timeline& data) : data_(&data) {
    if (data.property("api_calls") != "driver") return;
    const frameworks used = frameworks_of(data, false);
    calls_runtime_ = calls_runtime(data, used);
    launches_through_driver_ = used.has_torch;
}

std::string_view call_names::runtime_name(const timeline_api_call& call) const noexcept {
    if (!calls_runtime_ || call.domain != api_domain::driver) return {};
    const std::string_view name = api_name(call.domain, call.cbid);
    if (launches_through_driver_ && call.kernel_name != 0) {
        // Triton launches by cuLaunchKernel; libraries launch by that through the runtime, or by cuLaunchKernelEx.
        const std::string_view kernel = data_->name(call.kernel_name);
        const bool is_plain_launch = name.starts_with("cuLaunchKernel") && !name.starts_with("cuLaunchKernelEx");
        if (!is_cpp_symbol(kernel) && !(is_plain_launch && is_of_a_library(kernel))) return {};
    }
    return runtime_counterpart(name);
}

std::string call_names::operator()(const timeline_api_call& call) const {
    const std::string_view name = runtime_name(call);
    return name.empty() ? api_call_name(call.domain, call.cbid) : std::string(name);
}

}  // namespace prof
