// SPDX-License-Identifier: Apache-2.0
// Looks for matrix products in FP32 that do not use the matrix units, on a GPU whose peak rates are known
// (analysis/mfu/peaks.hpp).
#include "diagnose/rules/rule.hpp"

namespace prof {
namespace {

std::vector<suspect> find_precision(const rule_input& input) {
    return gpu_suspects(input, [](const gpu_group& group) { return group.use == gpu_use::fp32_matrices; });
}

constexpr advice_line precision_advice[] = {
    {written_with::torch,
     "PyTorch: torch.set_float32_matmul_precision(\"high\"), or torch.autocast(\"cuda\", dtype=torch.bfloat16)",
     "torch.set_float32_matmul_precision(\"high\")"},
    {written_with::jax, "JAX: jax_default_matmul_precision, or bfloat16 parameters", "jax_default_matmul_precision"},
    {written_with::any, "cuBLAS: CUBLAS_COMPUTE_32F_FAST_TF32", "CUBLAS_COMPUTE_32F_FAST_TF32"},
};

}  // namespace

const rule precision_rule{
    .name = "precision",
    .purpose = "matrix products in FP32 that do not use the matrix units",
    .needs = activity::kernels,
    .trust = confidence::low,
    .suspects = find_precision,
    .title = "matrix products run in FP32",
    .noun = "matrix products in FP32, not TF32",
    .is_one_cause = true,
    .explains_any_step = false,
    .bound = "as if they ran in TF32 at the GPU's peak rates; results differ in their last digits",
    .advice = precision_advice,
    .goes_by_kernels = true,
    .changes_results = true,
};

}  // namespace prof
