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
std::vector<time_share> largest(const std::vector<time_share>& shares) {
    constexpr std::size_t most = 8;
    constexpr std::size_t longest_name = 48;
    std::vector<time_share> out;
    time_share other{.what = "other"};
    for (const time_share& share : shares) {
        // A phase of JAX programs is called "other", too.
        if (!share.what.empty() && share.what != other.what && out.size() < most) {
            out.push_back({shortened(terminal_safe(share.what), longest_name), share.total_ns});
        } else {
            other.total_ns += share.total_ns;
        }
    }
    if (other.total_ns != 0 || out.empty()) out.push_back(std::move(other));
    return out;
}

// ": forward 3.90, backward 6.80, other 1.25". What is shown adds up to the total that is shown: each is rounded down,
// and the units of the last digit that are missing then go to those that lost most.
std::string shares_text(const std::vector<time_share>& all, const step_times& times) {
    const std::vector<time_share> shares = largest(all);
    std::vector<double> shown;
    std::vector<std::pair<double, std::size_t>> lost;
    double left = std::round(times.quanta(static_cast<double>(time_answer::total(all))));
    for (const time_share& share : shares) {
        const double quanta = times.quanta(static_cast<double>(share.total_ns));
        shown.push_back(std::floor(quanta));
        lost.emplace_back(shown.back() - quanta, lost.size());
        left -= shown.back();
    }
    std::sort(lost.begin(), lost.end());
    for (std::size_t i = 0; i < lost.size() && left > 0; ++i, --left) shown[lost[i].second] += 1;
    std::string out;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        if (shown[i] == 0) continue;
        out += fmt::format("{} {} {}", out.empty() ? ":" : ",", shares[i].what, times.text(shown[i]));
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
            return "each is a ProfilerStep#";
        case step_source::recurring:
            break;
    }
    return fmt::format("each begins with {}, which recurs", terminal_safe(steps.range));
}

std::string warm_up_text(const step_figures& steps) {
    if (steps.warm_up == 0) return {};
    return fmt::format("; {} before {} left out", with_thousands(steps.warm_up), steps.warm_up == 1 ? "is" : "are");
}

// What share of a time is busy or idle: "busy 2.15 ms (11.9 %): …".
std::string use_text(std::string_view use, std::string_view on, const std::vector<time_share>& shares,
                     const time_answer& answer, const step_times& times) {
    const std::int64_t total_ns = time_answer::total(shares);
    const auto wall_ns = static_cast<double>(std::max<std::int64_t>(answer.of.wall_ns, 1));
    const bool is_one = shares.size() < 2 && (shares.empty() || shares.front().what == "other");
    return fmt::format("{} {}{} ({}){}", use, times.with_unit(total_ns), on,
                       percent(static_cast<double>(total_ns) / wall_ns),
                       is_one || total_ns == 0 ? std::string() : shares_text(shares, times));
}

// Of all the time that was recorded.
std::string recorded_text(const time_answer& answer) {
    const auto whole_ns = static_cast<double>(answer.of.recorded_ns) * answer.of.devices;
    if (whole_ns <= 0) return {};
    const double share = std::min(1.0, static_cast<double>(answer.of.recorded_busy_ns) / whole_ns);
    return fmt::format("run:  GPU busy {} of the {:.3f} s recorded, idle {}", percent(share),
                       static_cast<double>(answer.of.recorded_ns) / 1e9, percent(1 - share));
}

std::string length_text(const step_figures& steps, const time_answer* answer, const step_times& times) {
    const auto count = static_cast<double>(steps.steps);
    const bool by_gpu = answer != nullptr && answer->of.by_gpu;
    const double median_ns = by_gpu ? answer->of.step_median_ns : steps.host_median_ns;
    const double mean_ns =
        by_gpu ? static_cast<double>(answer->of.wall_ns) / static_cast<double>(answer->of.steps) / answer->of.devices
               : static_cast<double>(steps.host_ns) / count;
    std::string out = fmt::format("step: {}", times.with_unit(median_ns * count));
    if (steps.is_first) {
        out += " (the first, which alone is whole";
    } else {
        out += fmt::format(" (median of {}, mean {}", with_thousands(by_gpu ? answer->of.steps : steps.steps),
                           times(mean_ns * count));
        if (answer != nullptr) {
            out += fmt::format(", {} to {}", times(static_cast<double>(answer->of.step_min_ns) * count),
                               times(static_cast<double>(answer->of.step_max_ns) * count));
            if (mean_ns > 0) {
                out += fmt::format("; {:.{}f} a second", 1e9 / mean_ns, mean_ns < 1e7 ? 0 : mean_ns < 1e8 ? 1 : 2);
            }
        }
    }
    out += fmt::format("; {}", what_steps_are(steps));
    if (by_gpu) out += fmt::format("; on the GPU, since the host ran ahead in {}", times.with_unit(steps.host_ns));
    return out + warm_up_text(steps) + ')';
}

}  // namespace

std::string answer_text(const std::optional<step_figures>& steps, const std::optional<time_answer>& answer,
                        const text_layout& layout) {
    std::string out;
    const auto count = static_cast<double>(steps ? steps->steps : 1);
    double largest_ns = answer ? static_cast<double>(answer->of.wall_ns) : 0;
    if (steps) largest_ns = std::max(largest_ns, static_cast<double>(std::max(steps->host_ns, steps->gpu_sum_ns)));
    const step_times times(std::max(largest_ns / count, steps ? steps->host_median_ns : 0), count);
    if (steps) out += wrapped(length_text(*steps, answer ? &*answer : nullptr, times), layout.width, indent);
    if (!answer) return out;
    const double of = answer->of.has_steps ? static_cast<double>(answer->of.steps) : 1;
    const step_times of_answer(std::max(largest_ns / count, steps ? steps->host_median_ns : 0), of);
    const std::string on = answer->of.devices > 1 ? fmt::format(" on {} GPUs", answer->of.devices) : std::string();
    out += wrapped(use_text("GPU:  busy", on, answer->busy, *answer, of_answer), layout.width, indent);
    out += wrapped(use_text("idle:", {}, answer->idle, *answer, of_answer), layout.width, indent);
    if (!answer->of.has_steps) return out;
    return out + wrapped(recorded_text(*answer), layout.width, indent);
}

std::string gains_text(const report_part& part, const text_layout& layout) {
    if (!part.gains) {
        return part.next.empty() ? std::string()
                                 : wrapped("gain: " + part.next + " looks for it", layout.width, indent);
    }
    const std::vector<priced_change>& gains = part.gains->dearest;
    std::string basis;
    if (part.gains->sampled != 0 && part.step) {
        basis = fmt::format("by {} of {} steps", with_thousands(part.gains->sampled), with_thousands(part.step->steps));
    }
    if (gains.empty()) {
        return wrapped("gain: nothing was found that would make a step 1 % shorter" +
                           (basis.empty() ? std::string() : ", " + basis),
                       layout.width, indent);
    }
    const double step_ns = part.answer ? part.answer->of.step_median_ns : gains.front().gain_ns;
    const step_times times(step_ns, 1);
    std::string out;
    for (const priced_change& gain : gains) {
        out += beginning_of(fmt::format("{} up to {} ({}): {}", out.empty() ? "gain:" : "     ",
                                        times.with_unit(gain.gain_ns), percent(gain.share), gain.title),
                            layout.width) +
               '\n';
    }
    if (!part.next.empty()) {
        basis += fmt::format("{}{}: {}where, and what to try", basis.empty() ? "" : "; ", part.next,
                             basis.empty() ? "" : "by all of them, ");
    }
    if (!basis.empty()) out += wrapped(std::string(indent) + basis, layout.width, indent);
    return out;
}

}  // namespace prof
