// SPDX-License-Identifier: Apache-2.0
// Parses the texts of ranges that XLA pushes in the NVTX domain TSL, and the names that JAX gives to operations (HLO's
// op_name). Pure functions; linear in the text, even for hostile input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prof {

inline constexpr std::string_view xla_domain = "TSL";

enum class xla_range_kind : std::uint8_t {
    other,
    compilation,  // the compiler, including what it runs to choose between kernels
    module,       // one execution of a compiled program, that is of a jitted function
    thunk,        // one operation of such a program
};

// The parts of a range's text, such as "Thunk:#name=jit(f)/add,hlo_op=loop_add_fusion,unique_hlo_op_id=7#". All views
// point into that text.
struct xla_range {
    xla_range_kind kind = xla_range_kind::other;
    std::string_view module;  // of a module: HLO's name, such as "jit_train_step"
    std::string_view prefix;  // of a module: the common prefix of its operations' names, which their ranges omit
    bool has_name = false;    // of a thunk: XLA gives a name
    std::string_view name;    // of a thunk: the operation's name, without the module's prefix
    std::string_view hlo_op;  // of a thunk: the instruction, such as "loop_add_fusion.3"
};
xla_range read_xla_range(std::string_view text) noexcept;

// The whole name of an operation.
std::string with_prefix(std::string_view prefix, std::string_view name);

// "jit_train_step" → "jit(train_step)"; a name of any other form is returned unchanged.
std::string jitted_function(std::string_view module);

enum class xla_phase : std::uint8_t { none, forward, backward, recompute };
std::string_view to_string(xla_phase phase) noexcept;    // "" for none
xla_phase xla_phase_of(std::string_view name) noexcept;  // none for any other name

// The phases of a fusion's parts.
class xla_phase_set {
public:
    void add(xla_phase phase) noexcept { bits_ = static_cast<std::uint8_t>(bits_ | bit(phase)); }
    bool has(xla_phase phase) const noexcept { return (bits_ & bit(phase)) != 0; }
    bool is_of_several() const noexcept { return (bits_ & (bits_ - 1)) != 0; }
    xla_phase only() const noexcept;  // none for several
    // "backward + other": none is called so.
    std::string text(std::string_view none) const;

private:
    static constexpr std::uint8_t bit(xla_phase phase) noexcept {
        return static_cast<std::uint8_t>(1U << static_cast<unsigned>(phase));
    }
    std::uint8_t bits_ = 0;
};

// The parts of an operation's name, such as "jit(train_step)/transpose(jvp(Model))/layer_0/up/dot_general".
struct xla_operation {
    std::string function;  // "train_step": the outermost jitted function; "" if there is none
    // jvp(…) is forward, transpose(… jvp(…)) is backward, and anything in rematted_computation is recompute.
    xla_phase phase = xla_phase::none;
    // Scopes (jax.named_scope) and modules (flax), outermost first, separated by '/': "Model/layer_0/up". Parts that
    // JAX inserts (functions, bodies of loops, transformations) are left out.
    std::string path;
    std::string operation;  // "dot_general"; "" if the name ends with a scope, as a fusion's may

    // Whether nothing is known but functions: the common part of names that differ.
    bool is_bare() const noexcept { return phase == xla_phase::none && path.empty() && operation.empty(); }
    // The outermost element of `path`.
    std::string_view scope() const noexcept { return std::string_view{path}.substr(0, path.find('/')); }
};
xla_operation read_xla_operation(std::string_view name);

}  // namespace prof
