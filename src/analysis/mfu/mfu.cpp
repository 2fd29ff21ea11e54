// SPDX-License-Identifier: Apache-2.0
#include "analysis/mfu/mfu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/mfu/matrix_kernels.hpp"
#include "analysis/mfu/peaks.hpp"

namespace prof {
namespace {

// Below this share of the matrix kernels' time in one type, no single peak is right.
constexpr double least_share = 0.9;

struct counter_mean {
    double sum = 0;
    std::uint64_t values = 0;
    std::optional<double> mean() const {
        if (values == 0) return std::nullopt;
        return sum / static_cast<double>(values);
    }
};

counter_mean read_counter(const timeline& data, std::string_view name) {
    counter_mean out;
    for (const timeline_mark& mark : data.marks) {
        if (data.name(mark.name) != name) continue;
        const std::optional<double> value = counter_value(data, mark);
        if (!value || !std::isfinite(*value) || *value <= 0) continue;
        out.sum += *value;
        ++out.values;
    }
    return out;
}

double share(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void find_gpu(mfu_figures& out, const timeline& data) {
    std::set<std::uint32_t> used;
    for (const gpu_op& op : data.ops) used.insert(data.place_of(op).device);
    out.gpus = static_cast<std::uint32_t>(used.size());
    std::set<std::string_view> names;
    std::uint32_t known = 0;
    for (const device_record& device : data.devices) {
        if (!used.contains(device.device)) continue;
        ++known;
        names.insert(data.name(device.name));
        out.gpu_clock_mhz = device.core_clock_khz / 1000;
    }
    if (names.size() == 1 && known == out.gpus) out.gpu = *names.begin();
}

// Why this GPU has no peak; "": it has.
std::string no_peak(mfu_figures& out, const timeline& data) {
    if (out.gpu.empty()) return "the GPU's name is not known, or the GPUs differ";
    out.peak = find_gpu_peak(out.gpu);
    if (out.peak == nullptr) return fmt::format("no peak is known for {}", out.gpu);
    for (const device_record& device : data.devices) {
        if (data.name(device.name) != out.gpu || device.multiprocessors == 0) continue;
        // A100s and H100s of clouds may have one or two fewer, but not a fraction.
        if (device.multiprocessors != out.peak->multiprocessors) {
            return fmt::format("{} has {} of {} multiprocessors here (MIG, or another variant)", out.gpu,
                               device.multiprocessors, out.peak->multiprocessors);
        }
    }
    return {};
}

// Why these kernels have no one peak; "": they have.
std::string no_type(mfu_figures& out, const matrix_times& times) {
    if (times.matrix_ns == 0) return "no kernel that multiplies matrices was recognised";
    const auto of = [&](matrix_type type) { return times.by_type_ns[static_cast<std::size_t>(type)]; };
    if (of(matrix_type::fp8) + of(matrix_type::int8) + of(matrix_type::fp4) != 0) {
        return "some kernels multiply quantized matrices (FP8, INT8 or FP4), which have another peak";
    }
    if (times.sparse_ns != 0) return "some kernels multiply sparse matrices, which have another peak";
    const auto largest = std::max_element(times.by_type_ns.begin(), times.by_type_ns.end());
    out.type = static_cast<matrix_type>(largest - times.by_type_ns.begin());
    out.type_share = share(*largest, times.matrix_ns);
    if (out.type == matrix_type::unknown || share(of(matrix_type::unknown), times.matrix_ns) > 1 - least_share) {
        return fmt::format("the type of {:.0f} % of the time of kernels that multiply matrices is not known",
                           100 * share(of(matrix_type::unknown), times.matrix_ns));
    }
    if (out.type_share < least_share) {
        return fmt::format("matrices are multiplied in several types: {} for {:.0f} % of the time", to_string(out.type),
                           100 * out.type_share);
    }
    return {};
}

void find_peak(mfu_figures& out, const timeline& data) {
    const matrix_times times = measure_matrix_kernels(data);
    out.matrix_share = share(times.matrix_ns, times.kernels_ns);
    const std::string without_type = no_type(out, times);
    out.reason = no_peak(out, data);
    if (out.reason.empty()) out.reason = without_type;
    if (!out.reason.empty()) return;
    const double tflops = out.peak->tflops(out.type);
    if (tflops == 0) {
        out.reason = fmt::format("no {} peak is known for {}", to_string(out.type), out.gpu);
        return;
    }
    if (out.type == matrix_type::fp16 && out.peak->is_half_by_accumulation && times.fp16_of_unknown_sums_ns != 0) {
        out.reason = fmt::format("some FP16 kernels may accumulate in FP16, which doubles the peak of {}", out.gpu);
        return;
    }
    out.peak_flops = tflops * 1e12 * out.gpus;
}

}  // namespace

mfu_figures measure_mfu(const timeline& data, const std::optional<step_figures>& steps,
                        std::optional<double> declared) {
    mfu_figures out;
    if (steps) {
        out.steps = steps->steps;
        out.step_ns = steps->host_median_ns;
    }
    find_gpu(out, data);
    find_peak(out, data);
    const counter_mean counted = read_counter(data, flops_counter);
    out.flops_per_step = declared ? declared : counted.mean();
    if (declared) {
        out.flops_source = "given by --flops-per-step";
    } else if (out.flops_per_step) {
        out.flops_source = fmt::format("the program's counter {}, mean of {}", flops_counter, counted.values);
    }
    if (out.steps == 0 || out.step_ns <= 0) {
        out.reason = "the capture has no whole step";
        return out;
    }
    const auto rate = [&](std::optional<double> amount) -> std::optional<double> {
        if (!amount) return std::nullopt;
        return *amount / (out.step_ns * 1e-9);
    };
    out.samples_per_s = rate(read_counter(data, samples_counter).mean());
    out.tokens_per_s = rate(read_counter(data, tokens_counter).mean());
    out.flops_per_s = rate(out.flops_per_step);
    if (!out.flops_per_s) {
        out.reason = fmt::format(
            "the FLOPs of a step are not declared (--flops-per-step N, or the program's counter {})", flops_counter);
        return out;
    }
    if (!out.peak_flops) return out;
    const double used = *out.flops_per_s / *out.peak_flops;
    if (used > 1) {
        out.reason = fmt::format(
            "{:.3g} FLOPs a step would be {:.0f} % of the peak: they are not those of one step of this process",
            *out.flops_per_step, 100 * used);
        return out;
    }
    out.mfu = used;
    return out;
}

}  // namespace prof
