// SPDX-License-Identifier: Apache-2.0
#include "analysis/mfu/peaks.hpp"

#include <algorithm>
#include <iterator>

namespace prof {
namespace {

// The first entry of which all words are in the name counts, so the longer name comes first.
constexpr gpu_peak peaks[] = {
    {"GH200", 132, 1980, 1830, 66.9, 494.7, 989.4, true, false, "GH200 data sheet"},
    {"GB200", 152, 2055, 2007, 80, 1250, 2500, true, false, "GB200 NVL72 data sheet"},
    {"B200", 148, 1980, 1856, 75, 1125, 2250, true, false, "HGX B200 data sheet"},
    {"H200 NVL", 132, 1785, 1545, 60, 417.5, 835.5, true, false, "H200 data sheet"},
    {"H200", 132, 1980, 1830, 66.9, 494.7, 989.4, true, false, "H200 data sheet"},
    {"H100 NVL", 132, 1785, 1545, 60, 417.5, 835.5, true, false, "H100 data sheet"},
    {"H100 PCIe", 114, 1755, 1620, 51.2, 378, 756, true, false, "H100 whitepaper"},
    {"H100 80GB HBM3", 132, 1980, 1830, 66.9, 494.7, 989.4, true, false, "H100 whitepaper"},
    {"A100", 108, 1410, 1410, 19.5, 156, 312, true, false, "A100 whitepaper"},
    {"A30", 56, 1440, 1440, 10.3, 82, 165, true, false, "A30 data sheet"},
    {"A40", 84, 1740, 1740, 37.4, 74.8, 149.7, true, false, "A40 data sheet"},
    {"A10", 72, 1695, 1695, 31.2, 62.5, 125, true, false, "A10 data sheet"},
    {"L40S", 142, 2520, 2490, 91.6, 183, 362.05, true, false, "L40S data sheet"},
    {"L40", 142, 2490, 2490, 90.5, 90.5, 181.05, true, false, "L40 data sheet"},
    {"L4", 58, 2040, 2040, 30.3, 60, 121, true, false, "L4 data sheet"},
    {"V100-SXM2", 80, 1530, 1530, 15.7, 0, 125, false, false, "V100 whitepaper"},
    {"V100-PCIE", 80, 1370, 1370, 14, 0, 112, false, false, "V100 data sheet"},
    {"T4", 40, 1590, 1590, 8.1, 0, 65, false, false, "T4 data sheet"},
    {"RTX 3090", 82, 1695, 1695, 35.6, 35.6, 71, true, true, "GA102 whitepaper"},
    {"RTX 4090", 128, 2520, 2520, 82.6, 82.6, 165.2, true, true, "AD102 whitepaper"},
    {"RTX 5090", 170, 2407, 2407, 104.8, 104.8, 209.5, true, true, "RTX Blackwell whitepaper"},
};

// Whether `words` is in the name as whole words: "L4" is not in "L40".
bool has_words(std::string_view name, std::string_view words) noexcept {
    const auto is_end = [](char c) { return c == ' ' || c == '-'; };
    for (std::size_t at = name.find(words); at != std::string_view::npos; at = name.find(words, at + 1)) {
        const std::size_t end = at + words.size();
        if ((at == 0 || is_end(name[at - 1])) && (end == name.size() || is_end(name[end]))) return true;
    }
    return false;
}

}  // namespace

std::string_view to_string(matrix_type value) noexcept {
    constexpr std::string_view words[] = {"FP64", "FP32", "TF32", "FP16", "BF16", "FP8", "INT8", "FP4", "unknown"};
    return words[static_cast<std::size_t>(value)];
}

double gpu_peak::tflops(matrix_type type) const noexcept {
    switch (type) {
        case matrix_type::fp32:
            return fp32;
        case matrix_type::tf32:
            return tf32;
        case matrix_type::fp16:
            return fp16;
        case matrix_type::bf16:
            return has_bf16 ? fp16 : 0;
        default:
            return 0;
    }
}

std::span<const gpu_peak> gpu_peaks() noexcept { return peaks; }

const gpu_peak* find_gpu_peak(std::string_view device_name) noexcept {
    // Parts of a GPU, and laptops' and other variants, which share a name with a faster one.
    for (const std::string_view other : {"MIG", "Laptop", "Ti", "SUPER", "D"}) {
        if (has_words(device_name, other)) return nullptr;
    }
    const auto* const found = std::find_if(std::begin(peaks), std::end(peaks),
                                           [&](const gpu_peak& of) { return has_words(device_name, of.name); });
    return found == std::end(peaks) ? nullptr : found;
}

}  // namespace prof
