// SPDX-License-Identifier: Apache-2.0
// The one place that decides how a recorded CUDA call is called: in reports, findings and traces alike.
//
// The driver's calls are recorded by default, also those that the runtime makes for the program. Such a call gets the
// runtime function's name (runtime_counterpart()), a call of the program's own keeps the driver's. A call's record does
// not state its caller, so evidence decides:
// - Calls of the runtime were recorded, or the timeline is a trace of another tool: each call has the name it was made
//   by.
// - A PyTorch process calls the runtime. Kernels whose symbol is not C++'s are an exception: Triton and libraries that
//   compile at run time launch them through the driver.
// - XLA (JAX, TensorFlow) calls the driver.
// - Another process calls the runtime if it has loaded it (property `cuda_runtime`). Where that is not recorded, it
//   calls the runtime if it launched kernels with C++'s symbols, as `<<<>>>` does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "timeline/timeline.hpp"

namespace prof {

// The shown name of a call. Of the call its domain, cbid and kernel_name count.
using call_namer = std::function<std::string(const timeline_api_call&)>;

// The api_name(), or "driver call N" or "runtime call N" for an unknown id.
std::string api_call_name(api_domain domain, std::uint32_t callback_id);

// For caches of names: calls of one key have one name.
constexpr std::uint64_t call_name_key(const timeline_api_call& call) noexcept {
    return std::uint64_t{call.kernel_name} << 32 | static_cast<std::uint64_t>(call.domain) << 24 | call.cbid;
}

// Refers to the timeline, which must outlive it. Any thread.
class call_names {
public:
    // Linear in the threads, domains and kernels, and in the calls of a capture without `cuda_runtime`.
    explicit call_names(const timeline& data);

    // The runtime's function, if that made this driver call for the program; "" otherwise.
    std::string_view runtime_name(const timeline_api_call& call) const noexcept;
    std::string operator()(const timeline_api_call& call) const;

private:
    const timeline* data_;
    bool calls_runtime_ = false;
    bool launches_through_driver_ = false;  // kernels without a C++ symbol
};

}  // namespace prof
