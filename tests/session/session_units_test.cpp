// SPDX-License-Identifier: Apache-2.0
// The parts of a session that stand alone: settings, steps, locks, places.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <string>

#include "session/parts/recording_settings.hpp"
#include "session/process/capture_place.hpp"
#include "session/process/deadline.hpp"
#include "session/process/heritage.hpp"
#include "session/process/session_mutex.hpp"
#include "session/process/step_counter.hpp"
#include "support/scratch_directory.hpp"

namespace prof::test {
namespace {

heritage of_parent() {
    heritage left;
    left.options.fold = {.mode = fold_mode::none};
    EXPECT_TRUE(set_option(left.options, "schedule", "wait=1,active=1").ok());
    return left;
}

TEST(OptionsOfChild, HaveWhatAChildInherits) {
    session_options parents;
    for (const char* const setting :
         {"schedule=wait=1,active=1", "step_range=a", "capture_range=nvtx", "nvtx_capture=b", "steps=1-2",
          "capture_range_end=repeat", "budget=1%", "dump_on_slow_step=3", "export_each=window", "idle_graph_nodes=1",
          "name=trainer", "keep=30s", "pytorch=ops", "export=trace", "activities=kernels"}) {
        ASSERT_TRUE(set_from_text(parents, setting).ok()) << setting;
    }
    const session_options on_gpu = options_of_child(parents, true);
    session_options expected;
    for (const char* const setting : {"name=trainer", "keep=30s", "pytorch=ops", "export=none", "activities=kernels"}) {
        ASSERT_TRUE(set_from_text(expected, setting).ok()) << setting;
    }
    EXPECT_EQ(on_gpu, expected);
    EXPECT_EQ(text_of(options_of_child(parents, false), "activities"), "none");
}

TEST(RecordingSettings, KeepASnapshotWhenOptionsChange) {
    recording_settings settings(nullptr, true);
    const recording_settings::snapshot before = settings.options();
    const std::array<std::string, 1> rows = {"rows=7"};
    ASSERT_TRUE(settings.set(rows, {}, true).ok());
    EXPECT_EQ(before->rows, 40U);
    EXPECT_EQ(settings.options()->rows, 7U);
    EXPECT_EQ(settings.environment()->rows, 7U);
}

TEST(RecordingSettings, ChangeOnlyTheNextRecordingWhenNoneRuns) {
    recording_settings settings(nullptr, true);
    const std::array<std::string, 1> name = {"name=other"};
    ASSERT_TRUE(settings.set(name, {}, false).ok());
    EXPECT_EQ(settings.environment()->name, "other");
    EXPECT_EQ(settings.options()->name, "");
}

TEST(RecordingSettings, TakeAllSettingsOrNone) {
    recording_settings settings(nullptr, true);
    const std::array<std::string, 2> words = {"rows=7", "name=other"};
    const outcome refused = settings.set(words, {}, true);
    EXPECT_EQ(refused.code(), outcome_code::wrong_state);
    EXPECT_EQ(refused.message(), "name stays as it is while a recording runs: stop that first");
    EXPECT_EQ(settings.environment()->rows, 40U);
    EXPECT_EQ(settings.options()->rows, 40U);
}

TEST(RecordingSettings, RefuseFixedOptions) {
    session_options out;
    const std::array<std::string, 1> memory = {"memory=32M"};
    EXPECT_EQ(recording_settings::merge(memory, {.rings = true}, out).message(),
              "memory is fixed at the program's first use of NVTX or CUDA; it cannot change any more");
    const std::array<std::string, 1> cupti = {"cupti_library=x"};
    EXPECT_EQ(recording_settings::merge(cupti, {.cupti = true}, out).message(),
              "cupti_library: a libcupti is loaded already, and stays");
    EXPECT_TRUE(recording_settings::merge(cupti, {}, out).ok());
    EXPECT_EQ(out.cupti_library, "x");
}

TEST(RecordingSettings, InheritAllButPlanAndGpuInAChild) {
    const heritage left = of_parent();
    recording_settings settings(&left, false);
    EXPECT_EQ(settings.options()->fold.mode, fold_mode::none);
    EXPECT_EQ(settings.options()->schedule.text, "");
    EXPECT_EQ(settings.options()->activities.text, "none");
    settings.begin_in_child("/where/the/parent/began");
    EXPECT_EQ(settings.facts().working_directory, "/where/the/parent/began");
}

// The step that is under way keeps its number when the program begins to count, and ranges no longer count.
TEST(StepCounter, GivesTheCountToTheProgram) {
    step_counter steps;
    steps.begin(true, true);
    EXPECT_EQ(steps.number_of(steps.count()), 0U);
    EXPECT_EQ(steps.number_of(steps.count()), 1U);
    EXPECT_TRUE(steps.may_count_by_program());
    steps.note_program_counts();
    EXPECT_EQ(steps.current(), 1U);
    EXPECT_FALSE(steps.by_ranges());
    EXPECT_EQ(steps.number_of(steps.count()), 2U);
    steps.begin(true, false);
    EXPECT_FALSE(steps.may_count_by_program());
}

TEST(StepCounter, NumbersStepsOfRangesFromZero) {
    step_counter steps;
    steps.begin(true, false);
    EXPECT_EQ(steps.current(), 0U);
    EXPECT_EQ(steps.number_of(steps.count()), 0U);
    EXPECT_EQ(steps.number_of(steps.count()), 1U);
    EXPECT_EQ(steps.current(), 1U);
    steps.begin(false, false);
    EXPECT_EQ(steps.begun(), 0U);
    EXPECT_EQ(steps.number_of(steps.count()), 1U);
}

TEST(SessionMutex, CountsMutexesHeldByTheThread) {
    session_mutex first;
    session_mutex second;
    {
        const session_lock outer(first);
        const session_lock inner(second);
        EXPECT_EQ(session_mutexes_held, 2U);
        EXPECT_FALSE(first.try_lock_for(std::chrono::milliseconds(1)));
        EXPECT_EQ(session_mutexes_held, 2U);
    }
    if (!first.try_lock()) FAIL() << "the mutex is free";
    {
        const session_lock adopted(first, std::adopt_lock);
        EXPECT_EQ(session_mutexes_held, 1U);
    }
    EXPECT_EQ(session_mutexes_held, 0U);
}

TEST(Deadline, PassesWhenItsTimeIsOver) {
    EXPECT_TRUE(deadline(std::chrono::nanoseconds(0)).has_passed());
    EXPECT_FALSE(deadline(std::chrono::hours(1)).has_passed());
}

TEST(CapturePlace, NamesTheObstacleToADirectory) {
    const scratch_directory scratch;
    const std::string made = scratch.path + "/a/b";
    EXPECT_TRUE(prepare_directory(made).ok());
    EXPECT_TRUE(is_taken(made));
    const std::string file = scratch.path + "/file";
    std::fclose(std::fopen(file.c_str(), "w"));
    EXPECT_EQ(prepare_directory(file).message(), "cannot make captures in " + file + ": Not a directory");
}

TEST(CapturePlace, NumbersANameThatIsTaken) {
    const scratch_directory scratch;
    session_options options;
    options.output_dir = scratch.path;
    process_facts facts;
    facts.name = "a/b";
    facts.rank = "0";
    facts.hostname = "host";
    const std::string first = unused_capture_path(options, facts);
    EXPECT_EQ(first.find(scratch.path + "/a_b.0.host-"), 0U);
    std::fclose(std::fopen(first.c_str(), "w"));
    const std::string second = unused_capture_path(options, facts);
    EXPECT_EQ(second, first.substr(0, first.size() - 5) + ".2.prof");
}

}  // namespace
}  // namespace prof::test
