// SPDX-License-Identifier: Apache-2.0
// Chosen steps in time: the median one, the slowest, and others that are long. Each is a payload of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/device_cover.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "analysis/projection/operation_name.hpp"
#include "analysis/projection/segment.hpp"
#include "analysis/step_table/step_rows.hpp"
#include "analysis/steps/step_parts.hpp"
#include "base/statistics.hpp"
#include "diagnose/path_shares.hpp"
#include "export/layout/row_layout.hpp"
#include "export/page/page_text.hpp"
#include "export/page/page_views.hpp"

namespace prof {
namespace {

constexpr std::size_t most_slices = 60'000;  // of a step
constexpr std::size_t most_levels = 3;       // of ranges on a thread
constexpr std::size_t most_threads = 12;
constexpr std::size_t most_long_steps = 2;  // beside the slowest one
constexpr std::size_t longest_name = 300;

enum class lane_kind : std::uint8_t { phases, ranges, calls, stream, gaps, path };
std::string_view to_string(lane_kind kind) noexcept {
    constexpr std::string_view names[] = {"phases", "ranges", "calls", "stream", "gaps", "path"};
    return names[static_cast<std::size_t>(kind)];
}

struct slice {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t name = 0;      // of strings
    std::uint32_t other = 0;     // of a stream: its phase; of a gap, and of the path: the place
    std::uint32_t index = npos;  // of a call: itself; of a stream: the call that launched it; of the path: the lane
    std::uint32_t op = npos;     // of a stream
    std::uint8_t kind = 0;       // of a stream: op_class; of a gap: the cause
    std::uint32_t count = 1;
    std::int64_t busy_ns = 0;  // of those that it stands for
};

struct lane {
    lane_kind kind = lane_kind::phases;
    std::string title{};
    std::string group{};
    std::size_t depth = 0;
    std::vector<slice> slices{};
};

class string_table {
public:
    std::uint32_t of(std::string text) {
        const auto [known, is_new] = numbers_.try_emplace(std::move(text), static_cast<std::uint32_t>(texts_.size()));
        if (is_new) texts_.push_back(&known->first);
        return known->second;
    }
    const std::vector<const std::string*>& texts() const noexcept { return texts_; }

private:
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<const std::string*> texts_;
};

struct shown_step {
    std::string name{};  // "median"
    std::size_t index = 0;
    whole_step of{};
    string_table strings{};
    std::vector<lane> lanes{};

    bool has(std::int64_t start_ns, std::int64_t end_ns) const noexcept {
        return (start_ns < of.to_ns() && end_ns > of.from_ns()) || has_on_host(start_ns, end_ns);
    }
    bool has_on_host(std::int64_t start_ns, std::int64_t end_ns) const noexcept {
        return start_ns < of.end_ns && end_ns > of.start_ns;
    }
    bool is_in_time(std::int64_t start_ns, std::int64_t end_ns) const noexcept {
        return start_ns < of.to_ns() && end_ns > of.from_ns();
    }
};

template <typename TNumbers>
void append_numbers(std::string& to, std::string_view key, const TNumbers& numbers) {
    to.append(",\"").append(key).append("\":[");
    bool is_first = true;
    for (const auto number : numbers) {
        if (!std::exchange(is_first, false)) to += ',';
        fmt::format_to(std::back_inserter(to), "{}", number);
    }
    to += ']';
}

class step_drawer {
public:
    explicit step_drawer(const page_input& input)
        : input_(input),
          data_(input.subject->data),
          att_(input.subject->att),
          steps_(input.found.of),
          class_of_(data_),
          host_(data_, att_),
          where_(data_, att_, steps_),
          causes_(data_, att_, host_, where_, steps_),
          tree_(data_, att_, {}),
          rows_(data_, att_, steps_, where_, tree_),
          parts_(data_, att_, steps_) {}

    void draw(std::vector<shown_step>& steps) {
        for (shown_step& step : steps) {
            step.strings.of({});
            add_ranges(step);
            add_calls(step);
            add_operations(step);
        }
        add_gaps(steps);
        for (shown_step& step : steps) add_path(step);
    }

private:
    std::uint32_t text(shown_step& step, std::string_view name) const {
        std::string shown = page_name(name.substr(0, 4 * longest_name));
        if (shown.size() > longest_name) {
            std::size_t end = longest_name;
            while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
            shown.resize(end);
            shown += "…";
        }
        return step.strings.of(std::move(shown));
    }

    std::string thread_title(std::uint32_t thread) const {
        const timeline_thread& of = data_.threads[thread];
        if (thread == steps_.thread) return "main thread";
        return of.name.empty() ? fmt::format("thread {}", of.tid) : page_name(of.name);
    }
    static std::string thread_group(const timeline& data, std::uint32_t thread) {
        return fmt::format("thread {}", data.threads[thread].tid);
    }

    // The threads that did most in the step, that with the steps first.
    std::vector<std::uint32_t> threads_of(const shown_step& step) const {
        std::map<std::uint32_t, std::size_t> counts;
        for (const timeline_range& range : data_.ranges) {
            if (range.thread != npos && range.style == range_style::push_pop && step.has(range.start_ns, range.end_ns))
                ++counts[range.thread];
        }
        for (const timeline_api_call& call : data_.api_calls) {
            if (call.thread != npos && step.has(call.start_ns, std::max(call.end_ns, call.start_ns)))
                ++counts[call.thread];
        }
        std::vector<std::pair<std::uint32_t, std::size_t>> order(counts.begin(), counts.end());
        std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
            return std::pair(a.first != steps_.thread, ~a.second) < std::pair(b.first != steps_.thread, ~b.second);
        });
        std::vector<std::uint32_t> out;
        for (const auto& [thread, count] : order) {
            if (out.size() < most_threads) out.push_back(thread);
        }
        return out;
    }

    void add_ranges(shown_step& step) {
        threads_ = threads_of(step);
        std::map<std::uint32_t, std::vector<std::uint32_t>> phases;  // by thread
        std::map<std::uint32_t, std::vector<std::uint32_t>> ranges;
        for (std::uint32_t i = 0; i < data_.ranges.size(); ++i) {
            const timeline_range& range = data_.ranges[i];
            if (range.style != range_style::push_pop || range.thread == npos || att_.hidden.contains(range)) continue;
            if (!step.has(range.start_ns, range.end_ns) || parts_.is_step(range)) continue;
            if (std::find(threads_.begin(), threads_.end(), range.thread) == threads_.end()) continue;
            (is_phase(data_, range) ? phases : ranges)[range.thread].push_back(i);
        }
        for (const auto& [thread, list] : phases) add_levels(step, lane_kind::phases, thread, list);
        for (const std::uint32_t thread : threads_) {
            if (const auto found = ranges.find(thread); found != ranges.end()) {
                add_levels(step, lane_kind::ranges, thread, found->second);
            }
        }
    }

    // Ranges by how deep they lie in each other; one that reaches beyond the one around it ends with it.
    void add_levels(shown_step& step, lane_kind kind, std::uint32_t thread, std::vector<std::uint32_t> list) {
        std::sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
            const timeline_range& first = data_.ranges[a];
            const timeline_range& second = data_.ranges[b];
            return std::tuple(first.start_ns, -first.end_ns, a) < std::tuple(second.start_ns, -second.end_ns, b);
        });
        std::vector<lane> levels;
        std::vector<std::int64_t> open;
        for (const std::uint32_t index : list) {
            const timeline_range& range = data_.ranges[index];
            while (!open.empty() && open.back() <= range.start_ns) open.pop_back();
            const std::size_t depth = open.size();
            const std::int64_t end_ns = open.empty() ? range.end_ns : std::min(range.end_ns, open.back());
            if (end_ns < range.start_ns) continue;
            open.push_back(end_ns);
            if (depth >= most_levels) {
                ++left_out_;
                continue;
            }
            if (depth >= levels.size()) {
                levels.push_back({kind, kind == lane_kind::phases ? "phases" : thread_title(thread),
                                  thread_group(data_, thread), depth});
            }
            std::vector<slice>& slices = levels[depth].slices;
            // A level may be entered anew at the moment at which it was left.
            if (!slices.empty() && slices.back().end_ns > range.start_ns) continue;
            slices.push_back({range.start_ns, end_ns, text(step, name_of(range))});
        }
        std::move(levels.begin(), levels.end(), std::back_inserter(step.lanes));
    }

    // Names of libprof's own domains stand for themselves.
    std::string name_of(const timeline_range& range) const {
        if (range.is_module || range.is_operator) return std::string(data_.name(range.name));
        return segment_text(data_, range, false);
    }

    void add_calls(shown_step& step) {
        std::map<std::uint32_t, lane> by_thread;
        for (std::uint32_t i = 0; i < data_.api_calls.size(); ++i) {
            const timeline_api_call& call = data_.api_calls[i];
            const std::int64_t end_ns = std::max(call.end_ns, call.start_ns);
            if (call.start_ns >= std::max(step.of.to_ns(), step.of.end_ns)) break;
            if (call.thread == npos || !step.has(call.start_ns, end_ns)) continue;
            if (std::find(threads_.begin(), threads_.end(), call.thread) == threads_.end()) continue;
            lane& to = by_thread[call.thread];
            // The outermost one of several.
            if (!to.slices.empty() && to.slices.back().end_ns > call.start_ns) continue;
            auto& name = call_names_[call_name_key(call)];
            if (name.empty()) name = input_.report.call_name(call);
            to.slices.push_back({call.start_ns, end_ns, text(step, name), 0, i});
        }
        // Behind the ranges of its thread.
        for (auto& [thread, made] : by_thread) {
            made.kind = lane_kind::calls;
            made.title = "CUDA calls";
            made.group = thread_group(data_, thread);
            const auto last = std::find_if(step.lanes.rbegin(), step.lanes.rend(), [&](const lane& each) {
                return each.group == made.group && each.kind == lane_kind::ranges;
            });
            if (last == step.lanes.rend()) {
                made.title = thread_title(thread) + ": CUDA calls";
                step.lanes.push_back(std::move(made));
            } else {
                step.lanes.insert(last.base(), std::move(made));
            }
        }
    }

    void add_operations(shown_step& step) {
        struct stream_lanes {
            disjoint_rows rows{};
            std::vector<lane> lanes{};
        };
        std::map<gpu_place, stream_lanes> streams;
        for (const op_id i : data_.ops.ids()) {
            const gpu_op& op = data_.ops[i];
            if (op.start_ns >= step.of.to_ns()) break;
            if (!step.is_in_time(op.start_ns, op.end_ns)) continue;
            const gpu_place& place = data_.place_of(op);
            stream_lanes& of = streams[place];
            const std::size_t row = of.rows.place(op.start_ns, op.end_ns);
            if (row >= of.lanes.size()) {
                const std::string_view given = data_.stream_name(place.context, place.stream);
                std::string title = given.empty() ? fmt::format("stream {}", place.stream) : page_name(given);
                if (given.empty() && are_alike(place)) title += fmt::format(", context {}", place.context);
                if (row > 0) title += fmt::format(", row {}", row + 1);
                of.lanes.resize(row + 1);
                of.lanes[row] = {lane_kind::stream, std::move(title), fmt::format("GPU {}", place.device)};
            }
            slice made{op.start_ns, op.end_ns};
            made.name = name_of(step, op);
            made.other = text(step, rows_.name(rows_.of_op(i).row));
            made.index = op.launch;
            made.op = i;
            made.kind = static_cast<std::uint8_t>(op.kind == op_kind::graph ? op_class::compute : class_of_(op));
            of.lanes[row].slices.push_back(made);
        }
        for (auto& [place, of] : streams) {
            std::move(of.lanes.begin(), of.lanes.end(), std::back_inserter(step.lanes));
        }
    }

    // Whether another context of the GPU has a stream of that number.
    bool are_alike(const gpu_place& place) const {
        return std::any_of(data_.places.begin(), data_.places.end(), [&](const gpu_place& each) {
            return each.device == place.device && each.stream == place.stream && each.context != place.context;
        });
    }

    std::uint32_t name_of(shown_step& step, const gpu_op& op) {
        std::string& name = op_names_[std::uint64_t{static_cast<std::uint32_t>(op.kind)} << 32 | op.detail];
        if (name.empty()) name = operation_name(data_, op, kernel_name_style::short_form);
        return text(step, name);
    }

    // As the breakdown divides them: a gap that goes on in another step is explained as a whole.
    void add_gaps(std::vector<shown_step>& steps) {
        if (data_.ops.empty() || steps_.steps.empty()) return;
        for (const std::uint32_t device : devices_of(data_)) {
            for (shown_step& step : steps) {
                step.lanes.push_back(
                    {lane_kind::gaps, fmt::format("GPU {} waits for", device), fmt::format("GPU {}", device)});
            }
            walk_device(data_, class_of_, device, steps_.steps.front().from_ns(), steps_.steps.back().to_ns(),
                        [&](const covered_time& piece, op_id next) {
                            if (!piece.is_idle()) return;
                            const bool is_shown = std::any_of(steps.begin(), steps.end(), [&](const shown_step& step) {
                                return step.is_in_time(piece.start_ns, piece.end_ns);
                            });
                            if (!is_shown) return;
                            causes_.explain({piece.start_ns, piece.end_ns, device, next},
                                            [&](const idle_piece& of) { add_gap(steps, of); });
                        });
        }
    }

    // The critical path of the step and those around it, as far as it lies in the step.
    void add_path(shown_step& step) {
        constexpr std::size_t around = 2;
        const step_time_subject& subject = *input_.subject;
        whole_steps near = steps_;
        const std::size_t from = step.index - std::min(step.index, around);
        const std::size_t end = std::min(steps_.steps.size(), step.index + around + 1);
        near.steps.assign(steps_.steps.begin() + static_cast<std::ptrdiff_t>(from),
                          steps_.steps.begin() + static_cast<std::ptrdiff_t>(end));
        std::unordered_map<std::uint32_t, std::uint32_t> by_op;
        std::unordered_map<std::string, std::uint32_t> by_group;  // the calls of a thread, or else its ranges
        for (std::uint32_t i = 0; i < step.lanes.size(); ++i) {
            const lane& each = step.lanes[i];
            for (const slice& of : each.slices) {
                if (of.op != npos) by_op.emplace(of.op, i);
            }
            if (each.kind == lane_kind::calls || (each.kind == lane_kind::ranges && each.depth == 0)) {
                by_group[each.group] = i;
            }
        }
        lane path{lane_kind::path, "critical path", "critical path"};
        for (const named_piece& piece :
             named_critical_path(data_, att_, subject.step_function, &near, &subject.original)) {
            slice made{std::max(piece.start_ns, step.of.from_ns()), std::min(piece.end_ns, step.of.to_ns())};
            if (made.start_ns >= made.end_ns) continue;
            if (!path.slices.empty() && path.slices.back().end_ns > made.start_ns) continue;
            made.name = text(step, piece.kind);
            made.other = text(step, piece.where);
            if (const auto found = by_op.find(piece.op); piece.op != npos && found != by_op.end()) {
                made.index = found->second;
            } else if (piece.op == npos && piece.thread != npos) {
                const auto lane_of = by_group.find(thread_group(data_, piece.thread));
                if (lane_of != by_group.end()) made.index = lane_of->second;
            }
            path.slices.push_back(made);
        }
        if (!path.slices.empty()) step.lanes.push_back(std::move(path));
    }

    void add_gap(std::vector<shown_step>& steps, const idle_piece& of) {
        for (shown_step& step : steps) {
            const std::int64_t from_ns = std::max(of.start_ns, step.of.from_ns());
            const std::int64_t to_ns = std::min(of.end_ns, step.of.to_ns());
            if (from_ns >= to_ns) continue;
            slice made{from_ns, to_ns};
            made.kind = static_cast<std::uint8_t>(of.cause);
            std::string place = where_.path(of.place);
            if (of.call != npos && of.cause != idle_cause::launching) {
                std::string call = input_.report.call_name(data_.api_calls[of.call]);
                if (!place.empty()) call.append(", ").append(place);
                place = std::move(call);
            }
            made.other = text(step, place);
            step.lanes.back().slices.push_back(made);
        }
    }

    const page_input& input_;
    const timeline& data_;
    const attribution& att_;
    const whole_steps& steps_;
    op_classifier class_of_;
    host_activity host_;
    code_places where_;
    idle_causes causes_;
    row_tree tree_;
    step_rows rows_;
    step_parts parts_;
    std::vector<std::uint32_t> threads_;  // of the step that is drawn
    std::unordered_map<std::uint64_t, std::string> call_names_;
    std::unordered_map<std::uint64_t, std::string> op_names_;
    std::size_t left_out_ = 0;
};

std::size_t slices_in(const std::vector<lane>& lanes) {
    return std::accumulate(lanes.begin(), lanes.end(), std::size_t{0},
                           [](std::size_t sum, const lane& each) { return sum + each.slices.size(); });
}

// Slices that adjoin, shorter than `least_ns` each, become one that is about so long.
void merge_short(std::vector<slice>& slices, std::int64_t least_ns) {
    std::vector<slice> out;
    for (const slice& each : slices) {
        const std::int64_t ns = each.end_ns - each.start_ns;
        if (!out.empty()) {
            slice& last = out.back();
            const bool is_short = ns < least_ns && (last.count > 1 || last.end_ns - last.start_ns < least_ns);
            if (is_short && each.end_ns - last.start_ns < 2 * least_ns && last.kind == each.kind) {
                if (last.count == 1) last.busy_ns = last.end_ns - last.start_ns;
                last.busy_ns += each.count > 1 ? each.busy_ns : ns;
                last.count += each.count;
                last.end_ns = each.end_ns;
                continue;
            }
        }
        out.push_back(each);
    }
    slices = std::move(out);
}

// Returns how many slices are shown as parts of others.
std::size_t thin(std::vector<lane>& lanes, std::int64_t length_ns) {
    const std::size_t all = slices_in(lanes);
    constexpr std::int64_t finest = 60'000;
    std::int64_t least_ns = std::max<std::int64_t>(length_ns / finest, 1);
    while (slices_in(lanes) > most_slices && least_ns < length_ns) {
        for (lane& each : lanes) merge_short(each.slices, least_ns);
        least_ns *= 2;
    }
    return all - slices_in(lanes);
}

std::string payload_of(const shown_step& step) {
    const std::int64_t base_ns = step.of.from_ns();
    std::string out =
        fmt::format(R"({{"number":{},"start_ns":{},"length_ns":{},"host":[{},{}],"strings":[)", step.of.number, 0,
                    step.of.length_ns(), step.of.start_ns - base_ns, step.of.end_ns - base_ns);
    bool is_first = true;
    for (const std::string* const text : step.strings.texts()) {
        if (!std::exchange(is_first, false)) out += ',';
        out += page_json(*text).dump();
    }
    // Where the slice of a call is.
    std::unordered_map<std::uint32_t, std::pair<std::size_t, std::size_t>> calls;
    for (std::size_t l = 0; l < step.lanes.size(); ++l) {
        if (step.lanes[l].kind != lane_kind::calls) continue;
        for (std::size_t i = 0; i < step.lanes[l].slices.size(); ++i) calls[step.lanes[l].slices[i].index] = {l, i};
    }
    out += "],\"lanes\":[";
    for (std::size_t l = 0; l < step.lanes.size(); ++l) {
        const lane& each = step.lanes[l];
        if (l != 0) out += ",\n";
        out += fmt::format(R"({{"kind":"{}","title":{},"group":{},"depth":{})", to_string(each.kind),
                           page_json(each.title).dump(), page_json(each.group).dump(), each.depth);
        std::vector<std::int64_t> numbers;
        const auto add = [&](std::string_view key, auto&& value_of) {
            numbers.clear();
            for (const slice& of : each.slices) numbers.push_back(static_cast<std::int64_t>(value_of(of)));
            append_numbers(out, key, numbers);
        };
        std::int64_t before_ns = base_ns;
        add("start", [&](const slice& of) { return of.start_ns - std::exchange(before_ns, of.start_ns); });
        add("length", [](const slice& of) { return of.end_ns - of.start_ns; });
        add("name", [](const slice& of) { return of.name; });
        if (std::any_of(each.slices.begin(), each.slices.end(), [](const slice& of) { return of.count > 1; })) {
            add("count", [](const slice& of) { return of.count; });
            add("busy", [](const slice& of) { return of.count > 1 ? of.busy_ns : of.end_ns - of.start_ns; });
        }
        if (each.kind == lane_kind::stream) {
            const auto place_of = [&](const slice& of) {
                const auto found = of.count > 1 ? calls.end() : calls.find(of.index);
                return found == calls.end() ? std::pair<std::int64_t, std::int64_t>(-1, -1)
                                            : std::pair<std::int64_t, std::int64_t>(found->second);
            };
            add("from_lane", [&](const slice& of) { return place_of(of).first; });
            add("call", [&](const slice& of) { return place_of(of).second; });
            add("class", [](const slice& of) { return of.kind; });
            add("phase", [](const slice& of) { return of.other; });
        }
        if (each.kind == lane_kind::gaps) {
            add("cause", [](const slice& of) { return of.kind; });
            add("place", [](const slice& of) { return of.other; });
        }
        if (each.kind == lane_kind::path) {
            add("place", [](const slice& of) { return of.other; });
            add("on", [](const slice& of) { return of.index == npos ? -1 : static_cast<std::int64_t>(of.index); });
        }
        out += '}';
    }
    return out + "]}";
}

std::vector<shown_step> choose_steps(const std::vector<whole_step>& steps) {
    std::vector<std::size_t> order(steps.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return steps[a].length_ns() > steps[b].length_ns(); });
    std::vector<shown_step> out;
    const auto add = [&](std::string name, std::size_t index) {
        out.push_back({.name = std::move(name), .index = index, .of = steps[index]});
    };
    add("median", order[order.size() / 2]);
    if (order.size() < 2) return out;
    add("slowest", order.front());
    std::vector<std::int64_t> lengths = lengths_of(steps);
    const double longest = longest_usual(lengths, 1.1);
    for (std::size_t i = 1; i <= most_long_steps && i < order.size(); ++i) {
        const bool is_long = static_cast<double>(steps[order[i]].length_ns()) > longest;
        if (is_long && order[i] != out.front().index) add("long", order[i]);
    }
    return out;
}

}  // namespace

page_view make_timeline_view(const page_input& input) {
    page_view out{.name = "timeline", .heading = "One step in time", .link = "Timeline", .data = page_json::object()};
    page_json& list = out.data["steps"] = page_json::array();
    if (!input.step.has_steps) return {};
    if (!input.subject) {
        out.why = "No step is embedded, since none was found.";
        out.data["why"] = out.why;
        return out;
    }
    const whole_steps& steps = input.found.of;
    std::vector<shown_step> shown = choose_steps(steps.steps);
    step_drawer(input).draw(shown);
    page_table table{
        .caption = "Steps that are embedded, to be looked at with JavaScript",
        .columns = {
            {"step"}, {"number", true}, {fmt::format("length in {}", input.step.unit.name), true}, {"slices", true}}};
    std::size_t merged_in_all = 0;
    const std::int64_t first_ns = steps.steps.front().from_ns();
    for (std::size_t i = 0; i < shown.size(); ++i) {
        shown_step& step = shown[i];
        const std::size_t all = slices_in(step.lanes);
        const std::size_t merged = thin(step.lanes, step.of.length_ns());
        merged_in_all += merged;
        const std::string id = fmt::format("timeline-{}", i);
        list.push_back({{"id", id},
                        {"name", step.name},
                        {"number", step.of.number},
                        {"start_ns", step.of.from_ns() - first_ns},
                        {"length_ns", step.of.length_ns()},
                        {"slices", all - merged},
                        {"merged", merged}});
        table.rows.push_back({step.name, std::to_string(step.of.number),
                              input.step.text(static_cast<double>(step.of.length_ns())), std::to_string(all - merged)});
        out.payloads.push_back({id, payload_of(step)});
        step = {};
    }
    if (merged_in_all != 0) {
        out.lead.push_back(
            fmt::format("{} slices are too short to be shown one by one: those that adjoin are one, with their number.",
                        merged_in_all));
    }
    out.blocks.emplace_back(std::move(table));
    return out;
}

}  // namespace prof
