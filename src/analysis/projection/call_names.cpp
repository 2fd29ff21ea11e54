// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/call_names.hpp"

#include <algorithm>
#include <string_view>

#include "analysis/projection/runtime_names.hpp"
#include "analysis/projection/used_frameworks.hpp"
#include "record/api_names.hpp"

namespace prof {
namespace {

bool is_cpp_symbol(std::string_view symbol) noexcept { return symbol.starts_with("_Z"); }

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

bool call_names::is_of_runtime(const timeline_api_call& call) const noexcept {
    if (!calls_runtime_ || call.domain != api_domain::driver) return false;
    if (launches_through_driver_ && call.kernel_name != 0 && !is_cpp_symbol(data_->name(call.kernel_name)))
        return false;
    return !runtime_counterpart(api_name(call.domain, call.cbid)).empty();
}

std::string call_names::operator()(const timeline_api_call& call) const {
    if (is_of_runtime(call)) return std::string(runtime_counterpart(api_name(call.domain, call.cbid)));
    return api_call_name(call.domain, call.cbid);
}

}  // namespace prof
