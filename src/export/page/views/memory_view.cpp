// SPDX-License-Identifier: Apache-2.0
// GPU memory: what the allocator had given out and reserved at each moment, and what that was at the peaks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/projection/used_frameworks.hpp"
#include "analysis/steps/capture_start.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "base/display_text.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"
#include "record/memory.hpp"
#include "report/memory_answer.hpp"

namespace prof {
namespace {

constexpr std::size_t most_pieces = 500;   // of a curve: of its time, and again of its changes
constexpr std::size_t most_whole = 2'000;  // changes that are all kept
constexpr std::size_t most_step_columns_of_memory = 1'000;
constexpr std::size_t most_memory_places = 250;

// A moment at which memory is taken apart.
struct memory_moment {
    std::string_view key{};
    std::string_view name{};  // above a column of numbers
    std::int64_t memory_row::*bytes = nullptr;
    std::int64_t time_ns = 0;
    std::optional<std::uint64_t> step{};
    std::uint64_t allocated = 0;
    std::optional<std::uint64_t> reserved{};
    std::optional<std::uint64_t> asked{};
    std::string path{};
    std::string module{};
};

struct use_look {
    memory_use use;
    std::string_view key;
    std::string_view colour;
};

// In the order of a bar: what stays first.
constexpr std::array<use_look, memory_use_count> uses_in_order = {{
    {memory_use::parameters, "parameters", "solid"},
    {memory_use::optimizer_state, "optimizer_state", "optimizer"},
    {memory_use::gradients, "gradients", "backward"},
    {memory_use::activations, "activations", "forward"},
    {memory_use::workspace, "workspace", "a"},
    {memory_use::other, "other", "other"},
    {memory_use::before_recording, "before_recording", "range"},
    {memory_use::lost, "lost_records", "other_idle"},
}};

std::string signed_bytes_text(std::int64_t bytes) {
    return bytes < 0 ? "\u2212" + bytes_text(std::uint64_t{0} - static_cast<std::uint64_t>(bytes))
                     : bytes_text(static_cast<std::uint64_t>(bytes));
}

std::string device_name(const memory_device& of) {
    return of.is_gpu ? fmt::format("GPU {}", of.device)
                     : fmt::format("device {} of PyTorch's kind {}", of.device, of.kind);
}

std::string place_words(const std::string& path, const std::string& module) {
    if (module.empty()) return path.empty() ? "outside ranges" : "in " + page_label(page_name(path));
    return "in " + page_label(page_name(module)) +
           (path.empty() ? std::string() : " (" + page_label(page_name(path)) + ")");
}

// What a device's allocator said, change by change.
class memory_curve {
public:
    memory_curve(const timeline& data, const memory_device& of) : data_(data) {
        const std::uint16_t device = packed_device(of.kind, static_cast<std::uint8_t>(of.device));
        for (const memory_event& each : data.memory) {
            if (each.device == device && each.has_totals) events_.push_back(&each);
        }
    }

    bool is_empty() const noexcept { return events_.empty(); }
    // What was reserved when this much was allocated, at that moment or, where nothing happened then, before it.
    std::optional<std::uint64_t> reserved_at(std::int64_t ns, std::uint64_t allocated) const {
        auto at = std::partition_point(events_.begin(), events_.end(),
                                       [&](const memory_event* each) { return each->time_ns <= ns; });
        while (at != events_.begin()) {
            const memory_event& each = **--at;
            if (each.allocated == allocated) return each.reserved;
            if (each.time_ns < ns) break;
        }
        return {};
    }

    // The changes that a screen can show. Of each piece of time, and of each piece of all changes, the first, the last,
    // and those with the least and the most: no peak is left out.
    page_json json(std::int64_t begin_ns) const {
        std::vector<bool> kept(events_.size(), events_.size() <= most_whole);
        if (events_.size() > most_whole) {
            keep_pieces(kept, [&](std::size_t i) { return i * most_pieces / events_.size(); });
            const std::int64_t first_ns = events_.front()->time_ns;
            const double length_ns = std::max(static_cast<double>(events_.back()->time_ns - first_ns), 1.0) /
                                     static_cast<double>(most_pieces);
            keep_pieces(kept, [&](std::size_t i) {
                return static_cast<std::size_t>(static_cast<double>(events_[i]->time_ns - first_ns) / length_ns);
            });
        }
        page_json times = page_json::array();
        page_json allocated = page_json::array();
        page_json reserved = page_json::array();
        page_json segments = page_json::array();
        std::size_t window = SIZE_MAX;
        for (std::size_t i = 0; i < events_.size(); ++i) {
            const memory_event& each = *events_[i];
            if (const std::size_t now = window_at(each.time_ns); now != window) {
                window = now;
                kept[i] = true;
                segments.push_back({times.size(), end_of_window(window) - begin_ns});
            }
            if (!kept[i] && each.kind != memory_kind::failed) continue;
            times.push_back(each.time_ns - begin_ns);
            allocated.push_back(each.allocated);
            reserved.push_back(each.reserved);
        }
        return {{"changes", events_.size()},
                {"time_ns", std::move(times)},
                {"allocated", std::move(allocated)},
                {"reserved", std::move(reserved)},
                {"segments", std::move(segments)}};
    }

private:
    template <typename TPieceOf>
    void keep_pieces(std::vector<bool>& kept, TPieceOf&& piece_of) const {
        for (std::size_t begin = 0; begin < events_.size();) {
            std::size_t end = begin;
            std::array<std::size_t, 4> extremes = {begin, begin, begin, begin};
            const auto take = [&](std::size_t i, std::size_t& at, std::uint64_t memory_event::*value, bool is_most) {
                const std::uint64_t old = events_[at]->*value;
                if (is_most ? events_[i]->*value > old : events_[i]->*value < old) at = i;
            };
            for (const std::size_t piece = piece_of(begin); end < events_.size() && piece_of(end) == piece; ++end) {
                take(end, extremes[0], &memory_event::allocated, true);
                take(end, extremes[1], &memory_event::allocated, false);
                take(end, extremes[2], &memory_event::reserved, true);
                take(end, extremes[3], &memory_event::reserved, false);
            }
            for (const std::size_t i : extremes) kept[i] = true;
            kept[begin] = kept[end - 1] = true;
            begin = end;
        }
    }

    std::size_t window_at(std::int64_t ns) const {
        const auto after = std::partition_point(data_.windows.begin(), data_.windows.end(),
                                                [&](const timeline_window& each) { return each.start_ns <= ns; });
        return after == data_.windows.begin() ? 0 : static_cast<std::size_t>(after - data_.windows.begin()) - 1;
    }
    // Until when the window's last value holds, as far as is known.
    std::int64_t end_of_window(std::size_t window) const {
        std::int64_t last_ns = INT64_MIN;
        for (auto each = events_.rbegin(); each != events_.rend() && last_ns == INT64_MIN; ++each) {
            if (window_at((*each)->time_ns) == window) last_ns = (*each)->time_ns;
        }
        return window < data_.windows.size() ? std::max(last_ns, data_.windows[window].end_ns) : last_ns;
    }

    const timeline& data_;
    std::vector<const memory_event*> events_;
};

class memory_view {
public:
    memory_view(const page_input& input, input_memory& memory)
        : input_(input),
          data_(input.subject->data),
          memory_(memory),
          found_(memory.summary()),
          begin_ns_(earliest_moment(input.report.data)),
          was_killed_(is_killed(input.report.data)) {}

    page_view run() {
        page_view out{.name = "memory", .heading = "GPU memory", .link = "Memory", .data = page_json::object()};
        add_steps(out.data);
        page_json& uses = out.data["uses"] = page_json::array();
        for (const use_look& look : uses_in_order) {
            uses.push_back({{"key", look.key}, {"name", to_string(look.use)}, {"colour", look.colour}});
        }
        page_json& devices = out.data["devices"] = page_json::array();
        for (const memory_device* const device : by_fill()) {
            const memory_curve curve(data_, *device);
            if (curve.is_empty()) continue;
            const std::vector<memory_moment> moments = moments_of(*device, curve);
            if (devices.empty()) add_lead(out, *device, moments);
            devices.push_back(device_json(*device, curve, moments));
            add_tables(out, *device, moments);
            out.stands_first |= moments.front().key == "failure" || moments.front().key == "end";
        }
        add_findings(out);
        out.details =
            found_.is_of_cuda
                ? "Of CUDA’s own memory, as calls such as cudaMalloc had it: no allocator reported. What was had "
                  "before the recording is not in these figures."
                : "Of PyTorch’s caching allocator. What CUDA, NCCL and other libraries hold beside it is not in "
                  "these figures.";
        const std::vector<cuda_memory_row> own = cuda_memory_of(input_.report, found_);
        for (const memory_device& each : found_.devices) {
            if (found_.is_of_cuda) break;
            if (!each.outside) continue;
            out.details += fmt::format(" On {} it was {} at the peak, and {} at most, of {}.", device_name(each),
                                       bytes_text(each.outside->at_peak), bytes_text(each.outside->most),
                                       bytes_text(each.outside->total));
            if (const std::string known = known_outside_text(own, each.device); !known.empty()) {
                out.details += fmt::format(" Of this, calls of CUDA had {}.", page_label(known));
            }
        }
        return out;
    }

private:
    // The fullest device first, as the first screen has it.
    std::vector<const memory_device*> by_fill() const {
        std::vector<const memory_device*> out;
        out.reserve(found_.devices.size());
        for (const memory_device& each : found_.devices) out.push_back(&each);
        const memory_device* const first = fullest(found_);
        std::stable_partition(out.begin(), out.end(), [&](const memory_device* each) { return each == first; });
        return out;
    }

    std::vector<memory_moment> moments_of(const memory_device& of, const memory_curve& curve) const {
        std::vector<memory_moment> out;
        if (!of.failures.empty()) {
            const memory_failure& last = of.failures.back();
            out.push_back({.key = "failure",
                           .name = "at the error",
                           .bytes = &memory_row::at_failure,
                           .time_ns = last.time_ns,
                           .step = step_at(last.time_ns),
                           .allocated = last.allocated,
                           .reserved = last.reserved,
                           .asked = last.asked,
                           .path = last.path,
                           .module = last.module});
        } else if (was_killed_) {
            const std::int64_t last_ns = last_moment(of);
            out.push_back({.key = "end",
                           .name = "at the end",
                           .bytes = &memory_row::at_end,
                           .time_ns = last_ns,
                           .step = step_at(last_ns),
                           .allocated = of.end_allocated,
                           .reserved = of.end_reserved});
        }
        if (of.steps.empty()) return out;
        const auto add_step = [&](std::string_view key, std::string_view name, std::int64_t memory_row::*bytes,
                                  const memory_step& step) {
            out.push_back({.key = key,
                           .name = name,
                           .bytes = bytes,
                           .time_ns = step.peak_ns,
                           .step = of.has_steps ? std::optional(step.number) : std::nullopt,
                           .allocated = step.peak,
                           .reserved = curve.reserved_at(step.peak_ns, step.peak),
                           .path = step.peak_path,
                           .module = step.peak_module});
        };
        add_step("peak", of.has_steps ? "highest step" : "at the peak", &memory_row::at_peak, of.steps[of.highest]);
        if (of.median != of.highest) add_step("median", "median step", &memory_row::at_median, of.steps[of.median]);
        return out;
    }

    std::int64_t last_moment(const memory_device& of) const {
        std::int64_t out = begin_ns_;
        const std::uint16_t device = packed_device(of.kind, static_cast<std::uint8_t>(of.device));
        for (const memory_event& each : data_.memory) {
            if (each.device == device) out = each.time_ns;
        }
        return out;
    }

    // All steps that were found, whether they count or not; none: there are none.
    void add_steps(page_json& data) {
        const bool has_steps = std::any_of(found_.devices.begin(), found_.devices.end(),
                                           [](const memory_device& each) { return each.has_steps; });
        if (has_steps) {
            const step_time_subject& subject = *input_.subject;
            steps_ = find_whole_steps(subject.data, subject.att, !subject.step_function.empty()).steps;
        }
        per_column_ =
            std::max<std::size_t>((steps_.size() + most_step_columns_of_memory - 1) / most_step_columns_of_memory, 1);
        std::vector<std::uint64_t> numbers;
        std::vector<std::int64_t> starts_ns;
        for (std::size_t i = 0; i < steps_.size(); i += per_column_) {
            numbers.push_back(steps_[i].number);
            starts_ns.push_back(steps_[i].start_ns - begin_ns_);
        }
        data["steps"] = {{"count", steps_.size()},
                         {"per_column", per_column_},
                         {"number", std::move(numbers)},
                         {"start_ns", std::move(starts_ns)},
                         {"end_ns", steps_.empty() ? 0 : steps_.back().end_ns - begin_ns_}};
    }

    std::optional<std::uint64_t> step_at(std::int64_t ns) const {
        const auto after = std::partition_point(steps_.begin(), steps_.end(),
                                                [&](const whole_step& each) { return each.start_ns <= ns; });
        if (after == steps_.begin()) return {};
        const whole_step& of = *(after - 1);
        // What follows the last whole step is a step that was not recorded to its end.
        if (ns >= of.end_ns) return after == steps_.end() ? std::optional(of.number + 1) : std::nullopt;
        return of.number;
    }

    // The highest step of each column that has steps which count.
    page_json peaks_json(const memory_device& of) const {
        std::vector<const memory_step*> peaks;
        std::size_t at = 0;
        for (std::size_t begin = 0; begin < steps_.size() && of.has_steps; begin += per_column_) {
            const std::int64_t until_ns =
                begin + per_column_ < steps_.size() ? steps_[begin + per_column_].start_ns : INT64_MAX;
            const memory_step* best = nullptr;
            for (; at < of.steps.size() && of.steps[at].start_ns < until_ns; ++at) {
                if (best == nullptr || of.steps[at].peak > best->peak) best = &of.steps[at];
            }
            if (best != nullptr) peaks.push_back(best);
        }
        page_json out{{"step", page_json::array()}, {"time_ns", page_json::array()}, {"allocated", page_json::array()}};
        for (const memory_step* const each : peaks) {
            out["step"].push_back(each->number);
            out["time_ns"].push_back(each->peak_ns - begin_ns_);
            out["allocated"].push_back(each->peak);
        }
        return out;
    }

    static std::int64_t sum_of(const memory_device& of, memory_use use, std::int64_t memory_row::*bytes) {
        std::int64_t out = 0;
        for (const memory_row& row : of.rows) {
            if (row.use == use) out += row.*bytes;
        }
        return out;
    }

    // Those with most at the first moment first; what is at none of them last.
    static std::vector<const memory_row*> rows_in_order(const memory_device& of,
                                                        const std::vector<memory_moment>& moments) {
        std::vector<const memory_row*> out;
        out.reserve(of.rows.size());
        for (const memory_row& row : of.rows) out.push_back(&row);
        std::stable_sort(out.begin(), out.end(), [&](const memory_row* a, const memory_row* b) {
            for (const memory_moment& each : moments) {
                if (a->*each.bytes != b->*each.bytes) return a->*each.bytes > b->*each.bytes;
            }
            return false;
        });
        return out;
    }

    page_json device_json(const memory_device& of, const memory_curve& curve,
                          const std::vector<memory_moment>& moments) const {
        const auto or_null = [](const auto& value) { return value ? page_json(*value) : page_json(); };
        page_json taken = page_json::array();
        page_json sums = page_json::array();
        for (const memory_moment& each : moments) {
            page_json one{{"key", each.key},
                          {"name", each.name},
                          {"step", or_null(each.step)},
                          {"time_ns", each.time_ns - begin_ns_},
                          {"allocated", each.allocated},
                          {"reserved", or_null(each.reserved)},
                          {"where", each.key == "end" ? std::string() : place_words(each.path, each.module)}};
            if (each.asked) one["asked"] = *each.asked;
            taken.push_back(std::move(one));
            page_json of_uses = page_json::array();
            for (const use_look& look : uses_in_order) of_uses.push_back(sum_of(of, look.use, each.bytes));
            sums.push_back(std::move(of_uses));
        }
        return {{"name", device_name(of)},        {"limit", or_null(of.limit)},        {"has_steps", of.has_steps},
                {"curve", curve.json(begin_ns_)}, {"peaks", peaks_json(of)},           {"moments", std::move(taken)},
                {"by_use", std::move(sums)},      {"places", places_json(of, moments)}};
    }

    page_json places_json(const memory_device& of, const std::vector<memory_moment>& moments) const {
        const std::vector<const memory_row*> order = rows_in_order(of, moments);
        const auto steps = static_cast<double>(std::max<std::size_t>(of.steps.size(), 1));
        page_json uses = page_json::array();
        page_json paths = page_json::array();
        page_json modules = page_json::array();
        page_json lines = page_json::array();
        page_json blocks = page_json::array();
        page_json churn = page_json::array();
        page_json births = page_json::array();
        page_json growth = page_json::array();
        std::vector<page_json> bytes(moments.size(), page_json::array());
        std::vector<std::int64_t> rest(moments.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            const memory_row& row = *order[i];
            if (i >= most_memory_places) {
                for (std::size_t m = 0; m < moments.size(); ++m) rest[m] += row.*moments[m].bytes;
                continue;
            }
            const auto look = std::find_if(uses_in_order.begin(), uses_in_order.end(),
                                           [&](const use_look& each) { return each.use == row.use; });
            uses.push_back(look - uses_in_order.begin());
            paths.push_back(page_label(page_name(row.path)));
            modules.push_back(page_label(page_name(row.module)));
            lines.push_back(page_label(page_name(row.line)));
            for (std::size_t m = 0; m < moments.size(); ++m) bytes[m].push_back(row.*moments[m].bytes);
            blocks.push_back(row.blocks_at_peak);
            churn.push_back(static_cast<std::int64_t>(static_cast<double>(row.churn) / steps));
            births.push_back(static_cast<double>(row.births) / steps);
            growth.push_back(static_cast<std::int64_t>(row.growth));
        }
        return {{"use", std::move(uses)},
                {"path", std::move(paths)},
                {"module", std::move(modules)},
                {"line", std::move(lines)},
                {"bytes", bytes},
                {"blocks", std::move(blocks)},
                {"churn", std::move(churn)},
                {"births", std::move(births)},
                {"growth", std::move(growth)},
                {"rest", {{"count", order.size() - std::min(order.size(), most_memory_places)}, {"bytes", rest}}}};
    }

    void add_lead(page_view& out, const memory_device& of, const std::vector<memory_moment>& moments) const {
        const std::string on = found_.devices.size() > 1 ? ", on " + device_name(of) : std::string();
        for (const memory_moment& each : moments) {
            if (each.key == "failure") {
                out.lead.push_back(fmt::format(
                    "Memory ran out {}{}: {} were asked for, with {} allocated and {} reserved{}.",
                    place_words(each.path, each.module), on, bytes_text(each.asked.value_or(0)),
                    bytes_text(each.allocated), bytes_text(each.reserved.value_or(0)),
                    of.failures.size() > 1 ? fmt::format("; it is the last of {} such errors", of.failures.size())
                                           : ""));
            } else if (each.key == "end") {
                out.lead.push_back(fmt::format("When the process was killed, {} were allocated and {} reserved{}.",
                                               bytes_text(each.allocated), bytes_text(each.reserved.value_or(0)), on));
            } else if (each.key == "peak") {
                out.lead.push_back(fmt::format("The peak is {}{}{}{}, {}.", bytes_text(each.allocated),
                                               of.limit ? " of " + bytes_text(*of.limit) : "", on,
                                               each.step ? fmt::format(", in step {}", *each.step) : "",
                                               place_words(each.path, each.module)));
            } else {
                out.lead.push_back(fmt::format("In the median step it is {}.", bytes_text(each.allocated)));
            }
        }
        if (of.growth > 0) {
            out.lead.push_back(
                fmt::format("It grows by {} each step.", bytes_text(static_cast<std::uint64_t>(of.growth))));
        }
    }

    void add_findings(page_view& out) const {
        page_json& list = out.data["findings"] = page_json::array();
        page_list texts;
        for (const memory_finding& each : memory_.findings()) {
            std::string title = capitalized(page_sentence(each.title)) + '.';
            if (found_.devices.size() > 1) title = fmt::format("GPU {}: {}", each.device, title);
            const std::string advice = page_sentence("Try: " + each.advice + ".");
            texts.items.push_back(fmt::format("{} {}", title, advice));
            list.push_back({{"title", std::move(title)}, {"advice", advice}});
        }
        if (!texts.items.empty()) out.blocks.emplace_back(std::move(texts));
    }

    void add_tables(page_view& out, const memory_device& of, const std::vector<memory_moment>& moments) const {
        constexpr std::size_t most_rows = 20;
        const std::string on = found_.devices.size() > 1 ? device_name(of) + ": " : std::string();
        page_table uses{.caption = on + "What it was for", .columns = {{"use"}}};
        page_table places{.caption = on + "Where it was asked for", .columns = {{"born in"}}};
        if (found_.has_modules) places.columns.push_back({"module"});
        if (found_.has_lines) places.columns.push_back({"line"});
        places.columns.push_back({"use"});
        uses.sums.emplace_back("allocated");
        places.sums.assign(places.columns.size(), std::string());
        places.sums.front() = "allocated";
        for (const memory_moment& each : moments) {
            uses.columns.push_back({std::string(each.name), true});
            places.columns.push_back({std::string(each.name), true});
            uses.sums.push_back(bytes_text(each.allocated));
            places.sums.push_back(bytes_text(each.allocated));
        }
        for (const use_look& look : uses_in_order) {
            std::vector<std::string> cells{std::string(to_string(look.use))};
            bool has_any = false;
            for (const memory_moment& each : moments) {
                const std::int64_t bytes = sum_of(of, look.use, each.bytes);
                has_any = has_any || bytes != 0;
                cells.push_back(signed_bytes_text(bytes));
            }
            if (has_any) uses.rows.push_back(std::move(cells));
        }
        std::vector<std::int64_t> rest(moments.size());
        std::size_t more = 0;
        for (const memory_row* const row : rows_in_order(of, moments)) {
            if (std::all_of(moments.begin(), moments.end(),
                            [&](const memory_moment& each) { return row->*each.bytes == 0; })) {
                continue;
            }
            if (places.rows.size() == most_rows) {
                ++more;
                for (std::size_t m = 0; m < moments.size(); ++m) rest[m] += row->*moments[m].bytes;
                continue;
            }
            std::vector<std::string> cells{row->path.empty() ? "outside ranges" : page_label(page_name(row->path))};
            if (row->use >= memory_use::before_recording) cells.front() = "not known";
            if (found_.has_modules) cells.push_back(page_label(page_name(row->module)));
            if (found_.has_lines) cells.push_back(page_label(page_name(row->line)));
            cells.emplace_back(to_string(row->use));
            for (const memory_moment& each : moments) cells.push_back(signed_bytes_text(row->*each.bytes));
            places.rows.push_back(std::move(cells));
        }
        if (more != 0) {
            std::vector<std::string> cells(places.columns.size() - moments.size());
            cells.front() = fmt::format("{} more", more);
            for (const std::int64_t bytes : rest) cells.push_back(signed_bytes_text(bytes));
            places.rows.push_back(std::move(cells));
        }
        out.blocks.emplace_back(std::move(uses));
        out.blocks.emplace_back(std::move(places));
    }

    const page_input& input_;
    const timeline& data_;
    input_memory& memory_;
    const memory_summary& found_;
    std::int64_t begin_ns_;
    bool was_killed_;
    std::vector<whole_step> steps_;
    std::size_t per_column_ = 1;
};

// Of programs that do not use PyTorch nothing is missing, and no trace has allocations.
std::string why_no_memory(const page_input& input) {
    const timeline& data = input.report.data;
    const bool was_wanted = data.property("allocations") == "on";
    const bool is_of_torch = frameworks_of(data, false).has_torch && data.property("trace").empty();
    if (!was_wanted && !is_of_torch) return {};
    return capitalized(page_sentence(no_allocation_text(data))) + '.';
}

}  // namespace

page_view make_memory_view(const page_input& input) {
    input_memory memory(input.report);
    if (input.subject && !memory.summary().devices.empty()) return memory_view(input, memory).run();
    page_view out{.name = "memory"};
    out.why = why_no_memory(input);
    if (out.why.empty()) return out;
    out.heading = "GPU memory";
    out.data = {{"why", out.why}};
    return out;
}

}  // namespace prof
