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

    std::string_view unit() const noexcept { return unit_.name; }

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

// ": forward 3.90, backward 6.80, other 1.25". What is shown adds up to `sum` quanta: each is rounded down, and the
// units of the last digit that are missing then go to those that lost most.
std::string shares_text(const std::vector<time_share>& all, double sum, const step_times& times) {
    const std::vector<time_share> shares = largest(all);
    std::vector<double> shown;
    std::vector<std::pair<double, std::size_t>> lost;
    double left = sum;
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

// Busy and idle time: as they are shown they add up to the step, and their percentages to 100.
class use_lines {
public:
    use_lines(const time_answer& answer, const step_times& times) : answer_(answer), times_(times) {
        const auto wall_ns = static_cast<double>(answer.of.wall_ns);
        const auto busy_ns = static_cast<double>(time_answer::total(answer.busy));
        whole_quanta_ = std::round(times.quanta(wall_ns));
        busy_quanta_ = std::min(std::round(times.quanta(busy_ns)), whole_quanta_);
        busy_share_ = wall_ns > 0 ? std::round(1000 * busy_ns / wall_ns) / 1000 : 0;
    }

    std::string busy() const {
        const std::string on = answer_.of.devices > 1 ? fmt::format(" on {} GPUs", answer_.of.devices) : std::string();
        return text("GPU:  busy", on, answer_.busy, busy_quanta_, busy_share_);
    }
    std::string idle() const { return text("idle:", {}, answer_.idle, whole_quanta_ - busy_quanta_, 1 - busy_share_); }

private:
    // "busy 2.15 ms (11.9 % of the step): …".
    std::string text(std::string_view use, std::string_view on, const std::vector<time_share>& shares, double quanta,
                     double share) const {
        const bool is_one = shares.size() < 2 && (shares.empty() || shares.front().what == "other");
        return fmt::format("{} {} {}{} ({} of {}){}", use, times_.text(quanta), times_.unit(), on, percent(share),
                           whole(), is_one || quanta == 0 ? std::string() : shares_text(shares, quanta, times_));
    }
    std::string whole() const {
        const std::string_view what = answer_.of.has_steps ? "the step" : "the recording";
        return answer_.of.devices > 1 ? fmt::format("{} x {}", answer_.of.devices, what) : std::string(what);
    }

    const time_answer& answer_;
    const step_times& times_;
    double whole_quanta_ = 0;
    double busy_quanta_ = 0;
    double busy_share_ = 0;
};

// Of all the time that was recorded.
std::string recorded_text(const time_answer& answer) {
    const auto whole_ns = static_cast<double>(answer.of.recorded_ns) * answer.of.devices;
    if (whole_ns <= 0) return {};
    const double share = std::round(1000 * static_cast<double>(answer.of.recorded_busy_ns) / whole_ns) / 1000;
    return fmt::format("run:  GPU busy {} of the {:.3f} s recorded, idle {}", percent(share),
                       static_cast<double>(answer.of.recorded_ns) / 1e9, percent(1 - share));
}

std::string length_text(const step_figures& steps, const step_times& times) {
    const auto count = static_cast<double>(steps.steps);
    std::string out = fmt::format("step: {}", times.with_unit(steps.total_ns));
    if (steps.is_first) {
        out += " (the first, which alone is whole";
    } else if (steps.steps == 1) {
        out += " (one step, which is few";
    } else {
        out += fmt::format(" (mean of {}, median {}, {} to {}", with_thousands(steps.steps),
                           times(steps.median_ns * count), times(static_cast<double>(steps.min_ns) * count),
                           times(static_cast<double>(steps.max_ns) * count));
        if (const double mean_ns = steps.mean_ns(); mean_ns > 0) {
            out += fmt::format("; {:.{}f} a second", 1e9 / mean_ns, mean_ns < 1e7 ? 0 : mean_ns < 1e8 ? 1 : 2);
        }
    }
    return fmt::format("{}; {}{})", out, what_steps_are(steps), warm_up_text(steps));
}

}  // namespace

std::string answer_text(const answer_block& block, const text_layout& layout) {
    const std::optional<step_figures>& steps = block.step;
    const std::optional<time_answer>& answer = block.answer;
    std::string out;
    const double count = steps ? static_cast<double>(steps->steps) : 1;
    double largest_ns = answer ? static_cast<double>(answer->of.wall_ns) : 0;
    if (steps) largest_ns = std::max(largest_ns, static_cast<double>(steps->total_ns));
    if (steps) out += wrapped(length_text(*steps, step_times(largest_ns / count, count)), layout.width, indent);
    if (!answer) return out;
    const step_times times(largest_ns / count, answer->of.has_steps ? static_cast<double>(answer->of.steps) : 1);
    const use_lines lines(*answer, times);
    out += wrapped(lines.busy(), layout.width, indent);
    out += wrapped(lines.idle(), layout.width, indent);
    if (!answer->of.has_steps) return out;
    return out + wrapped(recorded_text(*answer), layout.width, indent);
}

std::string gains_text(const answer_block& answer, const text_layout& layout) {
    if (!answer.gains) {
        return answer.next.empty() ? std::string()
                                   : wrapped("gain: " + answer.next + " looks for it", layout.width, indent);
    }
    const std::vector<priced_change>& gains = answer.gains->dearest;
    std::string basis;
    if (answer.gains->sampled != 0 && answer.step) {
        basis =
            fmt::format("by {} of {} steps", with_thousands(answer.gains->sampled), with_thousands(answer.step->steps));
    }
    if (gains.empty()) {
        return wrapped("gain: nothing was found that would make a step 1 % shorter" +
                           (basis.empty() ? std::string() : ", " + basis),
                       layout.width, indent);
    }
    const double step_ns = answer.step ? answer.step->mean_ns() : gains.front().gain_ns;
    const step_times times(step_ns, 1);
    std::string out;
    for (const priced_change& gain : gains) {
        out += beginning_of(fmt::format("{} up to {} ({} of the step): {}", out.empty() ? "gain:" : "     ",
                                        times.with_unit(gain.gain_ns), percent(gain.share), gain.title),
                            layout.width) +
               '\n';
    }
    if (!answer.next.empty()) {
        basis += fmt::format("{}{}: {}where, and what to try", basis.empty() ? "" : "; ", answer.next,
                             basis.empty() ? "" : "by all of them, ");
    }
    if (!basis.empty()) out += wrapped(std::string(indent) + basis, layout.width, indent);
    return out;
}

}  // namespace prof
