// SPDX-License-Identifier: Apache-2.0
#include "analysis/mfu/matrix_kernels.hpp"

#include <algorithm>
#include <unordered_map>

#include "analysis/projection/name_parts.hpp"

namespace prof {
namespace {

constexpr std::string_view multiplying[] = {"gemm",      "nvjet",     "xmma",      "cutlass",  "fmha",
                                            "flash_fwd", "conv",      "flash_bwd", "implicit", "winograd",
                                            "attention", "triton_mm", "wgmma"};
// Kernels around a multiplication.
constexpr std::string_view helping[] = {"convert",    "splitKreduce", "elementwise",
                                        "nchwToNhwc", "nhwcToNchw",   "reduce_kernel"};

// nvjet_sm90_hsh_…: input, accumulator, output.
matrix_kernel nvjet_kernel(std::string_view name) noexcept {
    constexpr std::string_view prefix = "nvjet_";
    name.remove_prefix(std::min(name.find(prefix), name.size() - prefix.size()) + prefix.size());
    if (name.starts_with("sm")) name.remove_prefix(std::min(name.find('_'), name.size() - 1) + 1);
    const std::string_view types = name.substr(0, name.find('_'));
    const bool sums_in_fp32 = types.size() == 3 && types[1] == 's';
    if (types.starts_with("hs")) return {.type = matrix_type::fp16, .accumulates_in_fp32 = sums_in_fp32};
    if (types.starts_with("ts")) return {.type = matrix_type::bf16, .accumulates_in_fp32 = sums_in_fp32};
    if (types.starts_with("qq")) return {.type = matrix_type::fp8};
    if (types == "sss") return {.type = matrix_type::tf32, .accumulates_in_fp32 = true};
    return {};
}

constexpr std::string_view fp4_words[] = {"e2m1", "fp4", "mxf4"};
constexpr std::string_view fp8_words[] = {"e4m3", "e5m2", "fp8", "f8f"};
constexpr std::string_view int8_words[] = {"imma", "int8", "i8i8", "s8s8", "i8816", "i16832", "igemm"};
constexpr std::string_view fp64_words[] = {"dgemm", "f64f64", "d884", "double"};
constexpr std::string_view bf16_words[] = {"bf16", "bfloat16"};
constexpr std::string_view tf32_words[] = {"tf32"};
constexpr std::string_view fp16_words[] = {"f16", "fp16", "half", "h884", "h1688", "h16816", "s884gemm", "hgemm"};
constexpr std::string_view fp32_words[] = {"sgemm", "f32f32", "ffma", "f32", "float"};
constexpr std::string_view fp32_sums[] = {"s161616", "s16816", "s1688", "s884", "f16f32", "flash", "fmha"};

// PyTorch's attention multiplies FP32 values on the matrix units, in several steps of TF32, from compute capability 8.0
// on; before, in FP32 (DefaultGemmType in ATen/native/transformers/cuda/mem_eff_attention/gemm_kernel_utils.h).
bool is_attention_in_tf32(std::string_view name) noexcept {
    return has_part(name, "fmha_cutlass") && has_part(name, "_f32_") && has_part(name, "_sm80");
}

matrix_type type_of(std::string_view name) noexcept {
    if (is_attention_in_tf32(name)) return matrix_type::tf32;
    if (has_one_of(name, fp4_words)) return matrix_type::fp4;
    if (has_one_of(name, fp8_words)) return matrix_type::fp8;
    if (has_one_of(name, int8_words)) return matrix_type::int8;
    if (has_one_of(name, bf16_words)) return matrix_type::bf16;
    if (has_one_of(name, tf32_words)) return matrix_type::tf32;
    if (has_one_of(name, fp16_words)) return matrix_type::fp16;
    if (has_part(name, "s1688gemm")) return matrix_type::tf32;
    if (has_one_of(name, fp64_words)) return matrix_type::fp64;
    if (has_one_of(name, fp32_words)) return matrix_type::fp32;
    return matrix_type::unknown;
}

}  // namespace

std::optional<matrix_kernel> matrix_kernel_of(std::string_view symbol) noexcept {
    if (!has_one_of(symbol, multiplying) || has_one_of(symbol, helping)) return std::nullopt;
    if (has_part(symbol, "nvjet_")) return nvjet_kernel(symbol);
    return matrix_kernel{
        .type = type_of(symbol),
        .is_sparse = has_part(symbol, "sparse") || has_part(symbol, "spgemm") || has_part(symbol, "spmma"),
        .accumulates_in_fp32 = has_one_of(symbol, fp32_sums)};
}

matrix_times measure_matrix_kernels(const timeline& data) {
    matrix_times out;
    std::unordered_map<name_id, std::optional<matrix_kernel>> known;
    for (const gpu_op& op : data.ops) {
        if (op.kind != op_kind::kernel) continue;
        const std::int64_t ns = op.end_ns - op.start_ns;
        out.kernels_ns += ns;
        const auto [found, is_new] = known.try_emplace(name_id(data.kernels[op.detail].name));
        if (is_new) found->second = matrix_kernel_of(data.kernel_symbol(op));
        if (!found->second) continue;
        out.matrix_ns += ns;
        out.by_type_ns[static_cast<std::size_t>(found->second->type)] += ns;
        if (found->second->is_sparse) out.sparse_ns += ns;
        if (found->second->type == matrix_type::fp16 && !found->second->accumulates_in_fp32) {
            out.fp16_of_unknown_sums_ns += ns;
        }
    }
    return out;
}

}  // namespace prof
