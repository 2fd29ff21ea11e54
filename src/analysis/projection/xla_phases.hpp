// SPDX-License-Identifier: Apache-2.0
// Turns the ranges that XLA pushes for a JAX program in the NVTX domain TSL into phases (rules: docs/guide/jax.md).
// Ranges that represent phases move to the domain of phases. Ranges of no use to a user are removed from attribution:
// the compiler's passes, containers of operations, and all operations of a phase but the first.
//
// Changes only what a projection reads: ranges, lists of open ranges, and for whom threads work. Pure functions; linear
// in the timeline, also in memory if a copy is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/projection/xla_names.hpp"
#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::string_view xla_compilation_text = "XLA compilation";
inline constexpr std::string_view xla_other_text = "other";
inline constexpr std::string_view xla_other_fusions_text = "other fusions";  // what is in them is not known

bool has_xla_ranges(const timeline& data);

// Changes the timeline in place; does nothing if it has no XLA ranges. Returns the function whose executions are the
// steps ("jit(train_step)"); "" if there is none.
std::string show_xla_phases(timeline& data);

// The timeline that a projection with these options shows: the original, or a copy with phases.
class shown_timeline {
public:
    shown_timeline(const timeline& data, const projection_options& options);
    // As it is: it has its phases, or is shown without.
    static shown_timeline as_it_is(const timeline& data, std::string step_function = {}) {
        shown_timeline out{data};
        out.step_function_ = std::move(step_function);
        return out;
    }

    const timeline& data() const noexcept { return changed_ ? *changed_ : original_; }
    const timeline& original() const noexcept { return original_; }
    bool is_changed() const noexcept { return changed_.has_value(); }
    const std::string& step_function() const noexcept { return step_function_; }

private:
    explicit shown_timeline(const timeline& data) : original_(data) {}

    const timeline& original_;
    std::optional<timeline> changed_;
    std::string step_function_;
};

// What the names of XLA's operations reveal about each GPU operation: docs/guide/modules.md.
struct xla_operations {
    struct entry {
        std::uint32_t path = npos;  // index into paths; npos: the name is unknown, or the operation is not XLA's
        xla_phase phase = xla_phase::none;
        bool computes_gradients = false;  // the function that contains it does
    };
    std::vector<std::string> paths;  // the jitted function and its scopes: "jit(train_step)/Model/layer_0/up"
    row_values<op_id, entry> ops;    // by operation; empty if the timeline has no XLA ranges
};
xla_operations find_xla_operations(const timeline& data);

}  // namespace prof
