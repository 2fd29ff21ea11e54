// SPDX-License-Identifier: Apache-2.0
// A capture that begins with a key frame gives exactly what the whole capture gives of the part after it: random
// programs are recorded with key frames, and the file is read from each of them on.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "collect/pipeline.hpp"
#include "collect/random_program.hpp"
#include "support/sanitized.hpp"
#include "timeline/contents.hpp"
#include "timeline/load.hpp"
#include "timeline/tick_clock.hpp"

namespace prof::test::kept_suffix_test {
namespace {

constexpr std::uint32_t programs = 200;

struct frame_place {
    std::size_t offset = 0;
    std::uint64_t begin_ticks = 0;
    std::map<std::uint64_t, std::uint64_t> last_ticks;  // by thread: of its latest record before the frame
    std::set<std::uint64_t> gpu_before;                 // correlations of the GPU records before it
    std::set<std::uint64_t> calls_before;
};

template <typename TRecord>
void add_correlations(std::set<std::uint64_t>& to, const chunk& c) {
    for (const TRecord& r : elements<TRecord>(c.payload)) to.insert(r.correlation);
}

std::vector<frame_place> frames_of(const std::string& path) {
    const byte_string bytes = read_bytes(path);
    const std::vector<std::size_t> offsets = chunk_offsets(bytes);
    std::vector<frame_place> out;
    frame_place now;
    capture_reader reader(path);
    std::size_t number = 0;
    for (chunk c; reader.next(c); ++number) {
        switch (c.type) {
            case format::chunk_type::records:
                for (const record& r : records_of(c.payload).records) {
                    now.last_ticks[c.aux] = r.ticks;
                    if (r.kind == record_kind::api_enter) now.calls_before.insert(r.value);
                }
                break;
            case format::chunk_type::kernels:
                add_correlations<kernel_record>(now.gpu_before, c);
                break;
            case format::chunk_type::transfers:
                add_correlations<transfer_record>(now.gpu_before, c);
                break;
            case format::chunk_type::graphs:
                add_correlations<graph_record>(now.gpu_before, c);
                break;
            case format::chunk_type::key_frame:
                now.offset = offsets[number];
                now.begin_ticks = elements<format::key_frame_entry>(c.payload).front().begin_ticks;
                out.push_back(now);
                break;
            default:
                break;
        }
    }
    return out;
}

std::string stack_text(const timeline& data, std::uint32_t node) {
    std::string out;
    for (; node != npos; node = data.open_nodes[node].below) {
        out += '/' + std::string(data.name(data.ranges[data.open_nodes[node].range].name));
    }
    return out;
}

// Where the work of a graph's node was captured.
std::string capture_text(const timeline& data, std::uint32_t node) {
    if (node == graph_capture_unseen) return " of a capture that was not seen";
    return " captured in " + stack_text(data, data.graph_nodes[node].open);
}

using op_key = std::tuple<std::int64_t, std::int64_t, std::uint64_t, std::uint32_t, int>;
std::map<op_key, std::string> ops_of(const timeline& data, const std::set<std::uint64_t>& without) {
    std::map<op_key, std::string> out;
    for (const gpu_op& op : data.ops) {
        if (without.contains(op.correlation)) continue;
        std::string launch = op.launch == npos ? "(none)"
                                               : data.threads[data.api_calls[op.launch].thread].system_name + ' ' +
                                                     stack_text(data, data.api_calls[op.launch].open);
        if (op.graph_node != npos && op.launch != npos) launch += capture_text(data, op.graph_node);
        out[{op.start_ns, op.end_ns, op.correlation, data.place_of(op).stream, static_cast<int>(op.kind)}] = launch;
    }
    return out;
}

// Of each range that is open at or after the border: all that is known of it but where it begins, and how deep that is:
// of another domain, a range around it may have been closed since.
using range_key = std::tuple<std::string, std::string, std::string, std::int64_t, bool, int>;
std::multiset<range_key> ranges_of(const timeline& data, const std::map<std::uint64_t, std::int64_t>& borders) {
    std::multiset<range_key> out;
    for (const timeline_range& r : data.ranges) {
        if (r.style == range_style::graph_context) continue;  // known for graphs' sake
        const std::uint32_t closer = r.end_thread == npos ? r.thread : r.end_thread;
        const auto border = borders.find(data.threads[closer].uid);
        if (!r.open_at_end && border != borders.end() && r.end_ns <= border->second) continue;
        out.emplace(data.threads[r.thread].system_name, data.name(r.name), data.domains[r.domain].name,
                    r.open_at_end ? 0 : r.end_ns, r.open_at_end, static_cast<int>(r.style));
    }
    return out;
}

struct coverage {
    std::uint64_t suffixes = 0;
    std::uint64_t open = 0;
    std::uint64_t left_out = 0;
    std::uint64_t operations = 0;
    std::uint64_t replayed = 0;  // of graphs captured before the border
};

void check_suffix(const std::string& path, const timeline& whole, const frame_place& frame, coverage& met) {
    byte_string bytes = read_bytes(path);
    bytes.erase(bytes.begin() + sizeof(format::file_header), bytes.begin() + static_cast<std::ptrdiff_t>(frame.offset));
    const memory_file file;
    file.hold(bytes);
    const timeline part = load_timeline(file.path());
    ASSERT_TRUE(part.quality.is_latest_part);
    EXPECT_EQ(part.quality.damaged_bytes, 0U);
    EXPECT_TRUE(part.quality.ended);

    const capture_contents contents = read_contents(path);
    const tick_clock clock{contents.clocks, contents.ticks, 0, contents.created_realtime_ns};
    std::map<std::uint64_t, std::int64_t> borders;
    for (const auto& [thread, ticks] : frame.last_ticks) borders[thread] = clock.to_ns(ticks);
    EXPECT_EQ(ranges_of(part, {}), ranges_of(whole, borders));

    // Launched in the trimmed part, and done later.
    std::set<std::uint64_t> gone = frame.gpu_before;
    for (const gpu_op& op : whole.ops) {
        const bool launched_before = op.launch != npos && frame.calls_before.contains(op.correlation);
        if (launched_before && !frame.gpu_before.contains(op.correlation)) ++met.left_out;
        if (launched_before) gone.insert(op.correlation);
    }
    const auto expected = ops_of(whole, gone);
    auto found = ops_of(part, {});
    // For work without a launch, a reader cannot know on which side of the border the launch was.
    std::erase_if(found, [&](const auto& op) { return op.second == "(none)"; });
    for (const auto& [key, launch] : expected) {
        if (launch == "(none)") continue;
        ASSERT_TRUE(found.contains(key));
        EXPECT_EQ(found.at(key), launch);
        found.erase(key);
        ++met.operations;
    }
    EXPECT_TRUE(found.empty());
    for (const char* const cause : {"pop_without_push", "end_without_start"}) {
        const auto in_part = part.quality.dropped.find(cause);
        const auto in_whole = whole.quality.dropped.find(cause);
        EXPECT_LE(in_part == part.quality.dropped.end() ? 0 : in_part->second,
                  in_whole == whole.quality.dropped.end() ? 0 : in_whole->second)
            << cause;
    }
    for (const timeline_range& r : part.ranges) {
        EXPECT_TRUE(!r.open_at_start || r.start_ns <= clock.to_ns(frame.begin_ticks));
    }
    for (const gpu_op& op : part.ops) {
        const bool is_known = op.graph_node != npos && op.graph_node != graph_capture_unseen;
        if (is_known && op.launch != npos && part.graph_nodes[op.graph_node].outside_windows) ++met.replayed;
    }
    met.open += part.quality.ranges_open_at_start;
    ++met.suffixes;
}

TEST(KeptSuffix, AgreesWithTheWholeCapture) {
    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    coverage met;
    for (std::uint32_t i = 0; i < program_count(random_cases(programs)); ++i) {
        const std::uint32_t seed = first_seed() + i;
        SCOPED_TRACE("seed " + std::to_string(seed));
        random_program program(seed, {});
        drain_plan plan = drain_plan::random(seed, program.steps.size());
        plan.key_frame_one_in = 10;
        carry_out(program, plan, path);
        if (HasFatalFailure()) return;
        const timeline whole = load_timeline(path);
        for (const frame_place& frame : frames_of(path)) {
            SCOPED_TRACE("from byte " + std::to_string(frame.offset));
            check_suffix(path, whole, frame, met);
            if (HasFailure()) return;
        }
        std::filesystem::remove(path);
    }
    std::printf("%lu suffixes, %lu open ranges, %lu operations (%lu of graphs captured before), %lu launched before\n",
                met.suffixes, met.open, met.operations, met.replayed, met.left_out);
    if (program_count(random_cases(programs)) < programs) return;
    EXPECT_GT(met.suffixes, programs);
    EXPECT_GT(met.open, programs);
    EXPECT_GT(met.operations, programs);
    EXPECT_GT(met.replayed, programs / 10);
    EXPECT_GT(met.left_out, programs / 10);
}

}  // namespace
}  // namespace prof::test::kept_suffix_test
