// SPDX-License-Identifier: Apache-2.0
// Forks at any moment of whatever else libprof is asked to do (fork_storm_victim.cpp): nobody hangs or crashes, no
// capture is damaged, and a child that ends in good order has all that it recorded.
//
// PROF_FORK_STORMS=N draws N programs instead of a few, PROF_FORK_STORM_SEED=N the one of this number alone.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "support/profiled_program.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

int number_of(const char* variable, int otherwise) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? otherwise : std::atoi(value);
}

using environment = std::map<std::string, std::string>;

environment draw_options(int seed) {
    environment out{{"PROF_MEMORY", "16M"}};
    if (seed % 2 == 1) out["PROF_KEEP"] = "8M";
    if (seed / 2 % 2 == 1) out["PROF_IDLE_GRAPH_NODES"] = "1";
    if (seed / 4 % 2 == 1) out["PROF_RUN_ID"] = "run";
    if (seed / 8 % 2 == 1) out["PROF_SCHEDULE"] = "wait=2,active=2";
    return out;
}

// Of a child that makes ranges and nothing else: "child's N", N of them. Where its parent was paused at the fork, or
// did not record, it has no capture.
void expect_whole(const timeline& data) {
    std::map<std::string, int> counts;
    for (const timeline_range& r : data.ranges) ++counts[std::string(data.name(r.name))];
    for (const auto& [name, count] : counts) {
        if (name.starts_with("child's ")) {
            EXPECT_EQ(name, "child's " + std::to_string(count));
        }
    }
}

// How many are children's.
std::size_t expect_sound_captures(const scratch_directory& scratch) {
    std::size_t of_children = 0;
    for (const std::string& path : scratch.files(".prof")) {
        SCOPED_TRACE(path);
        if (std::filesystem::file_size(path) == 0) continue;  // killed when it had just made it
        const timeline data = load_timeline(path);
        EXPECT_EQ(data.quality.damaged_bytes, 0U);
        if (!data.properties.contains("forked_from")) continue;
        ++of_children;
        if (data.quality.ended && data.quality.dropped.empty()) expect_whole(data);
    }
    return of_children;
}

TEST(ForkStorm, LeavesEveryCaptureWhole) {
    const int only = number_of("PROF_FORK_STORM_SEED", -1);
    const int count = number_of("PROF_FORK_STORMS", 4);
    std::size_t of_children = 0;
    for (int seed = only < 0 ? 0 : only; seed < (only < 0 ? count : only + 1); ++seed) {
        SCOPED_TRACE("PROF_FORK_STORM_SEED=" + std::to_string(seed));
        // Of what it does not support there the sanitizer is asked for threads in children.
        const profiled_program program(
            way_in::its_own, {{"FAKE_GPU_CLOCK", ""}, {"TSAN_OPTIONS", "die_after_fork=0:intercept_tls_get_addr=0"}});
        const process_result result = program.run(
            {std::to_string(number_of("PROF_FORK_STORM_MS", 600)), std::to_string(seed)}, draw_options(seed * 5));
        EXPECT_EQ(result.exit_code(), 3) << result.err << result.status;
        EXPECT_THAT(result.out, testing::HasSubstr("counted"));
        of_children += expect_sound_captures(program.scratch);
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(of_children, 0U);
}

}  // namespace
}  // namespace prof::test
