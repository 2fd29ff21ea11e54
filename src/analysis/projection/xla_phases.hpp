// What XLA says of a JAX program in the NVTX domain TSL, as phases: docs/phases.md tells the rules. The ranges that
// stand for phases get the domain of phases; those that say nothing to a user (the compiler's passes, containers of
// operations, all operations of a phase but the first) take no part in attribution any more.
//
// Only what a projection looks at is changed: ranges, the lists of open ranges, who works for whom. Pure; linear in the
// timeline, and with it in memory where a copy is made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/projection/projection.hpp"
#include "analysis/projection/xla_names.hpp"
#include "timeline/timeline.hpp"

namespace prof {

inline constexpr std::string_view xla_compilation_text = "XLA compilation";

// Does nothing to a timeline without XLA's ranges. The function whose executions are the steps ("jit(train_step)"); ""
// if none is.
std::string show_xla_phases(timeline& data);

// The timeline as a projection with these options shows it: the same one, or a copy with phases.
class shown_timeline {
public:
    shown_timeline(const timeline& data, const projection_options& options);

    const timeline& data() const noexcept { return changed_ ? *changed_ : original_; }
    bool is_changed() const noexcept { return changed_.has_value(); }
    const std::string& step_function() const noexcept { return step_function_; }

private:
    const timeline& original_;
    std::optional<timeline> changed_;
    std::string step_function_;
};

// What the names of XLA's operations say of each GPU operation: docs/modules.md.
struct xla_operations {
    struct entry {
        std::uint32_t path = npos;  // index into paths; npos: its name is not known, or it is no operation of XLA's
        xla_phase phase = xla_phase::none;
        bool computes_gradients = false;  // the function that it is in
    };
    std::vector<std::string> paths;  // the jitted function and its scopes: "jit(train_step)/Model/layer_0/up"
    std::vector<entry> ops;          // by operation; empty where the timeline has no ranges of XLA's
};
xla_operations find_xla_operations(const timeline& data);

}  // namespace prof
