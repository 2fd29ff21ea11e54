// SPDX-License-Identifier: Apache-2.0
#include "options/options.hpp"

#include "options/plans.hpp"
#include "ring/producer.hpp"
#include "session/process/memory_plan.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace prof::options_test {
namespace {

using testing::ElementsAre;

TEST(Options, AcceptEveryNameOfTheTable) {
    session_options out;
    EXPECT_EQ(set_option(out, "output_dir", "/tmp/x").message(), "");
    EXPECT_EQ(out.output_dir, "/tmp/x");
    for (const auto& [text, bytes] : std::map<std::string, std::uint64_t>{
             {"16M", 16U << 20}, {"16384K", 16U << 20}, {"33554432", 32U << 20}, {"4G", 4ULL << 30}}) {
        EXPECT_EQ(set_option(out, "memory", text).message(), "");
        EXPECT_EQ(out.memory, bytes);
    }
    EXPECT_EQ(set_option(out, "export", "summary").message(), "");
    EXPECT_FALSE(out.exports.trace);
    EXPECT_TRUE(out.exports.summary);
    EXPECT_EQ(set_option(out, "export", "none").message(), "");
    EXPECT_FALSE(out.exports.summary);
    EXPECT_EQ(set_option(out, "export", "trace,summary").message(), "");
    EXPECT_TRUE(out.exports.trace && out.exports.summary && !out.exports.html);
    EXPECT_EQ(set_option(out, "export", "html,trace").message(), "");
    EXPECT_TRUE(out.exports.trace && out.exports.html && !out.exports.summary);
    EXPECT_EQ(set_option(out, "export", "html").message(), "");
    EXPECT_TRUE(out.exports.any() && !out.exports.any_of_process());
    EXPECT_EQ(set_option(out, "export", "trace,summary").message(), "");
    for (const char* how_much : {"60s", "10m", "168h", "8M", "500MB", "1T", "60s,500M", "2G,1h"}) {
        EXPECT_EQ(set_option(out, "keep", how_much).message(), "");
        EXPECT_EQ(out.keep.text, how_much);
    }
    EXPECT_EQ(set_option(out, "keep", "10m,500MB").message(), "");
    EXPECT_EQ(out.keep.value.time_ns, 600'000'000'000U);
    EXPECT_EQ(out.keep.value.bytes, 524'288'000U);
    for (const char* what : {"ranges", "ops", "off"}) {
        EXPECT_EQ(set_option(out, "pytorch", what).message(), "");
        EXPECT_EQ(text_of(out, "pytorch"), what);
    }
    EXPECT_EQ(set_option(out, "nvtx_domain_exclude", "NCCL,cu*").message(), "");
    EXPECT_THAT(out.nvtx_domain_exclude, ElementsAre("NCCL", "cu*"));
}

TEST(Options, RefuseBadValuesAndNameTheAcceptedOnes) {
    const std::pair<const char*, const char*> bad[] = {
        {"memory", "100"},
        {"memory", "8M"},
        {"memory", "48M"},
        {"memory", "8G"},
        {"memory", "-1"},
        {"memory", "64Q"},
        {"memory", "64Mx"},
        {"memory", ""},
        {"memory", "99999999999999999999"},
        {"memory", "17179869184G"},
        {"compress", "yes"},
        {"keep", "60"},
        {"keep", "0s"},
        {"keep", "169h"},
        {"keep", "7M"},
        {"keep", "2T"},
        {"keep", "60s,70s"},
        {"keep", "60s,"},
        {"keep", "60s,500M,1G"},
        {"keep", "18446744073709551615s"},
        {"autostart", ""},
        {"export", "pdf"},
        {"export", "trace,,"},
        {"rank", "one"},
        {"rank", "-1"},
        {"cuda_graphs", "edges"},
        {"api_calls", "both"},
        {"name", "a/b"},
        {"name", "a\nb"},
        {"output_dir", ""},
        {"pytorch", "all"},
        {"pytorch", ""},
        {"nvtx_domain_include", "a,,b"},
        {"nvtx_domain_exclude", ""},
        {"schedule", "wait=1"},
        {"step_range", "@domain"},
        {"capture_range", "cudaprofilerapi"},
        {"nvtx_capture", ""},
        {"steps", "9-8"},
        {"capture_range_end", "repeat-shutdown:2"},
        {"export_each", "cycle"},
    };
    for (const auto& [name, value] : bad) {
        session_options out;
        const session_options before = out;
        const std::string line = set_option(out, name, value).message();
        EXPECT_NE(line.find("it takes "), std::string::npos) << name << "=" << value << ": " << line;
        EXPECT_EQ(line.find('\n', line.find("it takes")), std::string::npos);
        EXPECT_EQ(out, before);
    }
}

TEST(Options, NameAllOptionsWhenOneIsUnknown) {
    session_options out;
    const std::string line = set_option(out, "colour", "red").message();
    EXPECT_NE(line.find("there is no option \"colour\""), std::string::npos);
    for (const option& known : option_table()) EXPECT_NE(line.find(std::string(known.name)), std::string::npos);
}

TEST(Options, SuggestTheNameOrWordThatIsNear) {
    session_options out;
    EXPECT_EQ(set_option(out, "outputdir", "x").message(),
              "there is no option \"outputdir\"; did you mean output_dir?");
    EXPECT_EQ(set_option(out, "cuda_graphs", "node").message(),
              "cuda_graphs: \"node\" is not accepted (did you mean nodes?); it takes nodes or graphs");
}

TEST(Options, UnknownVariablesAreListed) {
    const std::vector<std::pair<const char*, const char*>> variables = {
        {"PROF_OUTPUTDIR", "x"},   {"PROF_FOO", "1"},   {"PROF_BAR", "1"},    {"PROF_NOTHING", ""},
        {"PROF_MEMORY", "16M"},    {"PROF_IMAGE", "7"}, {"PROF_RUN_ID", "a"}, {"PROF_IMAGE_LIBRARY", "/x"},
        {"PROF_RUN_JOURNAL", "/x"}};
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    std::vector<std::string> lines = unknown_variables();
    unsetenv("PROF_BAR");
    const std::vector<std::string> fewer = unknown_variables();
    for (const auto& [name, value] : variables) unsetenv(name);
    const std::string near = "PROF_OUTPUTDIR is not an option of libprof; did you mean PROF_OUTPUT_DIR?";
    EXPECT_EQ(lines,
              (std::vector<std::string>{near, "PROF_FOO, PROF_BAR are not options of libprof, and are ignored"}));
    EXPECT_EQ(fewer, (std::vector<std::string>{near, "PROF_FOO is not an option of libprof, and is ignored"}));
    EXPECT_EQ(unknown_variables(), std::vector<std::string>());
}

TEST(Options, ComeFromTheEnvironmentOrKeepTheDefault) {
    setenv("PROF_OUTPUT_DIR", "/somewhere", 1);
    setenv("PROF_MEMORY", "many", 1);
    setenv("PROF_UNRELATED", "of another program", 1);
    const auto [out, complaint] = options_from_environment();
    EXPECT_EQ(out.output_dir, "/somewhere");
    EXPECT_EQ(out.memory, session_options{}.memory);
    EXPECT_EQ(complaint.message(), "PROF_MEMORY: \"many\" is not accepted; it takes a power of two from 16M to 4G");
    // Set to nothing is not set.
    setenv("PROF_MEMORY", "", 1);
    EXPECT_EQ(options_from_environment().options.memory, session_options{}.memory);
    EXPECT_TRUE(options_from_environment().problem.ok());
    unsetenv("PROF_OUTPUT_DIR");
    unsetenv("PROF_MEMORY");
    unsetenv("PROF_UNRELATED");
}

// The parts are added up here from the sizes that come out, not from the plan's own fractions.
TEST(MemoryDivision, SumsToNoMoreThanTheBound) {
    for (std::uint64_t bytes = least_memory_bytes; bytes <= most_memory_bytes; bytes *= 2) {
        SCOPED_TRACE(bytes);
        region_options rings;
        tracer_options cupti;
        divide_memory(bytes, rings, cupti);
        const std::uint64_t count = std::uint64_t{rings.large_rings} + rings.medium_rings + rings.small_rings;
        const std::uint64_t ring_slots = std::uint64_t{rings.large_rings} * rings.large_ring_bytes +
                                         std::uint64_t{rings.medium_rings} * rings.medium_ring_bytes +
                                         std::uint64_t{rings.small_rings} * rings.small_ring_bytes;
        const std::uint64_t headers = count * sizeof(ring_header) + rings.label_capacity * sizeof(shared_label);
        const std::uint64_t names = name_table::bytes_needed(rings.name_slots, rings.name_bytes) +
                                    passing_names::table_bytes(rings.passing_name_slots) + rings.passing_name_bytes;
        const std::uint64_t threads = count * sizeof(producer);
        // Of one buffer's bytes come at most 2.2 times as many in the drain thread's three arrays together.
        const std::uint64_t buffers = (cupti.buffer_count + 3) * (cupti.buffer_bytes + 4096);
        constexpr std::uint64_t writer = 256U << 10;
        EXPECT_LE(ring_slots + headers + names + threads + buffers + writer, bytes);
        for (const std::uint32_t ring : {rings.large_ring_bytes, rings.medium_ring_bytes, rings.small_ring_bytes}) {
            EXPECT_EQ(ring & (ring - 1), 0U);
            EXPECT_GE(ring, 4096U);
        }
        EXPECT_EQ(rings.name_slots & (rings.name_slots - 1), 0U);
    }
}

// The default, worked by hand.
TEST(MemoryDivision, HasRoomForAThousandThreadsByDefault) {
    region_options rings;
    tracer_options cupti;
    divide_memory(session_options{}.memory, rings, cupti);
    EXPECT_EQ(rings.large_rings, 8U);
    EXPECT_EQ(rings.large_ring_bytes, 1U << 20);
    EXPECT_EQ(rings.medium_rings, 128U);
    EXPECT_EQ(rings.medium_ring_bytes, 64U << 10);
    EXPECT_EQ(rings.small_rings, 1024U);
    EXPECT_EQ(rings.small_ring_bytes, 8U << 10);
    EXPECT_EQ(rings.name_bytes, 2U << 20);
    EXPECT_EQ(rings.passing_name_bytes, 2U << 20);
    EXPECT_EQ(rings.name_slots, 1U << 15);
    EXPECT_EQ(cupti.buffer_bytes, 1U << 20);
    EXPECT_EQ(cupti.buffer_count, 20U);
}

std::string awaited(std::initializer_list<std::pair<const char*, const char*>> set, std::uint64_t steps) {
    session_options options;
    for (const auto& [name, value] : set) EXPECT_EQ(set_option(options, name, value).message(), "");
    return awaited_text(options, steps);
}

TEST(Options, APlanWithoutWindowSaysWhatItWaitsFor) {
    EXPECT_EQ(awaited({}, 0), "");
    EXPECT_EQ(awaited({{"schedule", "skip_first=10,wait=4,warmup=1,active=3"}}, 7),
              "no window yet: schedule skip_first=10,wait=4,warmup=1,active=3 waits for step 15: 7 steps have begun");
    EXPECT_EQ(awaited({{"schedule", "wait=4,active=3"}}, 0),
              "no window yet: schedule wait=4,active=3 waits for a step, and none has begun: call prof_step in each "
              "step, or name a range of each step by step_range");
    EXPECT_EQ(
        awaited({{"budget", "1%"}, {"step_range", "iteration #"}}, 0),
        "no window yet: budget 1% waits for a step, and none has begun: each push of the range iteration # begins "
        "one");
    EXPECT_EQ(awaited({{"budget", "1%"}}, 1),
              "no window yet: budget 1% waits for more steps, to know what a window would cost: 1 step has begun");
    EXPECT_EQ(awaited({{"capture_range", "steps"}, {"steps", "10-12"}}, 3),
              "no window yet: steps 10-12 waits for step 10: 3 steps have begun");
    EXPECT_EQ(awaited({{"capture_range", "nvtx"}, {"nvtx_capture", "train"}}, 3),
              "no window yet: capture range nvtx train, stop waits for a push of the range train");
    EXPECT_EQ(awaited({{"capture_range", "cudaProfilerApi"}}, 3),
              "no window yet: capture range cudaProfilerApi, stop waits for cudaProfilerStart");
}

}  // namespace
}  // namespace prof::options_test
