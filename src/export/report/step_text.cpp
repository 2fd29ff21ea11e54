// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/report_text.hpp"
#include "export/report/text_table.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

constexpr std::string_view indent = "      ";  // of a line's continuation

// Times of a step, in one unit, of which hundredths are shown (of microseconds tenths).
class step_times {
public:
    step_times(double largest_ns, double steps)
        : unit_(time_unit::for_largest(static_cast<std::int64_t>(std::min(largest_ns, 1e18)))),
          decimals_(unit_.ns == 1e3 ? 1 : 2),
          quantum_ns_(unit_.ns / quanta_a_unit()),
          steps_(steps) {}

    // `total_ns` of all steps.
    double quanta(double total_ns) const { return std::max(total_ns, 0.0) / steps_ / quantum_ns_; }
    std::string text(double quanta) const {
        const auto [units, rest] = std::lldiv(std::llround(quanta), quanta_a_unit());
        return fmt::format("{}.{:0{}}", with_thousands(static_cast<std::uint64_t>(units)), rest, decimals_);
    }
    template <typename TNumber>
    std::string operator()(TNumber total_ns) const {
        return text(std::round(quanta(static_cast<double>(total_ns))));
    }
    template <typename TNumber>
    std::string with_unit(TNumber total_ns) const {
        return fmt::format("{} {}", (*this)(total_ns), unit_.name);
    }

private:
    int quanta_a_unit() const noexcept { return decimals_ == 1 ? 10 : 100; }

    time_unit unit_;
    int decimals_;
    double quantum_ns_;
    double steps_;
};

// The largest, and all else as one; with at most so many cells for a name.
std::vector<step_part> largest_parts(const step_figures& steps) {
    constexpr std::size_t most = 8;
    constexpr std::size_t longest_name = 40;
    std::vector<step_part> out;
    step_part other{.name = "other"};
    for (const step_part& part : steps.parts) {
        // A phase of JAX programs is called "other", too.
        if (!part.name.empty() && part.name != other.name && out.size() < most) {
            out.push_back({shortened(terminal_safe(part.name), longest_name), part.gpu_sum_ns, part.ops});
        } else {
            other.gpu_sum_ns += part.gpu_sum_ns;
        }
    }
    out.push_back(std::move(other));
    return out;
}

// ": forward 3.90, backward 6.80, other 1.25". What is shown adds up to the total that is shown: each is rounded down,
// and the units of the last digit that are missing then go to those that lost most.
std::string parts_text(const step_figures& steps, const step_times& times) {
    const std::vector<step_part> parts = largest_parts(steps);
    if (parts.size() < 2) return {};
    std::vector<double> shown;
    std::vector<std::pair<double, std::size_t>> lost;
    double left = std::round(times.quanta(static_cast<double>(steps.gpu_sum_ns)));
    for (const step_part& part : parts) {
        const double quanta = times.quanta(static_cast<double>(part.gpu_sum_ns));
        shown.push_back(std::floor(quanta));
        lost.emplace_back(shown.back() - quanta, lost.size());
        left -= shown.back();
    }
    std::sort(lost.begin(), lost.end());
    for (std::size_t i = 0; i < lost.size() && left > 0; ++i, --left) shown[lost[i].second] += 1;
    std::string out;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        out += fmt::format("{} {} {}", out.empty() ? ":" : ",", parts[i].name, times.text(shown[i]));
    }
    return out;
}

std::string what_steps_are(const step_figures& steps) {
    if (!steps.function.empty()) return "each is an execution of " + terminal_safe(steps.function);
    if (steps.witness == optimizer_witness) return "each has the steps of the optimizers";
    if (steps.witness == call_witness) return "each is a call of the outermost module";
    if (steps.witness == annotation_witness) return "each is a step that the program annotates";
    if (steps.witness == profiler_witness) return "each is a ProfilerStep# of the program";
    switch (steps.source) {
        case step_source::counted:
            return "as prof_step or step_range counts";
        case step_source::observed:
            return "as observed";
        case step_source::profiler:
            break;
    }
    return "each is a ProfilerStep#";
}

}  // namespace

std::string step_text(const step_figures& steps, const text_layout& layout) {
    const auto count = static_cast<double>(steps.steps);
    const auto largest_ns = static_cast<double>(std::max(steps.host_ns, steps.gpu_sum_ns)) / count;
    const step_times times(std::max(largest_ns, steps.host_median_ns), count);
    std::string length = fmt::format("step: {}", times.with_unit(steps.host_median_ns * count));
    if (steps.is_first) {
        length += " (the first, which alone is whole";
    } else {
        length += fmt::format(" (median of {}, mean {}", with_thousands(steps.steps), times(steps.host_ns));
    }
    length += fmt::format("; {})", what_steps_are(steps));
    std::string out = wrapped(length, layout.width, indent);
    if (!steps.has_gpu) return out;

    std::string gpu = "GPU:  busy " + times.with_unit(steps.gpu_busy_ns);
    if (steps.devices > 1) gpu += fmt::format(" on {} GPUs", steps.devices);
    const double possible_ns = static_cast<double>(steps.host_ns) * std::max(steps.devices, 1U);
    if (static_cast<double>(steps.gpu_busy_ns) <= possible_ns) {
        gpu +=
            fmt::format(" ({})", percent(possible_ns > 0 ? static_cast<double>(steps.gpu_busy_ns) / possible_ns : 0));
    } else {
        gpu += " (more than the step is long: the host ran ahead)";
    }
    if (times(steps.gpu_busy_ns) != times(steps.gpu_sum_ns)) gpu += ", operations " + times(steps.gpu_sum_ns);
    return out + wrapped(gpu + parts_text(steps, times), layout.width, indent);
}

}  // namespace prof
