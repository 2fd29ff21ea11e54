// SPDX-License-Identifier: Apache-2.0
#include "analysis/quality/capture_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/quality/drop_causes.hpp"
#include "analysis/quality/ending.hpp"
#include "analysis/steps/captured_steps.hpp"
#include "record/launch_calls.hpp"

namespace prof {
namespace {

// "1 launch has" and "2 launches have" are what a note begins with.
std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string gpus(const timeline& data) {
    if (data.activities.is_empty()) return "GPU work not recorded";
    if (data.devices.empty()) return data.ops.empty() ? "no GPU work" : "GPU unknown";
    std::string out = fmt::format("{} GPU{}", data.devices.size(), data.devices.size() == 1 ? "" : "s");
    const std::string_view name = data.name(name_id(data.devices.front().name));
    const bool all_alike = std::all_of(data.devices.begin(), data.devices.end(), [&](const device_record& device) {
        return data.name(name_id(device.name)) == name;
    });
    if (all_alike && !name.empty()) out += fmt::format(" ({})", name);
    return out;
}

// What the program's own options left out, and what follows for the tables.
std::string left_out(const timeline& data) {
    const activity_set set = data.activities;
    if (set == activity_set::all()) return {};
    std::string out =
        fmt::format("not recorded: {} (activities={})", activities_left_out(set), data.property("activities"));
    if (set.has_gpu_work() && !set.has(activity::launches)) out += "; so GPU work is in no range";
    const bool some_waits = set.has(activity::waits) || set.has(activity::allocations) ||
                            (set.has(activity::copies) && set.has(activity::launches));
    if (some_waits && !(set.has(activity::waits) && set.has(activity::allocations))) {
        out += "; times of waiting are those of the calls that were recorded";
    }
    return out;
}

// Of a recording that keeps its latest part only.
std::string trim(const timeline& data) {
    const timeline_quality& quality = data.quality;
    std::string out = fmt::format("only the latest {:.3f} s were kept (keep={}): {} before them and {} were discarded",
                                  static_cast<double>(data.end_ns - data.start_ns) * 1e-9, data.property("keep"),
                                  counted(quality.trimmed_records, "record", "records"),
                                  counted(quality.trimmed_gpu_records, "GPU record", "GPU records"));
    if (quality.launched_before != 0) {
        out += ", and with their launches " + counted(quality.launched_before, "operation", "operations") +
               " that the GPU did later";
    }
    return out;
}

struct step_range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

// The steps of each window, of `steps` that were begun. A window that the program's end closed, a step later than its
// last: that step is none. One that a death cut has all that are known of.
std::vector<step_range> steps_of_windows(const timeline& data, std::uint64_t steps) {
    std::vector<step_range> out;
    for (const timeline_window& window : data.windows) {
        step_range range{window.first_step, std::max(window.first_step, window.last_step)};
        const bool is_cut = !data.quality.ended && !window.ends_with_step && &window == &data.windows.back();
        if (is_cut && steps > range.last) range.last = steps - 1;
        if (range.last == steps && range.last > range.first) --range.last;
        out.push_back(range);
    }
    return out;
}

std::string listed(const std::vector<step_range>& ranges) {
    constexpr std::size_t most = 4;
    std::string out;
    for (std::size_t i = 0; i < std::min(ranges.size(), most); ++i) {
        if (i != 0) out += ", ";
        out += std::to_string(ranges[i].first);
        if (ranges[i].last != ranges[i].first) out += fmt::format(" to {}", ranges[i].last);
    }
    return ranges.size() > most ? out + ", …" : out;
}

}  // namespace

std::int64_t recorded_ns(const timeline& data) {
    if (data.windows.size() < 2) return data.end_ns - data.start_ns;
    std::int64_t sum = 0;
    for (const timeline_window& window : data.windows) sum += window.end_ns - window.start_ns;
    return sum;
}

std::string windows_line(const timeline& data) {
    if (data.windows.size() < 2 && data.property("plan").empty()) return {};
    // Its steps may have been dropped, and the window that has them not.
    if (data.quality.is_latest_part) return {};
    const std::string windows = fmt::format("in {} window{}", data.windows.size(), data.windows.size() == 1 ? "" : "s");
    const std::uint64_t steps = steps_of_run(data);
    if (steps == 0) return fmt::format("recorded {}", windows);
    const std::vector<step_range> ranges = steps_of_windows(data, steps);
    std::uint64_t recorded = 0;
    std::uint64_t next = 0;  // a window may begin in the step in which the one before it ended
    for (const step_range& range : ranges) {
        if (range.last < next) continue;
        recorded += range.last - std::max(range.first, next) + 1;
        next = range.last + 1;
    }
    const bool is_one = ranges.size() == 1 && ranges.front().first == ranges.front().last;
    return fmt::format("recorded {} of {}{} steps, {}: step{} {}", std::min(recorded, steps),
                       step_count_is_known(data) ? "" : "at least ", steps, windows, is_one ? "" : "s", listed(ranges));
}

std::string capture_title(const timeline& data) {
    std::string out = data.property("name");
    if (out.empty()) out = "a process";
    if (const std::string& rank = data.property("rank"); !rank.empty()) out += ", rank " + rank;
    if (const std::string& pid = data.property("pid"); !pid.empty()) out += ", pid " + pid;
    if (const std::string& host = data.property("hostname"); !host.empty()) out += " on " + host;
    const double seconds = static_cast<double>(recorded_ns(data)) * 1e-9;
    return out + fmt::format(": {:.3f} s recorded, {}", seconds, gpus(data));
}

namespace {

// What the recording itself noted, by the property that holds it.
struct notice {
    const char* property;
    note_weight weight;
};
constexpr notice notices[] = {
    {"trace", note_weight::heading},
    {"missing", note_weight::heading},
    {"start_notice", note_weight::detail},
    {"recording_notice", note_weight::warning},
    {"nvtx_notice", note_weight::warning},
    {"cupti_notice", note_weight::warning},
    {"cuda_graphs_notice", note_weight::detail},
    {"lines_notice", note_weight::detail},
    {"nccl_notice", note_weight::detail},
    {"device_launches_notice", note_weight::warning},
    {"disk_notice", note_weight::warning},
    {"windows_notice", note_weight::warning},
    {"keep_notice", note_weight::detail},
    {"rings_notice", note_weight::detail},
    {"left_rings_notice", note_weight::detail},
};

void add_ending(const timeline& data, std::vector<capture_note>& out) {
    const timeline_quality& quality = data.quality;
    if (quality.ended) return;
    out.push_back({note_weight::heading, how_it_ended(data)});
    if (!quality.recovery.empty() && !quality.is_recovered_whole) {
        out.push_back({note_weight::detail, quality.recovery});
    }
}

void add_cuts(const timeline& data, std::vector<capture_note>& out) {
    const timeline_quality& quality = data.quality;
    if (const std::string& reason = data.property("dump"); !reason.empty()) {
        out.push_back({note_weight::heading, "a dump of a recording that went on: " + reason});
    }
    if (quality.is_latest_part) out.push_back({note_weight::heading, trim(data)});
    if (quality.ranges_open_at_start != 0) {
        out.push_back({note_weight::detail, counted(quality.ranges_open_at_start, "range was", "ranges were") +
                                                " open before what was kept and cut where that begins"});
    }
    if (quality.ranges_open_at_end != 0) {
        out.push_back({note_weight::detail,
                       counted(quality.ranges_open_at_end, "range was", "ranges were") +
                           (quality.process == process_state::running ? " open when this was read and cut there"
                                                                      : " still open at the end and cut there")});
    }
}

// Some launches of a process that was killed, or of a capture cut short, never complete. Where they are many, the GPU
// times of the table are too small.
capture_note unfinished(const timeline& data) {
    constexpr double share_that_matters = 0.01;
    const auto count = static_cast<double>(data.quality.launches_without_completion);
    const bool matters = count > share_that_matters * (count + static_cast<double>(data.ops.size()));
    return {matters ? note_weight::warning : note_weight::detail,
            counted(data.quality.launches_without_completion, "launch has", "launches have") +
                " no GPU record: the work had not completed, or its record was lost"};
}

// Replays of graphs that left no GPU record: what they ran is missing in all GPU times.
void add_empty_graphs(const timeline& data, std::vector<capture_note>& out) {
    if (!data.activities.has(activity::kernels)) return;
    std::uint64_t launches = 0;
    std::uint64_t empty = 0;
    for (const timeline_api_call& call : data.api_calls) {
        if (call.is_captured || kind_of_call(call.domain, call.cbid) != launch_kind::graph) continue;
        ++launches;
        if (call.op_count == 0) ++empty;
    }
    if (empty == 0) return;
    out.push_back({2 * empty > launches ? note_weight::warning : note_weight::detail,
                   counted(empty, "launch of a CUDA graph has", "launches of CUDA graphs have") +
                       " no GPU record: it had not completed, or what the graph ran was not recorded"});
}

// Operations that began before the call that launched them.
struct early_operations {
    std::uint64_t count = 0;
    std::int64_t longest_ns = 0;

    explicit early_operations(const timeline& data) {
        constexpr std::int64_t tolerance_ns = 20'000;
        for (const gpu_op& op : data.ops) {
            if (op.launch == npos) continue;
            const std::int64_t before_ns = data.api_calls[op.launch].start_ns - op.start_ns;
            if (before_ns <= tolerance_ns) continue;
            ++count;
            longest_ns = std::max(longest_ns, before_ns);
        }
    }

    // A few may have a wrong launch; of many, the clocks are wrong.
    bool are_many(const timeline& data) const noexcept { return count > data.ops.size() / 100; }
};

void add_early_operations(const timeline& data, std::vector<capture_note>& out) {
    const early_operations early(data);
    if (early.count == 0) return;
    out.push_back(
        {early.are_many(data) ? note_weight::warning : note_weight::detail,
         counted(early.count, "operation begins", "operations begin") +
             fmt::format(" before the launch, by up to {:.3f} ms: the clocks of host and GPU differ, and times "
                         "between host and GPU are wrong",
                         static_cast<double>(early.longest_ns) / 1e6)});
}

// A stream runs one operation after another, nodes of a graph excepted. The next kernel may begin a little before the
// end, if the program lets it. So the time of an operation is not credible that goes on for longer than that beside
// later ones of its stream, or after they have ended.
void add_overlong_operations(const timeline& data, std::vector<capture_note>& out) {
    constexpr std::int64_t tolerance_ns = 20'000;
    constexpr std::int64_t longest_beside_ns = 100'000;
    constexpr double share_that_matters = 0.01;
    struct latest {
        op_id op = npos;
        bool is_counted = false;
    };
    row_values<place_id, latest> running(data.places.size());
    std::uint64_t count = 0;
    std::int64_t excess_ns = 0;
    std::int64_t all_ns = 0;
    for (const op_id i : data.ops.ids()) {
        const gpu_op& op = data.ops[i];
        all_ns += op.end_ns - op.start_ns;
        latest& before = running[op.place];
        if (before.op != npos && data.ops[before.op].end_ns > op.start_ns + tolerance_ns) {
            const gpu_op& around = data.ops[before.op];
            const std::int64_t beside_ns = around.end_ns - op.start_ns;
            const bool is_of_graph = around.launch == op.launch || around.graph_node != npos || op.graph_node != npos;
            const bool outlives = around.end_ns > op.end_ns + tolerance_ns || beside_ns > longest_beside_ns;
            if (outlives && !before.is_counted && !is_of_graph && op.start_ns > around.start_ns) {
                before.is_counted = true;
                ++count;
                excess_ns += beside_ns;
            }
        }
        if (before.op == npos || op.end_ns > data.ops[before.op].end_ns) before = {i, false};
    }
    if (count == 0) return;
    const bool matters = static_cast<double>(excess_ns) > share_that_matters * static_cast<double>(all_ns);
    out.push_back({matters ? note_weight::warning : note_weight::detail,
                   counted(count, "operation goes on", "operations go on") +
                       fmt::format(" while later ones of the same stream run, for {:.3f} ms of the {:.3f} of all "
                                   "operations: that cannot be, so times are too long",
                                   static_cast<double>(excess_ns) / 1e6, static_cast<double>(all_ns) / 1e6)});
}

}  // namespace

bool is_clock_off(const timeline& data) { return early_operations(data).are_many(data); }

std::vector<capture_note> capture_notes(const timeline& data) {
    const timeline_quality& quality = data.quality;
    std::vector<capture_note> out = drop_notes(data);
    for (const std::string& damage : quality.damage) out.push_back({note_weight::warning, damage});
    if (quality.damaged_bytes != 0) {
        out.push_back({note_weight::warning, counted(quality.damaged_bytes, "byte of the file is damaged and was",
                                                     "bytes of the file are damaged and were") +
                                                 " passed over"});
    }
    if (quality.launches_without_completion != 0) out.push_back(unfinished(data));
    add_empty_graphs(data, out);
    add_early_operations(data, out);
    add_overlong_operations(data, out);
    for (const notice& known : notices) {
        const std::string& text = data.property(known.property);
        if (!text.empty()) out.push_back({known.weight, text});
    }
    add_ending(data, out);
    if (const std::string note = left_out(data); !note.empty()) out.push_back({note_weight::detail, note});
    add_cuts(data, out);
    for (const std::string& note : quality.notes) out.push_back({note_weight::detail, note});
    std::stable_sort(out.begin(), out.end(),
                     [](const capture_note& a, const capture_note& b) { return a.weight < b.weight; });
    return out;
}

std::vector<std::string> texts_of(const std::vector<capture_note>& notes, std::initializer_list<note_weight> weights) {
    std::vector<std::string> out;
    for (const capture_note& note : notes) {
        if (std::find(weights.begin(), weights.end(), note.weight) != weights.end()) out.push_back(note.text);
    }
    return out;
}

}  // namespace prof
