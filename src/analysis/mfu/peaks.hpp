// SPDX-License-Identifier: Apache-2.0
// The dense peak rates of GPUs, by name: without structured sparsity, for matrices multiplied with accumulation in FP32
// (INT32 for INT8), at the boost clock for which the vendor states them. Constants; any thread.
//
// Sources: NVIDIA's architecture whitepapers and data sheets, named with each entry; a figure that a data sheet gives
// with sparsity is halved. tests/analysis/mfu_test.cpp works every figure out again from multiprocessors, operations a
// clock and clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace prof {

enum class matrix_type : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4, unknown };
inline constexpr std::size_t matrix_types = 9;
std::string_view to_string(matrix_type value) noexcept;  // "FP32", …

struct gpu_peak {
    std::string_view name;  // a word of the device's name, by which it is found
    std::uint32_t multiprocessors;
    // At which the peaks are stated, of FP32 and of the matrix units.
    std::uint32_t fp32_mhz;
    std::uint32_t matrix_mhz;
    // TFLOPS; 0: the GPU has none, or the figure is not known. fp16 is also the peak for bf16 where has_bf16.
    double fp32;
    double tf32;
    double fp16;
    bool has_bf16;
    bool is_half_by_accumulation;  // FP16 is twice as fast if it accumulates in FP16
    std::string_view source;

    double tflops(matrix_type type) const noexcept;  // 0: none
    std::uint32_t mhz(matrix_type type) const noexcept { return type == matrix_type::fp32 ? fp32_mhz : matrix_mhz; }
};

std::span<const gpu_peak> gpu_peaks() noexcept;
// By the device's name as the driver gives it: "NVIDIA H100 80GB HBM3". Null: not in the table, or a part of a GPU
// (MIG).
const gpu_peak* find_gpu_peak(std::string_view device_name) noexcept;

}  // namespace prof
