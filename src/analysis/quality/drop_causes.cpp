// SPDX-License-Identifier: Apache-2.0
#include "analysis/quality/drop_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>

#include "base/display_text.hpp"

namespace prof {
namespace {

constexpr drop_description descriptions[] = {
    {"ring_full", "records: the drain thread came too late", "more memory, fewer ranges, a free core"},
    {"enclosing_range_dropped", "ranges inside a dropped one", "as for ring_full"},
    {"no_ring", "records of threads beyond the rings", "more memory, or room in /dev/shm"},
    {"names_full", "names; the range is there without one", "more memory"},
    {"labels_full", "names of threads, streams, categories beyond 4096", "name fewer"},
    {"domains_full", "ranges of too many NVTX domains", "make a domain once"},
    {"pop_without_push", "pops of ranges begun before the recording, on another thread, or never", "usual in windows"},
    {"end_without_start", "ends of start/end ranges begun before the recording, or never", "usual in windows"},
    {"nested_too_deep", "time of ranges between the 32 outermost and the latest", "look for missing pops"},
    {"unknown_parent", "work for places of another recording", "take places while recording"},
    {"cupti_dropped", "GPU records: CUPTI had no buffer", "more memory"},
    {"cupti_no_buffer", "GPU records: CUPTI had no buffer", "more memory"},
    {"cupti_no_timestamp", "GPU records without times", "nothing: CUPTI gave none"},
    {"cupti_unknown_record", "GPU records of kinds that libprof did not ask for", "look for another CUPTI client"},
    {"cupti_error", "a CUPTI call failed, or a buffer came late", "launches without a GPU record show the loss"},
    {"write_failed", "records that the capture's disk refused", "make room"},
    {"forked_child", "children that could not be recorded", "see the limits of forked children"},
    {"graph_memory_full", "nodes of CUDA graphs beyond 262 144 (inside graphs 65 280)",
     "their work counts for the launch"},
    {"signal_handler", "ranges of a handler that interrupted a record", "make none in handlers"},
};
constexpr drop_description of_another_version = {"cause_N", "what a newer libprof counts", "use its prof"};

// What a line for people says of causes that are counted together.
struct drop_sentence {
    std::array<std::string_view, 2> causes;  // the second may be ""
    note_weight weight;
    // Of how many the count is a part; null: that is not known.
    std::uint64_t (*whole)(const timeline& data, std::uint64_t count);
    std::string_view one;     // "range was lost: …", after "1 "
    std::string_view many;    // after the count, with its share if there is one
    std::string_view remedy;  // "" where there is nothing to do
};

std::uint64_t host_records(const timeline& data, std::uint64_t lost) {
    return data.ranges.size() + data.marks.size() + data.api_calls.size() + lost;
}
std::uint64_t ranges_and_lost(const timeline& data, std::uint64_t lost) { return data.ranges.size() + lost; }
std::uint64_t gpu_records(const timeline& data, std::uint64_t lost) { return data.ops.size() + lost; }
// A range without a name is there.
std::uint64_t ranges(const timeline& data, std::uint64_t) { return data.ranges.size(); }

constexpr auto sentences = std::to_array<drop_sentence>({
    {{"ring_full", "enclosing_range_dropped"},
     note_weight::warning,
     host_records,
     "range or CUDA call was lost: the rings were full",
     "of all ranges and CUDA calls were lost: the rings were full",
     "raise memory (--memory 512M), or make fewer ranges"},
    {{"no_ring"},
     note_weight::warning,
     host_records,
     "range or CUDA call was lost: there were more threads than rings",
     "of all ranges and CUDA calls were lost: there were more threads than rings",
     "raise memory (--memory 512M), or make room in /dev/shm"},
    {{"names_full"},
     note_weight::warning,
     ranges,
     "range lost its name: there was no room for more names",
     "of all ranges lost their names: there was no room for more names",
     "raise memory (--memory 512M), or give ranges fewer different names"},
    {{"domains_full"},
     note_weight::warning,
     ranges_and_lost,
     "range was lost: the program has too many NVTX domains",
     "of all ranges were lost: the program has too many NVTX domains",
     "make a domain once, not for each range"},
    {{"cupti_dropped", "cupti_no_buffer"},
     note_weight::warning,
     gpu_records,
     "GPU operation or more was lost: CUPTI had no buffer",
     "of all GPU operations were lost: CUPTI had no buffer",
     "raise memory (--memory 512M)"},
    {{"cupti_no_timestamp"},
     note_weight::warning,
     gpu_records,
     "GPU operation was lost: CUPTI gave it no times",
     "of all GPU operations were lost: CUPTI gave them no times",
     ""},
    {{"cupti_error"},
     note_weight::warning,
     nullptr,
     "call of CUPTI failed, so GPU operations may be missing",
     "calls of CUPTI failed, so GPU operations may be missing",
     "see the launches without a GPU record"},
    {{"write_failed"},
     note_weight::warning,
     nullptr,
     "record was lost: the capture's disk refused it",
     "records were lost: the capture's disk refused them",
     "make room there, or choose another output_dir"},
    {{"forked_child"},
     note_weight::warning,
     nullptr,
     "forked child process used ranges or CUDA and could not be recorded",
     "forked child processes used ranges or CUDA and could not be recorded",
     "start workers by spawn or forkserver; for the limits of forked children see docs/reference/options.md"},
    {{"nested_too_deep"},
     note_weight::warning,
     nullptr,
     "range was nested too deeply to have GPU time of its own",
     "ranges were nested too deeply to have GPU time of their own",
     "look for pushes without a pop"},
    {{"cupti_unknown_record"},
     note_weight::detail,
     nullptr,
     "GPU record was of a kind that libprof did not ask for",
     "GPU records were of kinds that libprof did not ask for",
     "look for another client of CUPTI"},
    {{"labels_full"},
     note_weight::detail,
     nullptr,
     "name of a thread, stream or category was left out: there is room for 4,096",
     "names of threads, streams and categories were left out: there is room for 4,096",
     ""},
    {{"pop_without_push"},
     note_weight::detail,
     nullptr,
     "end of a range had no beginning in the recording, as where that begins inside ranges",
     "ends of ranges had no beginning in the recording, as where that begins inside ranges",
     ""},
    {{"end_without_start"},
     note_weight::detail,
     nullptr,
     "end of a start/end range had no start in the recording, as where that begins inside ranges",
     "ends of start/end ranges had no start in the recording, as where that begins inside ranges",
     ""},
    {{"unknown_parent"},
     note_weight::detail,
     nullptr,
     "piece of work was declared for a place of another recording",
     "pieces of work were declared for places of another recording",
     "take places while recording"},
    {{"graph_memory_full"},
     note_weight::detail,
     nullptr,
     "node of CUDA graphs was beyond those that are kept, so its work counts for the launch",
     "nodes of CUDA graphs were beyond those that are kept, so their work counts for the launch",
     ""},
    {{"signal_handler"},
     note_weight::detail,
     nullptr,
     "range of a signal handler was left out: the handler had interrupted libprof",
     "ranges of signal handlers were left out: the handlers had interrupted libprof",
     ""},
});

// "62.3 % (1,861,253) of all ranges …", "1 range …". A share of less than 0.1 % is left out.
std::string counted(const drop_sentence& of, std::uint64_t count, const timeline& data) {
    constexpr double least_share = 0.001;
    if (count == 1) return fmt::format("1 {}", of.one);
    const std::uint64_t whole = of.whole == nullptr ? 0 : of.whole(data, count);
    const double share = whole == 0 ? 0 : static_cast<double>(count) / static_cast<double>(whole);
    if (share < least_share) return fmt::format("{} {}", with_thousands(count), of.many);
    return fmt::format("{:.1f} % ({}) {}", share * 100, with_thousands(count), of.many);
}

}  // namespace

const drop_description& describe_drop(std::string_view cause) noexcept {
    const auto* const found = std::find_if(std::begin(descriptions), std::end(descriptions),
                                           [&](const drop_description& of) { return of.cause == cause; });
    return found == std::end(descriptions) ? of_another_version : *found;
}

std::vector<capture_note> drop_notes(const timeline& data) {
    std::map<std::string, std::uint64_t> left = data.quality.dropped;
    std::vector<capture_note> out;
    for (const drop_sentence& of : sentences) {
        std::uint64_t count = 0;
        std::string causes;
        for (const std::string_view cause : of.causes) {
            const auto found = left.find(std::string(cause));
            if (found == left.end()) continue;
            count += found->second;
            causes.append(causes.empty() ? "" : ", ").append(cause);
            left.erase(found);
        }
        if (count == 0) continue;
        std::string text = counted(of, count, data);
        if (!of.remedy.empty()) text.append("; ").append(of.remedy);
        out.push_back({of.weight, text.append(" (").append(causes).append(")")});
    }
    for (const auto& [cause, count] : left) {
        out.push_back({note_weight::warning, fmt::format("{} losses of a kind that this version does not know; use the "
                                                         "prof of the libprof that recorded ({})",
                                                         with_thousands(count), cause)});
    }
    return out;
}

}  // namespace prof
