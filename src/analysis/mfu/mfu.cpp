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
    for (const timeline_series& counter : data.series) {
        if (counter.source != series_source::counter || counter.name != name) continue;
        for (const series_sample& sample : counter.samples) {
            if (!std::isfinite(sample.value) || sample.value <= 0) continue;
            out.sum += sample.value;
            ++out.values;
        }
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
        names.insert(data.name(name_id(device.name)));
        out.gpu_clock_mhz = device.core_clock_khz / 1000;
    }
    if (names.size() == 1 && known == out.gpus) out.gpu = *names.begin();
}

constexpr std::string_view quantized =
    "some kernels multiply quantized matrices (FP8, INT8 or FP4), which have another peak";
constexpr std::string_view sparse = "some kernels multiply sparse matrices, which have another peak";

std::string unknown_sums(const mfu_figures& of) {
    return fmt::format("some FP16 kernels may accumulate in FP16, which doubles the peak of {}", of.gpu);
}

// Why this GPU has no peak; "": it has.
std::string no_peak(mfu_figures& out, const timeline& data) {
    if (out.gpu.empty()) return "the GPU's name is not known, or the GPUs differ";
    out.peak = find_gpu_peak(out.gpu);
    if (out.peak == nullptr) return fmt::format("no peak is known for {}", out.gpu);
    for (const device_record& device : data.devices) {
        if (data.name(name_id(device.name)) != out.gpu || device.multiprocessors == 0) continue;
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
        return std::string(quantized);
    }
    if (times.sparse_ns != 0) return std::string(sparse);
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
        out.reason = unknown_sums(out);
        return;
    }
    out.peak_flops = tflops * 1e12 * out.gpus;
}

// Why the operations with known shapes have no peak; "": they have. Those of each type count by its own peak, so that
// types may be mixed. `ideal_s`: the time that they take at the peaks.
std::string no_peak_by_type(const mfu_figures& of, double& ideal_s) {
    const shape_flops& shapes = of.shapes;
    const auto in = [&](matrix_type type) { return shapes.by_type[static_cast<std::size_t>(type)]; };
    if (in(matrix_type::fp8) + in(matrix_type::int8) + in(matrix_type::fp4) != 0) return std::string(quantized);
    if (shapes.has_sparse) return std::string(sparse);
    if (in(matrix_type::unknown) > (1 - least_share) * shapes.flops) {
        return fmt::format("the type in which {:.0f} % of the FLOPs were multiplied is not known",
                           100 * in(matrix_type::unknown) / shapes.flops);
    }
    for (std::size_t i = 0; i < matrix_types; ++i) {
        const auto type = static_cast<matrix_type>(i);
        if (in(type) == 0 || type == matrix_type::unknown) continue;
        const double tflops = of.peak->tflops(type);
        if (tflops == 0) return fmt::format("no {} peak is known for {}", to_string(type), of.gpu);
        ideal_s += in(type) / (tflops * 1e12 * of.gpus);
    }
    if (of.peak->is_half_by_accumulation && shapes.has_unknown_sums) return unknown_sums(of);
    return {};
}

std::string above_peak(double flops, double used) {
    return fmt::format(
        "{:.3g} FLOPs a step would be {:.0f} % of the peak: they are not those of one step of this process", flops,
        100 * used);
}

// Why no shape is known.
std::string no_shapes(const timeline& data) {
    constexpr std::string_view where = "a trace of torch.profiler with record_shapes=True has them";
    if (data.property("trace").empty()) return fmt::format("shapes were not recorded: {}", where);
    if (data.multiplications.list.empty()) return "no operator of PyTorch multiplies matrices in the trace";
    return fmt::format("the trace has no shapes: {}", where);
}

void use_shapes(mfu_figures& out, const timeline& data) {
    const shape_flops& shapes = out.shapes;
    if (!shapes.has_shapes) {
        out.shape_reason = no_shapes(data);
        return;
    }
    if (shapes.flops == 0) {
        out.shape_reason = fmt::format("no multiplication of known shape put work on a GPU in these steps{}",
                                       shapes.unknown == 0 ? "" : fmt::format(", and {} of unknown", shapes.unknown));
        return;
    }
    const auto count = static_cast<double>(shapes.steps);
    const double step_s = out.step_ns * 1e-9;
    out.shape_flops_per_s = shapes.flops / count / step_s;
    out.shape_reason = no_peak(out, data);
    if (!out.shape_reason.empty()) return;
    double ideal_s = 0;
    out.shape_reason = no_peak_by_type(out, ideal_s);
    if (!out.shape_reason.empty()) return;
    const double used = ideal_s / count / step_s;
    if (used > 1) {
        out.shape_reason = above_peak(shapes.flops / count, used);
    } else {
        out.shape_mfu = used;
    }
}

void use_declared(mfu_figures& out) {
    out.flops_per_s = *out.flops_per_step / (out.step_ns * 1e-9);
    if (!out.peak_flops) return;
    const double used = *out.flops_per_s / *out.peak_flops;
    if (used > 1) {
        out.reason = above_peak(*out.flops_per_step, used);
    } else {
        out.mfu = used;
    }
}

void use_shapes_alone(mfu_figures& out) {
    if (out.shapes.flops != 0) {
        out.flops_per_s = out.shape_flops_per_s;
        out.mfu = out.shape_mfu;
        out.reason = out.shape_reason;
        return;
    }
    out.reason =
        fmt::format("the FLOPs of a step are not declared (--flops-per-step N, or the program's counter {}); {}",
                    flops_counter, out.shape_reason);
}

// In streams beside those that make the steps as long as they are. By more than the times of a trace are rounded, which
// makes work of two steps overlap by a few nanoseconds.
bool has_more_gpu_work_than_time(const step_figures& of) noexcept {
    constexpr std::int64_t rounding_ns = 10;  // of a step
    const std::int64_t most_ns = of.total_ns + rounding_ns * static_cast<std::int64_t>(of.steps);
    return of.gpu_busy_ns > most_ns * static_cast<std::int64_t>(of.devices);
}

}  // namespace

mfu_figures measure_mfu(const timeline& data, const std::optional<step_figures>& steps, std::optional<double> declared,
                        const shape_flops& shapes) {
    mfu_figures out;
    out.shapes = shapes;
    if (steps) {
        out.steps = steps->steps;
        out.step_ns = steps->mean_ns();
    }
    find_gpu(out, data);
    find_peak(out, data);
    const counter_mean counted = read_counter(data, flops_counter);
    out.flops_per_step = declared ? declared : counted.mean();
    out.is_declared = out.flops_per_step.has_value();
    if (declared) {
        out.flops_source = "given by --flops-per-step";
    } else if (out.flops_per_step) {
        out.flops_source = fmt::format("the program's counter {}, mean of {}", flops_counter, counted.values);
    } else if (shapes.flops != 0) {
        out.flops_per_step = shapes.flops / static_cast<double>(shapes.steps);
        out.flops_source = "the shapes of its multiplications";
    }
    if (out.steps == 0 || out.step_ns <= 0) {
        out.reason = "the capture has no whole step";
        return out;
    }
    if (has_more_gpu_work_than_time(*steps)) {
        out.reason = fmt::format("the GPU's work of these steps takes {:.3g} ms a step, more than they last",
                                 static_cast<double>(steps->gpu_busy_ns) / static_cast<double>(steps->devices) /
                                     static_cast<double>(steps->steps) * 1e-6);
        return out;
    }
    const auto rate = [&](std::optional<double> amount) -> std::optional<double> {
        if (!amount) return std::nullopt;
        return *amount / (out.step_ns * 1e-9);
    };
    out.samples_per_s = rate(read_counter(data, samples_counter).mean());
    out.tokens_per_s = rate(read_counter(data, tokens_counter).mean());
    use_shapes(out, data);
    out.is_declared ? use_declared(out) : use_shapes_alone(out);
    return out;
}

}  // namespace prof
