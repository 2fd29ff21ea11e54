// SPDX-License-Identifier: Apache-2.0
// Which GPU operations HTA counts, and what it takes a call for. Pure functions of a timeline.
//
// If a trace has two or more different ProfilerStep#N, HTA keeps the work that was launched before the last of them
// began, on the host or projected on the GPU, whichever is later; of work without a recorded launch it then keeps
// nothing (hta/common/trace.py, _filter_irrelevant_gpu_kernels). Else it keeps all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/attribution/attribution.hpp"
#include "analysis/hta/kernel_type.hpp"
#include "analysis/projection/call_names.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// What the figures of this folder are made of. Refers to its parts, which must outlive it.
struct hta_input {
    const timeline& data;
    op_namer op_name;
    // The name of a call in a trace.
    call_namer call_name;
    hidden_domains hidden{};
    attribution_options attributed{};
    const attribution* att = nullptr;  // the timeline's, where the caller has it; else made where it is needed
};

// A call as HTA recognises it: by name, in its list for launch statistics or in the longer one for queue lengths.
enum class traced_launch : std::uint8_t { none, kernel, driver_kernel, transfer };
traced_launch hta_launch(std::string_view name) noexcept;

// Caches what each function is. One thread.
class traced_launches {
public:
    explicit traced_launches(const hta_input& input) : input_(&input) {}
    traced_launch operator()(const timeline_api_call& call);

private:
    const hta_input* input_;
    std::unordered_map<std::uint64_t, traced_launch> known_;
};

// The operations that a scope includes.
class scope_rows {
public:
    scope_rows(const hta_input& input, hta_scope scope);
    bool has(const gpu_op& op) const noexcept {
        return !before_ns_ || (op.launch != npos && has(input_->data.api_calls[op.launch]));
    }
    bool has(const timeline_api_call& call) const noexcept { return !before_ns_ || call.start_ns < *before_ns_; }
    bool is_cut() const noexcept { return before_ns_.has_value(); }
    bool has_moment(std::int64_t ns) const noexcept { return !before_ns_ || ns < *before_ns_; }

private:
    const hta_input* input_;
    std::optional<std::int64_t> before_ns_;
};

}  // namespace prof
