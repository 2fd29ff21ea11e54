// Reads the texts of the ranges that XLA pushes in the NVTX domain TSL, and the names that JAX gives to operations
// (HLO's op_name). Pure functions; linear in the text, whatever it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prof {

inline constexpr std::string_view xla_domain = "TSL";

enum class xla_range_kind : std::uint8_t {
    other,
    compilation,  // the compiler, with what it runs to choose between kernels
    module,       // an execution of a program that was compiled: of a jitted function
    thunk,        // an operation of such a program
};

// A range's text, as in "Thunk:#name=jit(f)/add,hlo_op=loop_add_fusion,unique_hlo_op_id=7#". The texts are parts of it.
struct xla_range {
    xla_range_kind kind = xla_range_kind::other;
    std::string_view module;  // of a module: HLO's name, as "jit_train_step"
    std::string_view prefix;  // of a module: what all its operations' names begin with, which their ranges leave out
    bool has_name = false;    // of a thunk: XLA knows a name; …
    std::string_view name;    // … the operation's, without the module's prefix
    std::string_view hlo_op;  // of a thunk: the instruction, as "loop_add_fusion.3"
};
xla_range read_xla_range(std::string_view text) noexcept;

// The whole name of an operation.
std::string with_prefix(std::string_view prefix, std::string_view name);

// "jit_train_step" → "jit(train_step)"; what is no name of a jitted function stays.
std::string jitted_function(std::string_view module);

enum class xla_phase : std::uint8_t { none, forward, backward, recompute };
std::string_view to_string(xla_phase phase) noexcept;  // "" for none

// What the name of an operation says, as "jit(train_step)/transpose(jvp(Model))/layer_0/up/dot_general".
struct xla_operation {
    std::string function;  // "train_step": the outermost jitted function's; "" if it is in none
    // jvp(…) is forward, transpose(… jvp(…)) backward; what is in rematted_computation is recompute.
    xla_phase phase = xla_phase::none;
    // Scopes (jax.named_scope) and modules (flax), outermost first, with '/' between: "Model/layer_0/up". What JAX has
    // in between (functions, loops' bodies, transformations) is left out.
    std::string path;
    std::string operation;  // "dot_general"; "" where the name ends with a scope, as that of a fusion may

    // The outermost of `path`.
    std::string_view scope() const noexcept { return std::string_view{path}.substr(0, path.find('/')); }
};
xla_operation read_xla_operation(std::string_view name);

}  // namespace prof
