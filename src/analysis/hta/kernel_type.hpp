// SPDX-License-Identifier: Apache-2.0
// The kinds of GPU work that Holistic Trace Analysis distinguishes, and which operation is of which kind: by its own
// rules, which look at the name in the trace, and by op_class.hpp, which does not take a kernel for something else
// because of a word in its name. Pure functions; a classifier is for one thread.
//
// Source of HTA's rules: hta/common/types.py of traceinsight 0.6.1 (its name on PyPI since 0.6.0). Version 0.5.0
// (HolisticTraceAnalysis) differs for kernels of NCCL without "Kernel" in their name, and for names with "dma".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/projection/op_class.hpp"
#include "timeline/timeline.hpp"

namespace prof {

enum class kernel_type : std::uint8_t { computation, communication, memory, other };
inline constexpr std::size_t kernel_types = 4;

// HTA's words: "COMPUTATION", …
std::string_view to_string(kernel_type value) noexcept;

// `name`: as in a trace, so demangled.
kernel_type hta_kernel_type(std::string_view name) noexcept;

// Which definitions figures follow.
enum class hta_scope : std::uint8_t {
    all,  // libprof's own: everything that was recorded
    hta,  // what HTA counts, in its way
};
std::string_view to_string(hta_scope value) noexcept;  // "all", "hta"

// The name of an operation in a trace.
using op_namer = std::function<std::string(const gpu_op&)>;

// Caches the type of each kernel name.
class type_classifier {
public:
    // REQUIRES: `names` outlives this object.
    type_classifier(const timeline& data, hta_scope scope, const op_namer& names)
        : data_(&data), scope_(scope), names_(&names), own_(data) {}
    kernel_type operator()(const gpu_op& op);

private:
    const timeline* data_;
    hta_scope scope_;
    const op_namer* names_;
    op_classifier own_;
    std::unordered_map<name_id, kernel_type> by_name_;
};

}  // namespace prof
