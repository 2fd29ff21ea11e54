// SPDX-License-Identifier: Apache-2.0
#include "analysis/steps/step_figures.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/steps/lost_work.hpp"
#include "analysis/steps/step_parts.hpp"
#include "analysis/steps/step_search.hpp"
#include "base/statistics.hpp"

namespace prof {
namespace {

class step_meter {
public:
    step_meter(const timeline& data, const attribution& att, const whole_steps& of)
        : data_(data), step_by_time_(of.steps), part_of_(data, att, of, of.source != step_source::recurring) {}

    void run(step_figures& out) {
        std::vector<op_id> counted;
        for (const op_id i : data_.ops.ids()) {
            if (data_.ops[i].launch == npos) continue;
            out.has_gpu = true;
            if (step_by_time_.at(data_.api_calls[data_.ops[i].launch].start_ns) != npos) counted.push_back(i);
        }
        // By device, and by start within a device, as busy_time requires.
        const auto device = [&](op_id op) { return data_.place_of(data_.ops[op]).device; };
        const auto is_lower = [&](op_id a, op_id b) { return device(a) < device(b); };
        if (!std::is_sorted(counted.begin(), counted.end(), is_lower)) {
            std::stable_sort(counted.begin(), counted.end(), is_lower);
        }
        busy_time busy;
        op_id latest;
        for (const op_id op : counted) {
            const gpu_op& of = data_.ops[op];
            if (latest == npos || device(latest) != device(op)) ++out.devices;
            latest = op;
            busy.add(device(op), of.start_ns, of.end_ns);
            step_part& part = parts_[part_of_.of(op)];
            part.gpu_sum_ns += of.end_ns - of.start_ns;
            part.ops += 1;
            out.gpu_sum_ns += of.end_ns - of.start_ns;
            out.ops += 1;
        }
        out.gpu_busy_ns = busy.total_ns();
        if (out.has_gpu) out.parts = take_parts();
    }

private:
    std::vector<step_part> take_parts() {
        std::vector<step_part> out;
        for (auto& [number, part] : parts_) {
            if (number == 0) continue;
            part.name = part_of_.name(number);
            out.push_back(part);
        }
        std::stable_sort(out.begin(), out.end(),
                         [](const step_part& a, const step_part& b) { return a.gpu_sum_ns > b.gpu_sum_ns; });
        out.push_back(parts_[0]);
        return out;
    }

    const timeline& data_;
    step_search step_by_time_;
    step_parts part_of_;
    std::map<std::uint32_t, step_part> parts_;
};

}  // namespace

std::optional<step_figures> measure_steps(const timeline& data, const attribution& att, std::string_view step_function,
                                          const whole_steps* chosen) {
    whole_steps found = chosen != nullptr ? *chosen : steps_that_count(data, att, !step_function.empty());
    if (found.steps.empty()) return {};
    step_figures out;
    out.is_first = found.steps.size() == 1 && found.steps.front().is_first;
    out.steps = found.steps.size();
    out.warm_up = found.warm_up;
    out.source = found.source;
    out.witness = found.witness;
    out.range = found.range;
    if (found.source == step_source::observed) out.function = step_function;
    std::vector<std::int64_t> lengths_ns = lengths_of(found.steps);
    out.total_ns = total_length(found.steps);
    const auto [shortest, longest] = std::minmax_element(lengths_ns.begin(), lengths_ns.end());
    out.min_ns = *shortest;
    out.max_ns = *longest;
    out.median_ns = median(std::move(lengths_ns));
    std::vector<std::int64_t> on_host_ns;
    for (const whole_step& step : found.steps) {
        on_host_ns.push_back(step.end_ns - step.start_ns);
        out.host_ns += on_host_ns.back();
    }
    out.host_median_ns = median(std::move(on_host_ns));
    if (launches_of_lost_work(data, found.steps) == 0) step_meter(data, att, found).run(out);
    out.whole = std::move(found);
    return out;
}

}  // namespace prof
