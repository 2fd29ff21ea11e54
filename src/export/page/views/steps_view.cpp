// SPDX-License-Identifier: Apache-2.0
// Every step: its length and what it consists of, in columns.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/selection/step_choice.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "base/statistics.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"

namespace prof {
namespace {

constexpr std::size_t most_columns = 4'000;
constexpr std::size_t most_exact = 500;  // columns in nanoseconds
constexpr std::size_t most_longest = 20;
constexpr std::size_t most_left_out = 20;

struct listed_step {
    whole_step of{};
    std::size_t counted = SIZE_MAX;  // its index among the steps that count
};

// "step 0 is", "steps 0 to 2 are", "steps 0, 4, 9 and 2 more are".
std::string steps_are(const std::vector<std::uint64_t>& numbers) {
    constexpr std::size_t most_named = 3;
    if (numbers.size() == 1) return fmt::format("step {} is", numbers.front());
    if (numbers.size() > 2 && numbers.back() - numbers.front() + 1 == numbers.size()) {
        return fmt::format("steps {} to {} are", numbers.front(), numbers.back());
    }
    std::string out = "steps ";
    for (std::size_t i = 0; i < std::min(numbers.size(), most_named); ++i) {
        out += (i == 0 ? "" : i + 1 == numbers.size() ? " and " : ", ") + std::to_string(numbers[i]);
    }
    if (numbers.size() > most_named) out += fmt::format(" and {} more", numbers.size() - most_named);
    return out + " are";
}

class steps_view {
public:
    explicit steps_view(const page_input& input) : input_(input), step_(input.step) {}

    page_view run() {
        page_view out{.name = "steps", .heading = "Every step", .link = "Steps", .data = page_json::object()};
        if (!step_.has_steps) return {};  // the notes say so
        if (step_.steps.size() < 2) {
            out.why = "One step alone counts, so that there is nothing to compare it with.";
        }
        if (!out.why.empty()) {
            out.data["why"] = out.why;
            return out;
        }
        collect();
        add_columns(out.data);
        add_left_out(out);
        add_longest(out);
        return out;
    }

private:
    void collect() {
        const step_time_subject& subject = *input_.subject;
        std::vector<whole_step> all = find_whole_steps(subject.data, subject.att, !subject.step_function.empty()).steps;
        std::size_t next = 0;
        for (const whole_step& each : all) {
            while (next < step_.steps.size() && step_.steps[next].start_ns < each.start_ns) ++next;
            const bool counts = next < step_.steps.size() && step_.steps[next].start_ns == each.start_ns;
            steps_.push_back({each, counts ? next : SIZE_MAX});
        }
        find_cut(all);
        const auto counted = static_cast<std::size_t>(std::count_if(
            steps_.begin(), steps_.end(), [](const listed_step& each) { return each.counted != SIZE_MAX; }));
        if (counted == step_.steps.size()) return;
        // Those that count are others than are found now, as in a part: they alone are shown.
        steps_.clear();
        for (std::size_t i = 0; i < step_.steps.size(); ++i) steps_.push_back({step_.steps[i], i});
    }

    // Steps of which a part alone was recorded: the numbered ones that are not whole.
    void find_cut(const std::vector<whole_step>& whole) {
        const step_time_subject& subject = *input_.subject;
        if (!subject.step_function.empty() || input_.document.capture.selection) return;
        std::vector<numbered_step> all = all_numbered_steps(subject.data, subject.att);
        const auto number_of = [](const whole_step& step) { return std::pair(step.start_ns, step.number); };
        std::set<std::pair<std::int64_t, std::uint64_t>> known;
        for (const whole_step& each : whole) known.insert(number_of(each));
        const std::size_t count = all.size();
        std::erase_if(all, [&](const numbered_step& each) { return known.contains({each.start_ns, each.number}); });
        // Of other beginnings they cannot be told apart.
        if (all.size() + whole.size() == count) cut_ = std::move(all);
    }

    // A part of a step on one GPU.
    double part_ns(const page_part& part, std::size_t counted) const {
        return static_cast<double>(part.by_step[counted]) / (step_.has_gpu ? step_.devices : 1);
    }

    void add_columns(page_json& data) {
        const std::size_t count = steps_.size();
        const std::size_t per_column = (count + most_columns - 1) / most_columns;
        const std::size_t columns = (count + per_column - 1) / per_column;
        double unit_ns = 1;
        constexpr double digits = 1e4;
        if (columns > most_exact)
            unit_ns = std::pow(10.0, std::floor(std::log10(std::max(step_.step_ns / digits, 1.0))));
        const auto quanta = [&](double ns) { return step_.whole_ns(ns / unit_ns); };
        data["count"] = count;
        data["per_column"] = per_column;
        data["unit_ns"] = step_.whole_ns(unit_ns);
        std::vector<std::uint64_t> number;
        std::vector<std::int64_t> start;
        std::vector<std::int64_t> length;
        std::vector<std::int64_t> host;
        std::vector<int> counted;
        std::vector<std::int64_t> longest;
        std::vector<std::uint64_t> longest_number;
        std::vector<std::vector<std::int64_t>> parts(step_.parts.size());
        const std::int64_t first_ns = steps_.front().of.from_ns();
        for (std::size_t c = 0; c < columns; ++c) {
            const std::size_t from = c * per_column;
            const std::size_t end = std::min(count, from + per_column);
            double length_ns = 0;
            double host_ns = 0;
            std::size_t with_parts = 0;
            std::size_t slowest = from;
            std::vector<double> of_parts(parts.size());
            for (std::size_t i = from; i < end; ++i) {
                const whole_step& each = steps_[i].of;
                length_ns += static_cast<double>(each.length_ns());
                host_ns += static_cast<double>(each.end_ns - each.start_ns);
                if (each.length_ns() > steps_[slowest].of.length_ns()) slowest = i;
                if (steps_[i].counted == SIZE_MAX) continue;
                ++with_parts;
                for (std::size_t p = 0; p < parts.size(); ++p)
                    of_parts[p] += part_ns(step_.parts[p], steps_[i].counted);
            }
            // A column is of the steps that count, if it has any.
            if (with_parts != 0 && with_parts != end - from) {
                length_ns = host_ns = 0;
                for (std::size_t i = from; i < end; ++i) {
                    if (steps_[i].counted == SIZE_MAX) continue;
                    length_ns += static_cast<double>(steps_[i].of.length_ns());
                    host_ns += static_cast<double>(steps_[i].of.end_ns - steps_[i].of.start_ns);
                }
            }
            const auto in_mean = static_cast<double>(with_parts != 0 ? with_parts : end - from);
            number.push_back(steps_[from].of.number);
            start.push_back(quanta(static_cast<double>(steps_[from].of.from_ns() - first_ns)));
            length.push_back(quanta(length_ns / in_mean));
            host.push_back(quanta(host_ns / in_mean));
            counted.push_back(with_parts != 0 ? 1 : 0);
            longest.push_back(quanta(static_cast<double>(steps_[slowest].of.length_ns())));
            longest_number.push_back(steps_[slowest].of.number);
            for (std::size_t p = 0; p < parts.size(); ++p) parts[p].push_back(quanta(of_parts[p] / in_mean));
        }
        data["number"] = number;
        data["start"] = start;
        data["length"] = length;
        data["host"] = host;
        data["counted"] = counted;
        if (per_column > 1) {
            data["longest"] = longest;
            data["longest_number"] = longest_number;
        }
        page_json& list = data["parts"] = page_json::array();
        for (std::size_t p = 0; p < parts.size(); ++p) list.push_back({{"part", p}, {"time", parts[p]}});
    }

    void add_left_out(page_view& out) const {
        page_json list = page_json::array();
        std::size_t count = 0;
        bool is_before = true;
        for (const listed_step& each : steps_) {
            if (each.counted != SIZE_MAX) {
                is_before = false;
                continue;
            }
            const bool is_part = input_.document.capture.selection.has_value();
            if (++count <= most_left_out) {
                list.push_back({{"number", each.of.number},
                                {"length_ns", each.of.length_ns()},
                                {"why", is_part     ? "not selected"
                                        : is_before ? "warm-up"
                                                    : "left out"}});
            }
        }
        out.data["left_out"] = std::move(list);
        out.data["left_out_count"] = count;
        page_json& cut = out.data["cut"] = page_json::array();
        for (const numbered_step& each : cut_) {
            if (cut.size() < most_left_out) cut.push_back(each.number);
        }
        if (input_.document.capture.selection) return;
        if (const std::string text = left_out_sentence(); !text.empty()) out.lead.push_back(text);
    }

    // "33 of 35 steps count: step 0 is warm-up, step 34 is cut off by the end of the recording."
    std::string left_out_sentence() const {
        std::vector<std::uint64_t> warm_up;
        std::vector<std::uint64_t> others;
        bool is_before = true;
        for (const listed_step& each : steps_) {
            if (each.counted != SIZE_MAX) {
                is_before = false;
            } else {
                (is_before ? warm_up : others).push_back(each.of.number);
            }
        }
        std::vector<std::uint64_t> at_beginning;
        std::vector<std::uint64_t> between;
        std::vector<std::uint64_t> at_end;
        for (const numbered_step& each : cut_) {
            const bool is_first = each.start_ns < steps_.front().of.start_ns;
            const bool is_last = each.start_ns > steps_.back().of.start_ns;
            (is_first ? at_beginning : is_last ? at_end : between).push_back(each.number);
        }
        std::string out;
        const auto add = [&](const std::vector<std::uint64_t>& numbers, std::string_view why) {
            if (!numbers.empty()) out += fmt::format("{} {} {}", out.empty() ? "" : ",", steps_are(numbers), why);
        };
        add(at_beginning, "not recorded from the beginning");
        add(warm_up, "warm-up");
        add(others, "left out");
        add(between, "not recorded as a whole");
        add(at_end, "cut off by the end of the recording");
        if (out.empty()) return out;
        return fmt::format("{} of {} steps count:{}.", step_.steps.size(), steps_.size() + cut_.size(), out);
    }

    page_json step_json(std::size_t index) const {
        page_json parts = page_json::array();
        for (std::size_t p = 0; p < step_.parts.size(); ++p) {
            const std::int64_t ns = step_.whole_ns(part_ns(step_.parts[p], index));
            if (ns != 0) parts.push_back({p, ns});
        }
        return {{"number", step_.steps[index].number},
                {"length_ns", step_.steps[index].length_ns()},
                {"parts", std::move(parts)}};
    }

    void add_longest(page_view& out) const {
        std::vector<std::size_t> order(step_.steps.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return step_.steps[a].length_ns() > step_.steps[b].length_ns();
        });
        out.data["median"] = step_json(order[order.size() / 2]);
        std::vector<std::int64_t> lengths_ns;
        lengths_ns.reserve(step_.steps.size());
        for (const whole_step& each : step_.steps) lengths_ns.push_back(each.length_ns());
        const double median_ns = median(std::move(lengths_ns));
        std::vector<double> medians_ns;
        page_json medians = page_json::array();
        for (std::size_t p = 0; p < step_.parts.size(); ++p) {
            medians_ns.push_back(median(step_.parts[p].by_step) / (step_.has_gpu ? step_.devices : 1));
            medians.push_back({p, step_.whole_ns(medians_ns.back())});
        }
        out.data["median_ns"] = step_.whole_ns(median_ns);
        out.data["median_parts"] = std::move(medians);
        page_json& longest = out.data["longest_steps"] = page_json::array();
        page_table table{.caption = "The longest steps",
                         .columns = {{"step"},
                                     {fmt::format("length in {}", step_.unit.name), true},
                                     {"more than the median", true},
                                     {"what it has more than the median of it"}}};
        for (std::size_t i = 0; i < std::min(order.size(), most_longest); ++i) {
            longest.push_back(step_json(order[i]));
            constexpr std::size_t most_rows = 5;
            if (i >= most_rows) continue;
            const whole_step& each = step_.steps[order[i]];
            const double more_ns = static_cast<double>(each.length_ns()) - median_ns;
            std::string what;
            double most_ns = 0;
            for (std::size_t p = 0; p < step_.parts.size(); ++p) {
                const double part_more_ns = part_ns(step_.parts[p], order[i]) - medians_ns[p];
                if (part_more_ns <= most_ns) continue;
                most_ns = part_more_ns;
                what = (step_.parts[p].idle ? "idle: " : "") + step_.parts[p].name;
            }
            if (!what.empty()) what += " " + step_.with_unit(most_ns);
            table.rows.push_back({std::to_string(each.number), step_.text(static_cast<double>(each.length_ns())),
                                  step_.text(std::max(more_ns, 0.0)), what});
        }
        out.blocks.emplace_back(std::move(table));
    }

    const page_input& input_;
    const page_step& step_;
    std::vector<listed_step> steps_;
    std::vector<numbered_step> cut_;
};

}  // namespace

page_view make_steps_view(const page_input& input) { return steps_view(input).run(); }

}  // namespace prof
