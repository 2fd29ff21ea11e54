// SPDX-License-Identifier: Apache-2.0
#include "export/report/finding_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/gain_words.hpp"
#include "export/report/screen/screen_numbers.hpp"
#include "report/capture_diagnosis.hpp"

namespace prof {
namespace {

constexpr double least_unexplained = 0.1;  // of the path: less is not mentioned in the heading

std::string percent_of(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.01 ? 1 : 0); }

std::string a_step(const diagnosis& of) { return of.has_steps ? " a step" : ""; }

std::string counted(std::uint64_t count, std::string_view what) {
    return fmt::format("{} {}{}", with_thousands(count), what, count == 1 ? "" : "s");
}

// "CPU code, outside ranges" with the words of rows. Ready for a terminal.
std::string shown_part(const finding_part& part, bool has_steps) {
    constexpr std::string_view none = "outside ranges";
    const std::string_view what = part.what;
    const bool is_outside = part.place.empty();
    const std::string_view named = is_outside ? none : std::string_view(part.place);
    const std::size_t at = is_outside && !has_steps ? std::string_view::npos : what.rfind(named);
    if (at == std::string_view::npos) return terminal_safe(what);
    return terminal_safe(what.substr(0, at)) + (is_outside ? "in " : "") + terminal_safe(place_name(part.place)) +
           terminal_safe(what.substr(at + named.size()));
}

class finding_text {
public:
    explicit finding_text(const findings_block& block)
        : of_(block.found),
          changes_(block.changes.dearest),
          begin_ns_(block.begin_ns),
          unit_(screen_unit::for_step(of_.step_ns)) {}

    std::vector<std::string> lines() {
        if (of_.steps == 0) {
            lines_.push_back("Diagnosis: " + (of_.not_looked.empty() ? "nothing to examine" : of_.not_looked.front()));
            return std::move(lines_);
        }
        lines_.push_back(heading());
        for (const std::string& line : of_.remarks) lines_.push_back("Note: " + terminal_safe(line));
        for (std::size_t i = 0; i < of_.findings.size(); ++i) add(i + 1, of_.findings[i]);
        lines_.emplace_back();
        if (of_.findings.size() > 1) {
            lines_.push_back(
                fmt::format("All together at most {}: gains overlap, and do not add up. The page (prof open) has the "
                            "step that any of them leave together.",
                            price(of_.together_ns)));
        }
        if (!of_.looked.empty()) {
            lines_.push_back(fmt::format("Looked, and found nothing above {}{}: {}.", percent_of(of_.least_share),
                                         of_.has_steps ? " of a step" : "", fmt::join(of_.looked, ", ")));
        }
        for (const std::string& line : of_.not_looked) lines_.push_back("Could not look: " + terminal_safe(line));
        return std::move(lines_);
    }

private:
    std::string heading() const {
        std::string out = of_.has_steps
                              ? fmt::format("Diagnosis of {} of {}", counted(of_.steps, "step"), ms(of_.step_ns))
                              : fmt::format("Diagnosis of {} of recording", ms(of_.step_ns));
        if (of_.warm_up != 0) out += fmt::format(" (without {} of warm-up)", of_.warm_up);
        if (of_.findings.empty()) out += ": nothing to gain was found";
        if (!of_.bound_by.empty()) out += "; bound by " + terminal_safe(of_.bound_by);
        const double unexplained = static_cast<double>(of_.unexplained_ns) / static_cast<double>(of_.path_ns);
        if (of_.path_ns > 0 && unexplained >= least_unexplained) {
            out += fmt::format("; {:.0f} % of the critical path is not explained", 100 * unexplained);
        }
        return out;
    }

    void add(std::size_t number, const finding& found) {
        lines_.emplace_back();
        const std::string what =
            number <= changes_.size() ? gain_text(changes_[number - 1], widest) : terminal_safe(found.title);
        lines_.push_back(fmt::format("{}. {}: at most {}", number, what, price(found.gain_ns)));
        lines_.push_back(fmt::format("   {} takes {}{}{}; confidence: {}", found.rule, cost_of(found.cost_ns),
                                     sum_of(found), steps_of(found), to_string(found.trust)));
        for (const finding_part& part : found.parts) {
            lines_.push_back(
                fmt::format("   - {}: {}, {}; the longest {}, at {:.6f} s",
                            shortened(shown_part(part, of_.has_steps), widest_part) + terminal_safe(line_of(part)),
                            cost_of(part.cost_ns), times_of(part.count), ms(static_cast<double>(part.longest_ns)),
                            static_cast<double>(part.longest_at_ns - begin_ns_) / 1e9));
        }
        if (!found.modules.empty()) {
            lines_.push_back("   modules: " + terminal_safe(fmt::format("{}", fmt::join(found.modules, ", "))));
        }
        if (found.did.is_known()) lines_.push_back("   the thread: " + terminal_safe(states_of(found)));
        lines_.push_back("   price: " + found.bound);
        for (const std::string& line : found.advice) lines_.push_back("   try: " + line);
    }

    std::string ms(double ns) const { return unit_.with_unit(unit_.quanta(ns)); }
    std::string price(std::int64_t total_ns) const {
        return fmt::format("{}{} ({})", ms(of_.per_step(total_ns)), a_step(of_), percent_of(of_.share_of(total_ns)));
    }

    // ", train.py:57 (train → Tensor.item)"; empty: the line is not known.
    static std::string line_of(const finding_part& part) {
        if (part.line.empty()) return {};
        return ", " + part.line + (part.code.empty() ? "" : " (" + shortened(part.code, widest_part) + ")");
    }

    // "3.9 ms running, 0.2 ms blocked (reading a pipe) a step".
    std::string states_of(const finding& found) const {
        constexpr double least = 0.005;
        std::string out;
        const auto add = [&](double share, std::string_view what) {
            if (share < least) return;
            if (!out.empty()) out += ", ";
            out += ms(share * of_.per_step(found.cost_ns)) + " ";
            out += what;
        };
        const std::string& by = found.did.blocked_in;
        add(found.did.ran, "running");
        add(found.did.waited, "waiting for a CPU");
        add(found.did.blocked, by.empty() ? std::string("blocked") : "blocked (" + by + ")");
        return out + " of " + cost_of(found.cost_ns) + ", by samples";
    }

    std::string cost_of(std::int64_t total_ns) const { return ms(of_.per_step(total_ns)) + a_step(of_); }

    // Of a step as the costs: "in 3.2 calls a step".
    std::string times_of(std::uint64_t count) const {
        if (!of_.has_steps) return counted(count, "time");
        const double each = of_.per_step(static_cast<std::int64_t>(count));
        if (each == 1) return "once a step";
        if (each >= 9.95 || each == std::floor(each)) {
            return counted(static_cast<std::uint64_t>(std::llround(each)), "time") + " a step";
        }
        if (each < 0.0095) return fmt::format("{} in {} steps", counted(count, "time"), with_thousands(of_.steps));
        return fmt::format("{:.{}f} times a step", each, each < 0.095 ? 2 : 1);
    }

    // One thread, or one stream, cannot spend more than the steps' time.
    std::string sum_of(const finding& found) const {
        const bool is_sum = found.cost_ns > std::max({of_.wall_ns, of_.path_ns, of_.replayed_ns});
        return is_sum ? " (of threads or streams that run at the same time, together)" : "";
    }

    std::string steps_of(const finding& found) const {
        if (!of_.has_steps) return {};
        return fmt::format(", in {} of {}", with_thousands(found.steps), counted(of_.steps, "step"));
    }

    static constexpr std::size_t widest = 100;      // of a title, in cells
    static constexpr std::size_t widest_part = 80;  // of a place, and of what its line was doing

    const diagnosis& of_;
    const std::vector<priced_change>& changes_;  // by finding
    std::int64_t begin_ns_;
    screen_unit unit_;
    std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> finding_lines(const findings_block& block) { return finding_text(block).lines(); }

}  // namespace prof
