// SPDX-License-Identifier: Apache-2.0
// To which module a GPU operation, or a moment of a thread of the host, belongs: docs/guide/modules.md has the rules.
// One thread; memory linear in the ranges of modules and backward nodes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/modules/module_calls.hpp"
#include "analysis/modules/module_times.hpp"
#include "analysis/projection/xla_phases.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// Names of what is no module's.
inline constexpr std::string_view outside_modules_text = "(outside modules)";
inline constexpr std::string_view accumulation_text = "(AccumulateGrad)";
inline constexpr std::string_view unknown_module_text = "(not known)";

// A phase that modules work in; `range`: npos without one.
struct module_phase {
    module_work work = module_work::forward;
    range_id range = npos;
};

// The scopes of an operation of XLA's.
struct module_scopes {
    module_work work = module_work::forward;
    std::uint32_t path = npos;  // index into paths
};

// By where an operation was launched; no work: neither in a call of a module nor in a backward node.
struct module_of_launch {
    std::optional<module_work> work;
    maker_of_node made;
};

class module_finder {
public:
    // The arguments must outlive it. Phases that `att` hides are not found. `original`: the timeline before it had
    // phases of XLA (shown_timeline), where `data` has them.
    module_finder(const timeline& data, const attribution& att, const timeline& original);
    module_finder(const timeline& data, const attribution& att) : module_finder(data, att, data) {}

    // Whether modules, or scopes of XLA's operations, were recorded.
    bool is_recorded() const noexcept { return has_calls_ || !xla_.paths.empty(); }
    const module_calls& calls() const noexcept { return *calls_; }
    // From now on only ranges with these indices are known, as if there were no others.
    void look_at(std::size_t first_range, std::size_t end_range);
    const std::vector<std::string>& paths() const noexcept { return xla_.paths; }
    // Whether nothing but XLA's operations was recorded.
    bool is_of_xla() const noexcept { return !has_calls_ && !xla_.paths.empty(); }
    // Whether an operation of XLA's has a scope, be it a module.
    bool has_scopes() const noexcept {
        return std::find(has_scopes_.begin(), has_scopes_.end(), true) != has_scopes_.end();
    }

    // The innermost phase around an operation that modules work in; forward where there is none, as on other threads.
    module_phase phase_of(op_id op) const;
    // REQUIRES: the operation's launch is known, and `phase` is its own.
    maker_of_node of_op(op_id op, const module_phase& phase);
    // Where no phases were recorded, as in traces of torch.profiler. REQUIRES: the operation's launch is known.
    module_of_launch of_launch(op_id op);
    // By whichever of the two is known. Outside modules if its launch is not known.
    maker_of_node maker_of_op(op_id op);
    // Of a JAX program. A function without any scope, as one operation that is called by itself, has no modules.
    std::optional<module_scopes> scopes_of_op(op_id op) const;
    // Whether it is of a function that computes gradients, and in no phase of it, or in several.
    bool is_in_no_phase(op_id op) const;
    // As module_calls::maker_of.
    maker_of_node maker_of(range_id node);
    // On the host: of the innermost call of a module, or of the backward node that is executed.
    maker_of_node at(thread_id thread, std::int64_t time_ns);

private:
    bool is_in_node(range_id call, range_id node) const;
    maker_of_node innermost(range_id call, range_id node);

    const timeline& data_;
    const attribution& att_;
    std::optional<module_calls> calls_;
    bool has_calls_ = false;  // in all ranges
    xla_operations xla_;
    std::vector<bool> has_scopes_;  // by path: its function has operations with scopes
    struct known_maker {
        range_id node = npos;
        maker_of_node made{};
    };
    std::array<known_maker, 256> makers_{};  // of the nodes that were asked for last
};

// Why a JAX program has no modules, where no name of its operations has a scope.
inline constexpr std::string_view no_scopes_text =
    "no name of XLA's operations has a scope: flax.linen gives them those of its modules, flax.nnx does not; "
    "jax.named_scope around a module's call does (docs/guide/jax.md)";

// "prof run --modules records them"; of a trace of torch.profiler, what does that there.
std::string_view what_records_modules(const timeline& data);

// The phase that modules work in, by its name.
std::optional<module_work> module_work_of(std::string_view phase);

}  // namespace prof
