// SPDX-License-Identifier: Apache-2.0
#include "analysis/mfu/shape_flops.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/mfu/matrix_kernels.hpp"
#include "analysis/mfu/operator_flops.hpp"

namespace prof {
namespace {

constexpr std::size_t no_step = SIZE_MAX;

std::size_t index_of(matrix_type type) noexcept { return static_cast<std::size_t>(type); }

// A call of an operator, with what its kernels' names show.
struct measured_call {
    matrix_call at{};
    std::optional<double> flops{};
    matrix_type type = matrix_type::unknown;
    bool contains_counted = false;  // calls whose operations are known
    bool has_gpu_work = false;
    bool is_sparse = false;
    bool may_sum_in_fp16 = false;
    std::array<bool, matrix_types> kernels{};
};

class shape_meter {
public:
    shape_meter(const timeline& data, std::span<const whole_step> steps) : data_(data), steps_(steps) {}

    shape_flops run() {
        out_.steps = steps_.size();
        const std::vector<operator_arguments>& arguments = data_.multiplications.arguments;
        out_.has_shapes =
            std::any_of(arguments.begin(), arguments.end(), [](const auto& of) { return !of.list.empty(); });
        if (!out_.has_shapes || steps_.empty()) return out_;
        for (const operator_arguments& of : arguments) {
            flops_.push_back(flops_of(of));
            types_.push_back(type_of_operands(of));
        }
        choose_calls();
        for (const gpu_op& op : data_.ops) add_work(op);
        for (const measured_call& call : calls_) add(call);
        const auto [least, most] = std::minmax_element(by_step_.begin(), by_step_.end());
        out_.differs = least != by_step_.end() && *least != *most;
        return out_;
    }

private:
    // Sorted by thread, then by start, what contains another one first. Those within one that is known are left out.
    void choose_calls() {
        std::vector<matrix_call> sorted = data_.multiplications.list;
        const auto key = [](const matrix_call& of) { return std::tuple(of.thread, of.start_ns, -of.end_ns); };
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](const matrix_call& a, const matrix_call& b) { return key(a) < key(b); });
        std::vector<std::size_t> open;
        for (const matrix_call& at : sorted) {
            while (!open.empty() && !contains(calls_[open.back()].at, at)) open.pop_back();
            if (!open.empty() && calls_[open.back()].flops) continue;
            measured_call& call = calls_.emplace_back();
            call.at = at;
            call.flops = flops_[at.arguments];
            call.type = types_[at.arguments];
            if (call.flops) {
                for (const std::size_t around : open) calls_[around].contains_counted = true;
            }
            open.push_back(calls_.size() - 1);
        }
    }

    static bool contains(const matrix_call& outer, const matrix_call& inner) noexcept {
        return outer.thread == inner.thread && inner.start_ns < outer.end_ns;
    }

    // The innermost call that was open on the thread at this time; null: none.
    measured_call* call_at(thread_id thread, std::int64_t ns) {
        const auto after = std::upper_bound(calls_.begin(), calls_.end(), std::pair(thread, ns),
                                            [](const auto& wanted, const measured_call& call) {
                                                return wanted < std::pair(call.at.thread, call.at.start_ns);
                                            });
        // Calls of unknown operations may contain others, few deep.
        constexpr std::ptrdiff_t most_back = 8;
        for (std::ptrdiff_t back = 1; back <= std::min(after - calls_.begin(), most_back); ++back) {
            measured_call& call = *(after - back);
            if (call.at.thread == thread && ns < call.at.end_ns) return &call;
        }
        return nullptr;
    }

    std::size_t step_at(std::int64_t ns) const noexcept {
        const auto after = std::upper_bound(steps_.begin(), steps_.end(), ns,
                                            [](std::int64_t at, const whole_step& step) { return at < step.start_ns; });
        if (after == steps_.begin() || ns >= (after - 1)->end_ns) return no_step;
        return static_cast<std::size_t>(after - steps_.begin()) - 1;
    }

    void add_work(const gpu_op& op) {
        if (op.launch == npos) return;
        const timeline_api_call& launch = data_.api_calls[op.launch];
        measured_call* const call = call_at(launch.thread, launch.start_ns);
        if (call != nullptr) call->has_gpu_work = true;
        if (op.kind != op_kind::kernel) return;
        const auto [known, is_new] = kernels_.try_emplace(name_id(data_.kernels[op.detail].name));
        if (is_new) known->second = matrix_kernel_of(data_.kernel_symbol(op));
        if (!known->second) return;
        const matrix_kernel& kernel = *known->second;
        if (step_at(call != nullptr ? call->at.start_ns : launch.start_ns) != no_step) {
            out_.matrix_ns += op.end_ns - op.start_ns;
            if (call != nullptr && call->flops) out_.covered_ns += op.end_ns - op.start_ns;
        }
        if (call == nullptr) return;
        call->kernels[index_of(kernel.type)] = true;
        call->is_sparse = call->is_sparse || kernel.is_sparse;
        if (!kernel.accumulates_in_fp32) call->may_sum_in_fp16 = true;
    }

    // FP32 operands may be multiplied as TF32, or in parts of a shorter type: the kernels' names show it.
    static matrix_type type_of(const measured_call& call) noexcept {
        if (call.type != matrix_type::fp32) return call.type;
        matrix_type out = matrix_type::unknown;
        for (std::size_t i = 0; i < matrix_types; ++i) {
            if (!call.kernels[i]) continue;
            if (out != matrix_type::unknown) return matrix_type::unknown;
            out = static_cast<matrix_type>(i);
        }
        return out == matrix_type::fp32 || out == matrix_type::tf32 ? out : matrix_type::unknown;
    }

    void add(const measured_call& call) {
        const std::size_t step = step_at(call.at.start_ns);
        if (step == no_step || !call.has_gpu_work) return;
        if (!call.flops) {
            if (!call.contains_counted) ++out_.unknown;
            return;
        }
        const matrix_type type = type_of(call);
        ++out_.calls;
        out_.flops += *call.flops;
        out_.by_type[index_of(type)] += *call.flops;
        by_step_[step] += *call.flops;
        out_.has_sparse = out_.has_sparse || call.is_sparse;
        const bool names_no_kernel =
            std::none_of(call.kernels.begin(), call.kernels.end(), [](bool has) { return has; });
        if (type == matrix_type::fp16 && (call.may_sum_in_fp16 || names_no_kernel)) out_.has_unknown_sums = true;
    }

    const timeline& data_;
    std::span<const whole_step> steps_;
    // By the index of the arguments.
    std::vector<std::optional<double>> flops_{};
    std::vector<matrix_type> types_{};
    std::vector<measured_call> calls_{};
    std::vector<double> by_step_ = std::vector<double>(steps_.size());
    std::unordered_map<name_id, std::optional<matrix_kernel>> kernels_{};
    shape_flops out_{};
};

}  // namespace

shape_flops measure_shape_flops(const timeline& data, std::span<const whole_step> steps) {
    return shape_meter(data, steps).run();
}

}  // namespace prof
