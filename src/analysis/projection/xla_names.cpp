// SPDX-License-Identifier: Apache-2.0
#include "analysis/projection/xla_names.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.hpp"

namespace prof {
namespace {

// JAX's operations, which may end a path; sorted.
constexpr std::array operations = std::to_array<std::string_view>({"abs",
                                                                   "accum_grad_in_ref",
                                                                   "acos",
                                                                   "acosh",
                                                                   "add",
                                                                   "add_any",
                                                                   "add_dependency",
                                                                   "addupdate",
                                                                   "after_all",
                                                                   "all_gather",
                                                                   "all_gather_invariant",
                                                                   "all_to_all",
                                                                   "and",
                                                                   "approx_top_k",
                                                                   "argmax",
                                                                   "argmin",
                                                                   "asin",
                                                                   "asinh",
                                                                   "atan",
                                                                   "atan2",
                                                                   "atanh",
                                                                   "axis_index",
                                                                   "bessel_i0e",
                                                                   "bessel_i1e",
                                                                   "bitcast",
                                                                   "bitcast_convert_type",
                                                                   "broadcast_in_dim",
                                                                   "cbrt",
                                                                   "ceil",
                                                                   "cholesky",
                                                                   "clamp",
                                                                   "clz",
                                                                   "complex",
                                                                   "concatenate",
                                                                   "conj",
                                                                   "conv",
                                                                   "conv_general_dilated",
                                                                   "convert_element_type",
                                                                   "copy",
                                                                   "copy_p",
                                                                   "cos",
                                                                   "cosh",
                                                                   "cumlogsumexp",
                                                                   "cummax",
                                                                   "cummin",
                                                                   "cumprod",
                                                                   "cumsum",
                                                                   "custom_call",
                                                                   "custom_linear_solve",
                                                                   "device_put",
                                                                   "digamma",
                                                                   "div",
                                                                   "dot_general",
                                                                   "dot_product_attention_bwd_wrapper",
                                                                   "dot_product_attention_fwd_wrapper",
                                                                   "dynamic_slice",
                                                                   "dynamic_update_slice",
                                                                   "eig",
                                                                   "eigh",
                                                                   "eq",
                                                                   "eq_to",
                                                                   "erf",
                                                                   "erf_inv",
                                                                   "erfc",
                                                                   "exp",
                                                                   "exp2",
                                                                   "expm1",
                                                                   "ffi_call",
                                                                   "fft",
                                                                   "floor",
                                                                   "gather",
                                                                   "ge",
                                                                   "geqrf",
                                                                   "get",
                                                                   "gt",
                                                                   "householder_product",
                                                                   "igamma",
                                                                   "igamma_grad_a",
                                                                   "igammac",
                                                                   "imag",
                                                                   "integer_pow",
                                                                   "iota",
                                                                   "is_finite",
                                                                   "le",
                                                                   "le_to",
                                                                   "lgamma",
                                                                   "log",
                                                                   "log1p",
                                                                   "logistic",
                                                                   "lt",
                                                                   "lt_to",
                                                                   "lu",
                                                                   "lu_pivots_to_permutation",
                                                                   "max",
                                                                   "min",
                                                                   "mul",
                                                                   "ne",
                                                                   "neg",
                                                                   "nextafter",
                                                                   "not",
                                                                   "optimization_barrier",
                                                                   "or",
                                                                   "pad",
                                                                   "pallas_call",
                                                                   "partition_id",
                                                                   "pbroadcast",
                                                                   "pmax",
                                                                   "pmin",
                                                                   "polygamma",
                                                                   "population_count",
                                                                   "pow",
                                                                   "ppermute",
                                                                   "psum",
                                                                   "psum_invariant",
                                                                   "psum_scatter",
                                                                   "pvary",
                                                                   "qr",
                                                                   "ragged_all_to_all",
                                                                   "ragged_dot_general",
                                                                   "random_bits",
                                                                   "random_fold_in",
                                                                   "random_gamma",
                                                                   "random_seed",
                                                                   "random_split",
                                                                   "random_unwrap",
                                                                   "random_wrap",
                                                                   "real",
                                                                   "reduce",
                                                                   "reduce_and",
                                                                   "reduce_max",
                                                                   "reduce_min",
                                                                   "reduce_or",
                                                                   "reduce_precision",
                                                                   "reduce_prod",
                                                                   "reduce_scatter",
                                                                   "reduce_sum",
                                                                   "reduce_window",
                                                                   "reduce_window_max",
                                                                   "reduce_window_min",
                                                                   "reduce_window_sum",
                                                                   "reduce_xor",
                                                                   "rem",
                                                                   "reshape",
                                                                   "reshard",
                                                                   "rev",
                                                                   "rng_bit_generator",
                                                                   "rng_uniform",
                                                                   "roll",
                                                                   "round",
                                                                   "rsqrt",
                                                                   "scaled_dot",
                                                                   "scaled_matmul",
                                                                   "scaled_matmul_wrapper",
                                                                   "scatter",
                                                                   "scatter-add",
                                                                   "scatter-max",
                                                                   "scatter-min",
                                                                   "scatter-mul",
                                                                   "scatter-sub",
                                                                   "scatter_add",
                                                                   "scatter_max",
                                                                   "scatter_min",
                                                                   "scatter_mul",
                                                                   "select_and_gather_add",
                                                                   "select_and_scatter_add",
                                                                   "select_n",
                                                                   "sharding_constraint",
                                                                   "shift_left",
                                                                   "shift_right_arithmetic",
                                                                   "shift_right_logical",
                                                                   "sign",
                                                                   "sin",
                                                                   "sinh",
                                                                   "slice",
                                                                   "sort",
                                                                   "split",
                                                                   "sqrt",
                                                                   "square",
                                                                   "squeeze",
                                                                   "stage",
                                                                   "stop_gradient",
                                                                   "sub",
                                                                   "swap",
                                                                   "tan",
                                                                   "tanh",
                                                                   "threefry2x32",
                                                                   "tile",
                                                                   "top_k",
                                                                   "transpose",
                                                                   "triangular_solve",
                                                                   "tridiagonal_solve",
                                                                   "unpin",
                                                                   "xor",
                                                                   "zeros_like",
                                                                   "zeta"});

// Words that JAX puts between scopes: loops, branches and calls; sorted.
constexpr std::array structure = std::to_array<std::string_view>({"body",
                                                                  "body_fun",
                                                                  "checkpoint",
                                                                  "closed_call",
                                                                  "cond",
                                                                  "cond_fun",
                                                                  "core_call",
                                                                  "custom_jvp_call",
                                                                  "custom_jvp_call_jaxpr",
                                                                  "custom_vjp_call",
                                                                  "custom_vjp_call_jaxpr",
                                                                  "custom_vmap_call",
                                                                  "eval_jaxpr",
                                                                  "pjit",
                                                                  "remat",
                                                                  "remat2",
                                                                  "remat_opt",
                                                                  "rematted_computation",
                                                                  "scan",
                                                                  "shard_map",
                                                                  "shmap_body",
                                                                  "switch",
                                                                  "while",
                                                                  "xla_call",
                                                                  "xla_pmap"});

constexpr std::string_view recomputes = "rematted_computation";

template <typename TList>
bool has(const TList& sorted, std::string_view word) noexcept {
    return std::binary_search(sorted.begin(), sorted.end(), word);
}
static_assert(std::is_sorted(operations.begin(), operations.end()));
static_assert(std::is_sorted(structure.begin(), structure.end()));

// "branch_0_fun": the name that jax.lax.cond and switch give to a branch.
bool is_branch(std::string_view word) noexcept {
    constexpr std::string_view prefix = "branch_";
    constexpr std::string_view suffix = "_fun";
    if (!word.starts_with(prefix) || !word.ends_with(suffix) || word.size() <= prefix.size() + suffix.size()) {
        return false;
    }
    word = word.substr(prefix.size(), word.size() - prefix.size() - suffix.size());
    return std::all_of(word.begin(), word.end(), is_digit);
}

// The text after `key`; "" if there is none.
std::string_view behind(std::string_view text, std::string_view key) noexcept {
    const std::size_t at = text.find(key);
    return at == std::string_view::npos ? std::string_view{} : text.substr(at + key.size());
}

// The same, up to the next comma or '#'.
std::string_view value(std::string_view text, std::string_view key) noexcept {
    const std::string_view found = behind(text, key);
    return found.substr(0, found.find_first_of(",#"));
}

// Splits at each '/' outside parentheses and brackets.
std::vector<std::string_view> split(std::string_view name, bool heeds_parentheses = true) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (heeds_parentheses && (name[i] == '(' || name[i] == '[')) ++depth;
        if (heeds_parentheses && (name[i] == ')' || name[i] == ']') && depth > 0) --depth;
        if (name[i] != '/' || depth != 0) continue;
        parts.push_back(name.substr(begin, i - begin));
        begin = i + 1;
    }
    parts.push_back(name.substr(begin));
    // An unmatched parenthesis in the name of a scope must not hide what follows.
    if (depth != 0) return split(name, false);
    return parts;
}

// "transpose(jvp(Model))": transformations, and what they are applied to.
struct component {
    std::string_view inner;
    std::string_view function;  // the function of jit(…) or pmap(…)
    bool is_transformed = false;
    bool has_transpose = false;
    bool has_jvp = false;
};

component read_component(std::string_view text) noexcept {
    component out;
    for (out.inner = text; out.inner.ends_with(')');) {
        const std::size_t open = out.inner.find('(');
        if (open == std::string_view::npos) break;
        const std::string_view word = out.inner.substr(0, open);
        const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
        if (word.empty() || !std::all_of(word.begin(), word.end(), is_word)) break;
        out.is_transformed = true;
        out.has_transpose = out.has_transpose || word == "transpose";
        out.has_jvp = out.has_jvp || word == "jvp";
        out.inner = out.inner.substr(open + 1, out.inner.size() - open - 2);
        if (word != "jit" && word != "pjit" && word != "pmap" && word != "xla_pmap") continue;
        out.function = out.inner;
        out.inner = {};
    }
    // Old versions of JAX write operations with parameters: "transpose[permutation=(1, 0)]".
    const std::string_view word = out.inner.substr(0, out.inner.find('['));
    if (out.inner.ends_with(']') && (has(operations, word) || has(structure, word))) out.inner = word;
    return out;
}

// The parts of a name. XLA gives an operation that it made of several their names, "jit(f)/mul;jit(f)/add": it has the
// parts that they begin with in common.
std::vector<std::string_view> common_parts(std::string_view name) {
    std::vector<std::string_view> common;
    for (std::size_t begin = 0; begin <= name.size();) {
        const std::size_t end = std::min(name.find(';', begin), name.size());
        std::vector<std::string_view> parts = split(name.substr(begin, end - begin));
        // A scope's name may have a semicolon, too.
        if (read_component(parts.front()).function.empty()) return split(name);
        if (begin == 0) {
            common = std::move(parts);
        } else {
            const auto differ = std::mismatch(common.begin(), common.end(), parts.begin(), parts.end());
            common.erase(differ.first, common.end());
        }
        begin = end + 1;
    }
    return common.empty() ? split(name) : common;
}

}  // namespace

xla_range read_xla_range(std::string_view text) noexcept {
    xla_range out;
    if (text.starts_with("Thunk:#")) {
        out.kind = xla_range_kind::thunk;
        // A name may contain commas; HLO's names of instructions do not.
        constexpr std::string_view instruction = "hlo_op=";
        const std::size_t at = text.rfind(instruction);
        if (at == std::string_view::npos) return out;
        out.hlo_op = value(text.substr(at), instruction);
        constexpr std::string_view before_name = "Thunk:#name=";
        if (text.starts_with(before_name) && at > before_name.size() && text[at - 1] == ',') {
            out.has_name = true;
            out.name = text.substr(before_name.size(), at - 1 - before_name.size());
        }
    } else if (text.starts_with("XlaModule:#")) {
        constexpr std::string_view before_module = "hlo_module=";
        constexpr std::string_view before_prefix = "XlaModule:#prefix=";
        const std::size_t at = std::min(text.rfind(before_module), text.size());
        out.module = value(text.substr(at), before_module);
        if (text.starts_with(before_prefix) && at > before_prefix.size() && at < text.size()) {
            out.prefix = text.substr(before_prefix.size(), at - 1 - before_prefix.size());
        }
        // The compiler runs its candidates without registering them as programs.
        const bool is_program = !behind(text, "program_id=").empty();
        out.kind = is_program ? xla_range_kind::module : xla_range_kind::compilation;
    } else if (text.starts_with("Xla")) {
        out.kind = xla_range_kind::compilation;
    }
    return out;
}

std::string with_prefix(std::string_view prefix, std::string_view name) {
    // In a program that only moves data, the prefix may be a parameter's, such as "args[0]".
    if (read_component(split(prefix).front()).function.empty()) return std::string{name};
    std::string out{prefix};
    if (!name.empty()) out += '/';
    return out.append(name);
}

std::string jitted_function(std::string_view module) {
    constexpr std::string_view prefix = "jit_";
    if (!module.starts_with(prefix) || module.size() == prefix.size()) return std::string{module};
    return "jit(" + std::string{module.substr(prefix.size())} + ')';
}

std::string_view to_string(xla_phase phase) noexcept {
    switch (phase) {
        case xla_phase::forward:
            return "forward";
        case xla_phase::backward:
            return "backward";
        case xla_phase::recompute:
            return "recompute";
        case xla_phase::none:
            break;
    }
    return {};
}

xla_phase xla_phase_of(std::string_view name) noexcept {
    for (const xla_phase phase : {xla_phase::forward, xla_phase::backward, xla_phase::recompute}) {
        if (to_string(phase) == name) return phase;
    }
    return xla_phase::none;
}

xla_phase xla_phase_set::only() const noexcept {
    for (const xla_phase phase : {xla_phase::forward, xla_phase::backward, xla_phase::recompute}) {
        if (bits_ == bit(phase)) return phase;
    }
    return xla_phase::none;
}

std::string xla_phase_set::text(std::string_view none) const {
    std::string out;
    for (const xla_phase phase : {xla_phase::forward, xla_phase::recompute, xla_phase::backward, xla_phase::none}) {
        if (!has(phase)) continue;
        out.append(out.empty() ? "" : " + ").append(phase == xla_phase::none ? none : to_string(phase));
    }
    return out;
}

xla_operation read_xla_operation(std::string_view name) {
    xla_operation out;
    const std::vector<std::string_view> parts = common_parts(name);
    const component outermost = read_component(parts.front());
    if (outermost.function.empty()) return out;  // a parameter, or something made by the compiler
    out.function = outermost.function;
    std::string_view transposed;  // the argument of the latest transpose(jvp(…))
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const component part = read_component(parts[i]);
        const bool is_last = i + 1 == parts.size();
        const bool is_backward = part.has_transpose && part.has_jvp;
        if (part.inner == recomputes) out.phase = xla_phase::recompute;
        if (is_backward && out.phase != xla_phase::recompute) out.phase = xla_phase::backward;
        if (part.has_jvp && out.phase == xla_phase::none) out.phase = xla_phase::forward;
        // transpose(jvp(block))/jvp(block): a checkpoint, which appears twice
        const bool is_repeated = part.has_jvp && !is_backward && !transposed.empty() && part.inner == transposed;
        transposed = is_backward ? part.inner : std::string_view{};
        if (part.inner.empty() || is_repeated) continue;
        if (is_last && !part.is_transformed && has(operations, part.inner)) {
            out.operation = part.inner;
            continue;
        }
        if (!part.is_transformed && (has(structure, part.inner) || is_branch(part.inner))) continue;
        if (!out.path.empty()) out.path += '/';
        out.path += part.inner;
    }
    return out;
}

}  // namespace prof
