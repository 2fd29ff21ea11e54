// SPDX-License-Identifier: Apache-2.0
#include "export/report/screen/first_screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "base/apportioned.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "export/report/gain_words.hpp"
#include "export/report/screen/screen_blocks.hpp"
#include "export/report/screen/screen_numbers.hpp"
#include "export/report/text_style.hpp"
#include "record/label.hpp"

namespace prof {
namespace {

constexpr double much_of_step = 0.9;     // busy: then the GPU is the limit
constexpr std::size_t least_lines = 12;  // below it, or below least_width, the screen is four lines
constexpr std::size_t least_width = 60;
constexpr std::string_view continuation = "      ";
constexpr std::size_t most_opened = 30;  // rows inside others, on a screen without end

std::string base_name(std::string_view word) {
    const std::size_t slash = word.find_last_of('/');
    return std::string(slash == std::string_view::npos ? word : word.substr(slash + 1));
}

std::string gpus_text(const captured_process& process) {
    if (process.ops == 0) return process.gpus.empty() ? "no GPU" : "no GPU work";
    std::map<std::string, std::size_t> names;
    for (const std::string& gpu : process.used_gpus) ++names[gpu.empty() ? "GPU" : gpu];
    std::string out;
    for (const auto& [name, count] : names) {
        if (!out.empty()) out += ", ";
        out += count == 1 ? terminal_safe(name) : fmt::format("{} x {}", count, terminal_safe(name));
    }
    return out;
}

// What the GPU waits for, by the largest cause of its idle time.
std::string_view reason_of(step_column cause) noexcept {
    switch (cause) {
        case step_column::launches:
            return "waiting for launches";
        case step_column::cpu_code:
            return "waiting for CPU code";
        case step_column::syncs:
            return "while the CPU waits for it";
        case step_column::unpinned_copies:
            return "waiting for unpinned copies";
        case step_column::memory_calls:
            return "waiting for memory calls";
        case step_column::compilation:
            return "waiting for compilation";
        case step_column::short_gaps:
            return "in short gaps";
        default:
            break;
    }
    return "for reasons not recorded";
}

class screen {
public:
    screen(const report_document& document, const answer_block& answer, const screen_layout& layout)
        : document_(document), answer_(answer), layout_(layout), table_(*answer.where, layout) {}

    std::vector<std::string> lines() {
        if (layout_.lines < least_lines || layout_.width < least_width) return small();
        collect_gains();
        std::vector<std::string> warnings = warning_lines();
        const std::vector<std::string> next = next_lines();
        const std::string bar = table_.bar();
        const std::string lost = lost_text();
        const bool has_gains = answer_.gains.has_value() && answer_.where->has_steps;

        // What every screen has; then lines go to what matters next, as long as there are any.
        std::size_t used = 1 + warnings.size() + 2 + (bar.empty() ? 0 : 1) + (lost.empty() ? 0 : 1) +
                           table_.head_lines() + 1 + next.size();
        if (has_gains) used += gains_.empty() ? 1 : 2 + (gains_.front()->brief_advice.empty() ? 0 : 1);
        std::size_t left = layout_.lines > used ? layout_.lines - used : 0;
        const auto take = [&](std::size_t wanted) {
            const std::size_t taken = std::min(wanted, left);
            left -= taken;
            return taken;
        };
        std::size_t rows = std::max<std::size_t>(take(table_.least_rows()), 1);
        std::size_t gains = has_gains && !gains_.empty() ? 1 + take(std::min<std::size_t>(gains_.size() - 1, 2)) : 0;
        const std::string run = run_text();
        const bool has_run = !run.empty() && take(1) == 1;
        const std::string memory = memory_text();
        const bool has_memory = !memory.empty() && take(1) == 1;
        const std::string uneven = uneven_text();
        const bool has_uneven = !uneven.empty() && take(1) == 1;
        const bool blank_below = take(1) == 1;
        const bool blank_above = take(1) == 1;
        const bool is_whole = layout_.lines == SIZE_MAX;
        // What large rows consist of comes before small rows: on a screen without end all of them are shown.
        const std::size_t most_rows = is_whole ? table_.all_rows() + most_opened : rows + left;
        const std::vector<std::string> table = table_.lines(most_rows, is_whole ? SIZE_MAX : rows);
        const std::size_t more_rows = table.size() - std::min(table.size(), rows + table_.head_lines() + 1);
        take(more_rows);
        // What is left then: the advice of further gains, further gains, and an empty line.
        const std::size_t more_advice = gains > 1 ? take(gains - 1) : 0;
        const bool blank_before_next = take(1) == 1;
        constexpr std::size_t most_more = 3;
        std::size_t advice = gains == 0 ? 0 : 1 + more_advice;
        const std::size_t more_gains = gains_.size() > gains ? gains_.size() - gains : 0;
        for (std::size_t i = 0; i < (is_whole ? more_gains : std::min(more_gains, most_more)) && left > 1; ++i) {
            take(2);
            ++gains;
            ++advice;
        }

        std::vector<std::string> out;
        out.push_back(prof_line());
        for (std::string& line : warnings) out.push_back(std::move(line));
        out.push_back(step_line());
        if (has_uneven) out.push_back(uneven);
        if (!lost.empty()) out.push_back(lost);
        out.push_back(table_.has_gpu() ? gpu_line() : cpu_line());
        if (has_run) out.push_back(run);
        if (has_memory) out.push_back(memory);
        if (!bar.empty()) out.push_back(bar);
        if (blank_above) out.emplace_back();
        out.insert(out.end(), table.begin(), table.end());
        if (blank_below) out.emplace_back();
        if (has_gains) add_gains(gains, advice, out);
        if (blank_before_next && !out.back().empty()) out.emplace_back();
        out.insert(out.end(), next.begin(), next.end());
        fit_lines(out, layout_);
        return out;
    }

    screen_blocks blocks() {
        collect_gains();
        screen_blocks out{.program = short_command(document_.capture), .gpus = gpus_of_screen()};
        const auto add_fact = [&](std::string_view line) {
            if (line.empty()) return;
            const std::size_t word = line.find(' ');
            const std::size_t rest = std::min(line.find_first_not_of(' ', word), line.size());
            out.facts.emplace_back(line.substr(0, word), line.substr(rest));
        };
        add_fact(step_line());
        if (const std::string uneven = uneven_text(); !uneven.empty()) {
            out.facts.back().second += "; " + uneven.substr(continuation.size());
        }
        add_fact(lost_text());
        add_fact(table_.has_gpu() ? gpu_line() : cpu_line());
        add_fact(run_text());
        add_fact(memory_text());
        out.bar = table_.bar_parts();
        out.table = table_.grid(table_.all_rows() + most_opened);
        if (answer_.gains && answer_.where->has_steps) {
            out.gains_heading = gains_heading(gains_.size());
            std::string said;
            for (const priced_change* const gain : gains_) {
                const bool is_new = gain->brief_advice != said;
                if (!gain->brief_advice.empty()) said = gain->brief_advice;
                out.gains.push_back({.time = unit().with_unit(unit().quanta(gain->gain_ns)),
                                     .share = fmt::format("{:.0f} %", 100 * gain->share),
                                     .what = gain_text(*gain, layout_.width),
                                     .advice = is_new ? gain->brief_advice : std::string()});
            }
        }
        if (const std::vector<std::string> next = next_lines(); !next.empty()) {
            constexpr std::string_view first = "next: ";
            out.next = next.front().substr(first.size());
        }
        return out;
    }

private:
    std::vector<std::string> small() {
        collect_gains();
        const std::string lost = lost_text();
        std::vector<std::string> out{step_line(), table_.has_gpu() ? gpu_line() : lost.empty() ? cpu_line() : lost};
        if (!gains_.empty()) out.push_back(gain_line(*gains_.front()));
        for (std::string& line : next_lines()) out.push_back(std::move(line));
        fit_lines(out, layout_);
        if (out.size() > layout_.lines) out.resize(std::max<std::size_t>(layout_.lines, 1));
        return out;
    }

    // In the order of the diagnosis, without those that would be shown as 0 %.
    void collect_gains() {
        gains_.clear();
        if (!answer_.gains) return;
        for (const priced_change& gain : answer_.gains->dearest) {
            constexpr double least_share = 0.005;
            if (gain.share >= least_share) gains_.push_back(&gain);
        }
    }

    const screen_unit& unit() const noexcept { return table_.numbers().unit; }

    std::string prof_line() const {
        std::string what = short_command(document_.capture);
        if (document_.capture.selection) {
            const std::string chosen = selection_choice(*document_.capture.selection);
            if (!chosen.empty()) what += ", " + terminal_safe(chosen);
        }
        const std::string gpus = gpus_of_screen();
        constexpr std::size_t wide = 100;
        if (layout_.width >= wide) {
            const captured_process& process = document_.capture.process;
            std::string more;
            if (process.rank) more += fmt::format(", rank {}", *process.rank);
            if (process.pid) more += fmt::format(", pid {}", *process.pid);
            if (!process.host.empty()) more += " on " + terminal_safe(process.host);
            if (display_width(what) + display_width(more) + display_width(gpus) + 8 <= layout_.width) what += more;
        }
        return head_line(std::move(what), gpus, layout_.width);
    }

    // Where the work of the steps was lost, that none was recorded says nothing of the program.
    std::string gpus_of_screen() const {
        const captured_process& process = document_.capture.process;
        const bool is_lost = answer_.where->lost_launches != 0 && process.ops == 0;
        return is_lost ? std::string("GPU work lost") : gpus_text(process);
    }

    std::vector<std::string> warning_lines() const {
        struct remark {
            std::string text;
            bool is_fact;
        };
        std::vector<remark> all;
        for (const std::string& text : document_.capture.warnings) all.push_back({text, false});
        // How the recording ended, if it was not in good order, and what was recorded of the program.
        for (const std::string& text : document_.capture.facts) all.push_back({text, true});
        // What mends the others comes first, so that it is seen on every terminal.
        std::stable_partition(all.begin(), all.end(),
                              [](const remark& each) { return each.text.find("prof seal") != std::string::npos; });
        const bool is_whole = layout_.lines == SIZE_MAX;
        constexpr std::size_t low = 20;
        const std::size_t most = layout_.lines < low ? 1 : 2;  // warnings, and lines of one
        std::vector<std::string> out;
        std::size_t shown = 0;
        for (const auto& [warning, is_fact] : all) {
            if (!is_whole && shown == most) break;
            ++shown;
            const std::string text = wrapped((is_fact ? "note: " : "warning: ") + terminal_safe(warning), layout_.width,
                                             is_fact ? "      " : "         ");
            std::size_t lines = 0;
            for (std::size_t from = 0; from < text.size();) {
                const std::size_t end = std::min(text.find('\n', from), text.size());
                std::string line = text.substr(from, end - from);
                const bool is_last = !is_whole && ++lines == most && end + 1 < text.size();
                out.push_back(is_last ? beginning_of(line.append("…"), layout_.width) : std::move(line));
                if (is_last) break;
                from = end + 1;
            }
        }
        if (shown < all.size()) {
            out.push_back(fmt::format("{} more warning{}: prof report --full", all.size() - shown,
                                      all.size() - shown == 1 ? "" : "s"));
        }
        return out;
    }

    std::string step_line() const {
        const step_table& where = *answer_.where;
        if (!where.has_steps || !answer_.step) {
            constexpr std::string_view none = "Step  none found; ";
            constexpr std::string_view all = "prof_step(), libprof.step() or --step-range NAME marks them";
            constexpr std::string_view one = "--step-range NAME marks them";
            const bool has_room = none.size() + all.size() <= layout_.width;
            return std::string(none) + std::string(has_room ? all : one);
        }
        const step_figures& steps = *answer_.step;
        const screen_unit& in = unit();
        std::string out = "Step  " + in.with_unit(table_.numbers().whole);
        if (steps.is_first) {
            out += document_.capture.selection ? ", the program's first, with its warm-up"
                                               : ", the first, which alone is whole";
        } else if (steps.steps == 1) {
            out += ", one step, which is few";
        } else {
            out += fmt::format(", mean of {} ({} to {})", with_thousands(steps.steps),
                               in.text(in.quanta(static_cast<double>(steps.min_ns))),
                               in.text(in.quanta(static_cast<double>(steps.max_ns))));
        }
        out += "; " + what_a_step_is(steps);
        if (answer_.run && answer_.run->windows > 1) out += fmt::format(", in {} windows", answer_.run->windows);
        return out;
    }

    // Instead of the line on the GPU.
    std::string lost_text() const {
        const std::uint64_t lost = answer_.where->lost_launches;
        if (lost == 0) return {};
        return fmt::format("GPU   not known: none of the {} launch{}{} has a GPU record", with_thousands(lost),
                           lost == 1 ? "" : "es", answer_.where->has_steps ? " in these steps" : "");
    }

    std::string gpu_line() const {
        const screen_numbers_of& of = table_.numbers();
        const std::int64_t idle_tenths = 1000 - of.busy_tenths;
        const bool has_decimal =
            std::min(of.busy_tenths, idle_tenths) < 10 && std::min(of.busy_tenths, idle_tenths) > 0;
        const bool is_bound = of.busy_tenths >= static_cast<std::int64_t>(1000 * much_of_step);
        std::string out = fmt::format("{} busy {} ({})", answer_.where->devices > 1 ? "GPUs " : "GPU  ",
                                      unit().with_unit(of.busy), percent_text(of.busy_tenths, has_decimal));
        const std::string most = is_bound ? busiest() : std::string();
        std::string idle =
            fmt::format("; idle {} ({})", unit().with_unit(of.idle()),
                        percent_text(has_decimal ? idle_tenths : 1000 - (of.busy_tenths + 5) / 10 * 10, has_decimal));
        if (!is_bound) idle += ", " + largest_cause();
        const std::string phase = most.empty() ? most : ", most of it " + most;
        const bool has_room = display_width(out) + display_width(phase) + display_width(idle) <= layout_.width;
        return out + (has_room ? phase : std::string()) + idle;
    }

    // The row with more than half of the GPU's busy time.
    std::string busiest() const {
        std::int64_t all = 0;
        const screen_node* most = nullptr;
        for (const screen_node& node : table_.tree()) {
            all += node.figures.busy_ns();
            if (most == nullptr || node.figures.busy_ns() > most->figures.busy_ns()) most = &node;
        }
        if (most == nullptr || 2 * most->figures.busy_ns() < all) return {};
        return shortened(most->own_name, 24);
    }

    std::string largest_cause() const {
        const screen_numbers_of& of = table_.numbers();
        step_column largest = step_column::other;
        for (std::size_t i = 0; i < step_column_count; ++i) {
            const auto use = static_cast<step_column>(i);
            if (is_idle(use) && of.uses[i] > of.uses[static_cast<std::size_t>(largest)]) largest = use;
        }
        std::int64_t loader = 0;
        for (const step_table_row& row : answer_.where->rows) {
            if (is_loader(row)) loader += row.of(step_column::cpu_code);
        }
        const std::int64_t cause = of.uses[static_cast<std::size_t>(largest)];
        if (largest == step_column::cpu_code && 2 * loader >= cause && loader > 0) return "waiting for the data loader";
        std::string out(reason_of(largest));
        if (largest == step_column::cpu_code && answer_.answer) {
            const thread_shares& did = answer_.answer->of.did;
            if (did.waited >= 0.5) return out + ", which waits for a CPU";
            if (did.blocked < 0.5) return out;
            out += did.blocked_in.empty() ? ", which is blocked"
                                          : ", which is blocked (" + terminal_safe(did.blocked_in) + ")";
        }
        return out;
    }

    std::string cpu_line() const {
        const std::vector<screen_row> rows = table_.level();
        std::vector<std::size_t> order(rows.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return rows[a].cpu > rows[b].cpu; });
        std::string out = "CPU  ";
        for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 2); ++i) {
            const screen_row& row = rows[order[i]];
            if (i != 0 && row.cpu == 0) break;
            if (i != 0) out += ", then";
            out += fmt::format(" {} {} ({} %)", shortened(table_.tree()[order[i]].own_name, 24),
                               unit().with_unit(row.cpu), row.percent);
        }
        return out;
    }

    std::string memory_text() const {
        return answer_.memory.empty() ? std::string() : beginning_of("Memory  " + answer_.memory, layout_.width);
    }

    std::string run_text() const {
        if (!answer_.run || !answer_.where->has_steps) return {};
        const run_parts& run = *answer_.run;
        const std::array<double, 5> parts{static_cast<double>(std::max<std::int64_t>(run.startup_ns, 0)),
                                          static_cast<double>(std::max<std::int64_t>(run.warm_up_ns, 0)),
                                          static_cast<double>(std::max<std::int64_t>(run.steps_ns, 0)),
                                          static_cast<double>(std::max<std::int64_t>(run.between_ns, 0)),
                                          static_cast<double>(std::max<std::int64_t>(run.end_ns, 0))};
        const auto whole_ns = static_cast<double>(run.recorded_ns);
        if (!(whole_ns > 0)) return {};
        screen_unit in = screen_unit::for_run(whole_ns);
        std::string out = run_text(run, parts, in);
        while (display_width(out) > layout_.width && in.decimals > 1) {
            in = {in.name, in.quantum_ns * 10, in.decimals - 1};
            out = run_text(run, parts, in);
        }
        return out;
    }

    static std::string run_text(const run_parts& run, std::span<const double> parts, const screen_unit& in) {
        const std::int64_t whole = in.quanta(static_cast<double>(run.recorded_ns));
        const std::vector<std::int64_t> shown = apportioned(parts, whole);
        std::string out = fmt::format("Run   {}:", in.with_unit(whole));
        const auto add = [&](std::string_view what, std::int64_t quanta, bool is_shown, const std::string& more = {}) {
            if (is_shown) out += fmt::format("{} {} {}{}", out.ends_with(':') ? "" : ",", what, in.text(quanta), more);
        };
        add("start-up", shown[0], shown[0] != 0);
        add("warm-up", shown[1], run.warm_up != 0,
            fmt::format(" ({} step{})", run.warm_up, run.warm_up == 1 ? "" : "s"));
        add(fmt::format("{} step{}", with_thousands(run.steps), run.steps == 1 ? "" : "s"), shown[2], true);
        add("between", shown[3], shown[3] != 0);
        add("end", shown[4], shown[4] != 0);
        return out;
    }

    // Steps that are longer than the others, if a finding says so.
    std::string uneven_text() const {
        if (!answer_.gains || !answer_.step) return {};
        const auto& gains = answer_.gains->dearest;
        const bool is_uneven = std::any_of(gains.begin(), gains.end(),
                                           [](const priced_change& gain) { return gain.rule == "uneven_steps"; });
        if (!is_uneven) return {};
        const step_figures& steps = *answer_.step;
        return fmt::format("{}half of the steps take at most {}, the longest {}", continuation,
                           unit().with_unit(unit().quanta(steps.median_ns)),
                           unit().with_unit(unit().quanta(static_cast<double>(steps.max_ns))));
    }

    std::string gain_line(const priced_change& gain) const {
        return fmt::format("{:>9} {}  {:>2.0f} %  {}", unit().text(unit().quanta(gain.gain_ns)), unit().name,
                           100 * gain.share, gain_text(gain, layout_.width - 20));
    }

    // `shown`: of those on the screen.
    std::string gains_heading(std::size_t shown) const {
        const priced_changes& gains = *answer_.gains;
        std::string basis;
        if (gains.sampled != 0 && answer_.step) {
            basis =
                fmt::format(", by {} of {} steps", with_thousands(gains.sampled), with_thousands(answer_.step->steps));
        }
        if (gains_.empty()) return "Nothing was found that would shorten a step by 1 %" + basis + ".";
        std::string heading = "Possible gains a step" + basis;
        if (shown < gains_.size()) heading += fmt::format(", {} of {}", shown, gains_.size());
        if (gains_.size() > 1) {
            heading += fmt::format("; all together at most {} ({:.0f} %)",
                                   unit().with_unit(unit().quanta(gains.together_ns)), 100 * gains.together_share);
        }
        return heading;
    }

    void add_gains(std::size_t count, std::size_t advice, std::vector<std::string>& out) const {
        out.push_back(gains_heading(std::min(count, gains_.size())));
        // A gain without advice, or with the same, leaves its line to the next one.
        std::string said;
        for (std::size_t i = 0; i < std::min(count, gains_.size()); ++i) {
            out.push_back(gain_line(*gains_[i]));
            const std::string& text = gains_[i]->brief_advice;
            if (advice == 0 || text.empty() || text == said) continue;
            --advice;
            said = text;
            out.push_back(std::string(20, ' ') + "try " + gains_[i]->brief_advice);
        }
    }

    std::vector<std::string> next_lines() const {
        if (!answer_.place) return {};
        const bool has_findings = answer_.gains && !answer_.gains->dearest.empty();
        const bool is_part = document_.capture.selection.has_value();
        std::vector<std::string> parts;
        if (is_part && answer_.where->has_steps && answer_.where->lost_launches == 0) {
            parts.push_back("prof diagnose" + *answer_.place + " (what these steps could gain)");
        }
        if (has_findings) parts.push_back("prof diagnose" + *answer_.place + " (each place, what to try)");
        // A gain that is in a few steps names them.
        constexpr std::string_view steps = "prof report --steps ";
        if (!gains_.empty() && gains_.front()->brief_advice.starts_with(steps)) {
            const std::string_view named = std::string_view(gains_.front()->brief_advice).substr(steps.size());
            const std::string_view slice = named.substr(0, named.find(' '));
            if (slice.find('N') == std::string_view::npos) {
                parts.insert(parts.begin(), fmt::format("prof report{} --steps {} (that step)", *answer_.place, slice));
            }
        }
        parts.push_back("prof report" + *answer_.place + " --full (tables)");
        parts.emplace_back("prof help terms");
        // What a command answers is left out before the command is, and a path that leaves no room is FILE.
        const auto is_long = [&] { return display_width(parts.front()) + 6 > layout_.width; };
        if (is_long() && parts.front().ends_with(')')) parts.front().resize(parts.front().rfind(" ("));
        if (is_long())
            parts.front() =
                parts.front().starts_with("prof diagnose") ? "prof diagnose FILE" : "prof report FILE --full";
        std::string out = "next: ";
        std::size_t shown = 0;
        for (const std::string& part : parts) {
            const std::string more = (shown == 0 ? "" : "   ") + part;
            if (shown != 0 && display_width(out) + display_width(more) > layout_.width) continue;
            out += more;
            if (++shown == 2) break;
        }
        return {std::move(out)};
    }

    const report_document& document_;
    const answer_block& answer_;
    const screen_layout& layout_;
    screen_table table_;
    std::vector<const priced_change*> gains_;
};

}  // namespace

const answer_block* answer_in(const report_document& document) noexcept {
    for (const report_part& part : document.parts) {
        if (const auto* const answer = block_in<answer_block>(part)) return answer;
    }
    return nullptr;
}

std::string what_a_step_is(const step_figures& steps) {
    if (!steps.function.empty()) return fmt::format("one call of {} each", terminal_safe(steps.function));
    if (!steps.range.empty()) return fmt::format("one range \"{}\" each", terminal_safe(steps.range));
    if (steps.witness == optimizer_witness) return "one optimizer.step() each";
    if (steps.witness == call_witness) return "one call of the outermost module each";
    if (steps.witness == annotation_witness) return "each marked by the program";  // as by JAX's annotation
    if (steps.witness == profiler_witness) return "one profiler.step() each";
    switch (steps.source) {
        case step_source::counted:
            return "one counted step each";
        case step_source::observed:
            return "as observed";
        case step_source::profiler:
            return "one profiler.step() each";
        case step_source::recurring:
            break;
    }
    return "as they recur";
}

std::string percent_text(std::int64_t tenths, bool has_decimal) {
    return has_decimal ? fmt::format("{}.{} %", tenths / 10, tenths % 10) : fmt::format("{} %", (tenths + 5) / 10);
}

std::string short_command(const capture_heading& capture) {
    if (capture.command.empty()) {
        return terminal_safe(capture.process.program.empty() ? base_name(capture.path) : capture.process.program);
    }
    std::string out;
    std::size_t words = 0;
    std::size_t from = 0;
    const std::string& command = capture.command;
    while (from < command.size()) {
        const std::size_t end = std::min(command.find(' ', from), command.size());
        const std::string_view word(command.data() + from, end - from);
        const bool is_path = words < 2 && word.find('/') != std::string_view::npos && word.front() != '-';
        if (words != 0) out += ' ';
        out += is_path ? base_name(word) : std::string(word);
        ++words;
        from = end + 1;
    }
    return terminal_safe(out);
}

std::string head_line(std::string what, const std::string& right_text, std::size_t width) {
    constexpr std::string_view first = "prof  ";
    const std::size_t used = first.size() + display_width(right_text) + 2;
    what = shortened(what, width > used + 8 ? width - used : 8);
    const std::size_t gap = width - std::min(width, first.size() + display_width(what) + display_width(right_text));
    constexpr std::size_t widest = 1000;
    if (right_text.empty()) return std::string(first) + what;
    return std::string(first) + what + std::string(width > widest ? 2 : gap, ' ') + right_text;
}

void fit_lines(std::vector<std::string>& lines, const screen_layout& layout) {
    constexpr std::string_view ellipsis = "…";
    for (std::string& line : lines) {
        line = beginning_of(line, layout.width);
        if (!layout.is_ascii) continue;
        for (std::size_t at = 0; (at = line.find(ellipsis, at)) != std::string::npos;) {
            line.replace(at, ellipsis.size(), "~");
        }
    }
}

bool has_first_screen(const report_document& document) noexcept {
    const answer_block* const answer = answer_in(document);
    return answer != nullptr && answer->where.has_value() && !answer->where->rows.empty();
}

std::vector<std::string> first_screen(const report_document& document, const screen_layout& layout) {
    if (!has_first_screen(document)) return {};
    return screen(document, *answer_in(document), layout).lines();
}

std::optional<screen_blocks> screen_blocks_of(const report_document& document) {
    if (!has_first_screen(document)) return {};
    constexpr screen_layout layout{.width = 120};
    return screen(document, *answer_in(document), layout).blocks();
}

}  // namespace prof
