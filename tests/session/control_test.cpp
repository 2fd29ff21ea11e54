// SPDX-License-Identifier: Apache-2.0
// A job that is controlled from outside while it runs (control_victim.cpp), by the code that `prof ctl` runs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "capture/payload.hpp"
#include "capture/reader.hpp"
#include "control/client.hpp"
#include "control/place.hpp"
#include "session/controlled_job.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

std::size_t kernels_in(const std::string& capture) { return load_timeline(capture).ops.size(); }

// Of the file itself, by the chunks that it has.
std::uint64_t records_in(const std::string& path) {
    capture_reader reader(path);
    std::uint64_t count = 0;
    chunk part;
    while (reader.next(part)) {
        if (part.type == format::chunk_type::records) count += records_of(part.payload).records.size();
        if (part.type == format::chunk_type::kernels) count += elements<kernel_record>(part.payload).size();
        if (part.type == format::chunk_type::transfers) count += elements<transfer_record>(part.payload).size();
    }
    return count;
}

unsigned mode_of(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
    return found.st_mode & 07777U;
}

TEST(Control, StartsAndStopsALiveJob) {
    controlled job;
    EXPECT_FALSE(job.reachable());
    EXPECT_FALSE(std::filesystem::exists(job.scratch.path + "/prof"));  // nothing before the first range
    job.command("train 2");
    EXPECT_EQ(job.status()["state"], "idle");
    EXPECT_EQ(job.status()["capture"], "");
    for (int recording = 1; recording <= 2; ++recording) {
        EXPECT_EQ(mode_of(job.socket_path()), 0600U);
        EXPECT_EQ(mode_of(job.scratch.path + "/prof"), 0700U);
        job.done("start");
        EXPECT_EQ(job.status()["state"], "recording");
        EXPECT_EQ(job.refused("start"), "a recording is running already");
        job.command("step 1");
        job.command("train " + std::to_string(3 * recording));
        EXPECT_EQ(job.status()["steps"], 1);
        EXPECT_NE(std::string(job.status()["gpu"]).find("recorded by CUPTI"), std::string::npos);
        const std::string path = job.done("stop");
        EXPECT_EQ(job.status()["state"], "idle");
        const timeline data = load_timeline(path);
        EXPECT_EQ(data.ops.size(), 15U * static_cast<unsigned>(recording));
        EXPECT_TRUE(data.quality.ended);
        job.command("train 1");  // not recorded
    }
    EXPECT_EQ(job.scratch.files(".prof").size(), 2U);
    EXPECT_EQ(job.refused("stop"), "no recording is running");
    job.order("exit");
    EXPECT_EQ(job.end(), 0);
    EXPECT_EQ(job.output(), "done\n");
    EXPECT_EQ(job.errors(), "");
    EXPECT_FALSE(std::filesystem::exists(job.socket_path()));
}

TEST(Control, StatusHasTheNumbersOfTheCapture) {
    controlled job(settings{{"PROF_AUTOSTART", "1"}});
    job.command("train 100");
    EXPECT_EQ(job.status()["state"], "recording");
    const std::string path = job.done("sync");
    EXPECT_EQ(job.status()["capture"], path);
    EXPECT_GE(job.status()["records"], 100U * 2);
    EXPECT_EQ(kernels_in(path), 500U);
    EXPECT_EQ(job.done("stop"), path);
    const nlohmann::json status = job.status();
    EXPECT_EQ(status["bytes"], std::filesystem::file_size(path));
    EXPECT_EQ(status["records"], records_in(path));
    EXPECT_EQ(status["dropped"], nlohmann::json::object());
    EXPECT_EQ(status["pid"], job.pid);
}

TEST(Control, StatusSaysWhatAPlanWithoutWindowWaitsFor) {
    controlled job(
        settings{{"PROF_AUTOSTART", "1"}, {"PROF_SCHEDULE", "wait=4,active=2"}, {"PROF_STEP_RANGE", "step"}});
    const std::string waits = "no window yet: schedule wait=4,active=2 waits for ";
    job.command("occupy 1");
    EXPECT_EQ(job.status()["awaited"], waits + "a step, and none has begun: each push of the range step begins one");
    job.command("train 3");
    EXPECT_EQ(job.status()["awaited"], waits + "step 4: 3 steps have begun");
    job.command("train 2");
    EXPECT_EQ(job.status()["windows"], 1U);
    EXPECT_EQ(job.status()["awaited"], "");
}

TEST(Control, DumpsDuringARecording) {
    const controlled job;
    job.command("train 1");
    EXPECT_EQ(job.refused("dump"), "no recording is running");
    job.done("start");
    EXPECT_EQ(job.refused("dump"), "nothing was recorded yet");
    job.command("train 100");
    const std::string dump = job.done("dump");
    // Complete when it is answered, while the recording it is of goes on.
    EXPECT_EQ(kernels_in(dump), 500U);
    EXPECT_TRUE(load_timeline(dump).quality.ended);
    EXPECT_EQ(job.status()["state"], "recording");
    EXPECT_NE(job.done("dump"), dump);
    job.command("train 10");
    const std::string path = job.done("stop");
    EXPECT_EQ(dump, path.substr(0, path.size() - 5) + ".dump-1.prof");
    EXPECT_EQ(kernels_in(path), 550U);
}

TEST(Control, PausesAndResumes) {
    const controlled job;
    job.command("train 1");
    EXPECT_EQ(job.refused("pause"), "no recording is running");
    job.done("start");
    job.command("train 1");
    job.done("pause");
    EXPECT_EQ(job.status()["state"], "paused");
    EXPECT_EQ(job.refused("pause"), "the recording is paused already");
    job.command("train 10");
    job.done("resume");
    job.command("train 1");
    const timeline data = load_timeline(job.done("stop"));
    EXPECT_EQ(data.ops.size(), 10U);
    EXPECT_EQ(data.windows.size(), 2U);
}

TEST(Control, SetsOptionsThatMayChange) {
    const controlled job;
    job.command("train 1");
    job.done("set", {"name=first", "activities=none"});
    EXPECT_NE(job.refused("set", {"memory=32M"}).find("memory is fixed"), std::string::npos);
    EXPECT_NE(job.refused("set", {"autostart=1"}).find("when the program begins"), std::string::npos);
    EXPECT_NE(job.refused("set", {"fold=2"}).find("it takes counters, all, none, or names"), std::string::npos);
    EXPECT_NE(job.refused("set", {"capture_range=nvtx"}).find("go together"), std::string::npos);
    EXPECT_NE(job.refused("set").find("name=value"), std::string::npos);
    EXPECT_NE(job.refused("start", {"rings=memory"}).find("rings is fixed"), std::string::npos);
    job.done("start", {"activities=all"});
    job.command("train 1");
    // All or nothing: export would be taken.
    EXPECT_NE(job.refused("set", {"export=trace,summary", "name=second"}).find("stop that first"), std::string::npos);
    job.done("set", {"export=summary"});
    const std::string first = job.done("stop");
    EXPECT_NE(first.find("/first.0."), std::string::npos);
    EXPECT_EQ(kernels_in(first), 5U);
    EXPECT_EQ(job.scratch.files(".summary.txt").size(), 1U);  // complete when stop was answered
    EXPECT_EQ(job.scratch.files(".trace.json.gz").size(), 0U);
    job.done("start");
    job.command("train 1");
    EXPECT_EQ(job.status()["gpu"], "no GPU work is recorded: activities=none");
    EXPECT_EQ(kernels_in(job.done("stop")), 0U);
}

TEST(Control, RefusesUnknownCommandsAndWords) {
    const controlled job;
    job.command("train 1");
    EXPECT_NE(job.refused("begin").find("there are status, start"), std::string::npos);
    EXPECT_NE(job.refused("stop", {"now=1"}).find("takes no name=value"), std::string::npos);
}

// Two clients at once: a command succeeds for one of them, and both get an answer.
TEST(Control, RunsCommandsOneAtATime) {
    const controlled job;
    job.command("train 1");
    int started = 0;
    int stopped = 0;
    std::vector<std::thread> threads;
    std::mutex mutex;
    for (int t = 0; t < 2; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) {
                const bool starts = job.ask("start").result == control_result::done;
                const bool stops = job.ask("stop").result == control_result::done;
                const std::lock_guard lock(mutex);
                started += starts ? 1 : 0;
                stopped += stops ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(started, stopped);
    EXPECT_GE(started, 20);
    EXPECT_EQ(job.status()["state"], "idle");
}

TEST(Control, LeavesForkedChildrenAlone) {
    const controlled job(settings{{"PROF_CONTROL_SIGNAL", "USR1"}});
    job.command("train 1");
    EXPECT_EQ(job.command("fork 0"), "exited 0");  // and exit() in the child takes nothing from us
    EXPECT_TRUE(job.reachable());
    EXPECT_EQ(job.command("fork " + std::to_string(SIGUSR1)), "signal " + std::to_string(SIGUSR1));
    EXPECT_EQ(job.status()["state"], "idle");
}

TEST(Control, RestartsAfterExec) {
    const controlled job;
    job.command("train 1");
    EXPECT_EQ(job.command("exec"), "here");
    EXPECT_FALSE(job.reachable());
    job.command("train 1");
    job.done("start");
    job.command("train 1");
    EXPECT_EQ(kernels_in(job.done("stop")), 5U);
}

TEST(Control, EndsWithTheProcess) {
    controlled job;
    job.command("train 1");
    job.done("start");
    job.command("train 1");
    const pid_t pid = job.pid;
    job.order("_exit");
    EXPECT_EQ(WEXITSTATUS(job.end()), 5);
    EXPECT_TRUE(std::filesystem::exists(job.socket_path()));  // nobody could remove it
    EXPECT_THROW((void)ask_process(pid, {"status", {}}, patience), error);
    EXPECT_EQ(std::ranges::count(controlled_processes(), pid), 0);
    EXPECT_FALSE(std::filesystem::exists(job.socket_path()));  // whoever lists removes it
}

// A client that waits when the process exits gets an answer or an error. The process exits as it would.
TEST(Control, AnswersWhenTheProcessExits) {
    for (int i = 0; i < 10; ++i) {
        controlled job(settings{{"PROF_EXPORT", "trace"}});
        job.command("train 1");
        job.done("start");
        job.command("train 50");
        std::string path;
        std::thread requester([&] {
            try {
                path = job.ask("stop").text;
            } catch (const error& failure) {
                path = failure.what();
            }
        });
        job.order("exit");
        EXPECT_EQ(job.end(), 0);
        requester.join();
        EXPECT_NE(path, "");
        const auto captures = job.scratch.files(".prof");
        ASSERT_EQ(captures.size(), 1U);
        EXPECT_TRUE(load_timeline(captures.front()).quality.ended);
        EXPECT_EQ(job.scratch.files(".trace.json.gz").size(), 1U);
    }
}

// A GPU that does not end its work blocks the client that waits for `stop`, but not the program's exit. The capture is
// left as after a crash, with the records that could be had.
TEST(Control, DoesNotBlockExit) {
    controlled job;
    job.command("train 1");
    job.done("start");
    job.command("train 1");
    job.command("occupy 1000000");
    std::string answer;
    std::thread requester([&] {
        try {
            answer = "answered: " + job.ask("stop").text;
        } catch (const error& failure) {
            answer = failure.what();
        }
    });
    while (job.status()["state"] != "completing") {
    }
    job.order("exit");
    EXPECT_EQ(job.end(), 0);
    requester.join();
    EXPECT_NE(answer.find("ended before it had answered"), std::string::npos) << answer;
    const auto captures = job.scratch.files(".prof");
    ASSERT_EQ(captures.size(), 1U);
    const timeline data = load_timeline(captures.front());
    EXPECT_FALSE(data.quality.ended);
    EXPECT_GE(data.api_calls.size(), 6U);
}

// The program goes on launching, in ranges and with prof_step, while CUPTI attaches and detaches.
TEST(Control, DoesNotBlockLaunches) {
    controlled job;
    job.command("train 1");
    job.command("storm");
    for (int i = 0; i < 50; ++i) {
        job.done("start");
        job.done("stop");
    }
    RecordProperty("longest_us", job.command("calm"));  // between two launches; no figure for a test to insist on
    job.done("start");
    job.command("train 1");
    EXPECT_EQ(kernels_in(job.done("stop")), 5U);
    job.order("exit");
    EXPECT_EQ(job.end(), 0);
    EXPECT_EQ(job.output(), "done\n");
    EXPECT_EQ(job.errors(), "");
}

// While the command waits for CUPTI its program's steps go on.
void expect_steps_go_on_during(const controlled& job, const std::string& command) {
    job.command("hold");
    control_answer answered;
    std::thread requester([&] { answered = job.ask(command); });
    while (job.command("held") == "no") {
    }
    const unsigned long long before = std::stoull(job.command("launches"));
    const auto end = std::chrono::steady_clock::now() + patience;
    unsigned long long now = before;
    while (now < before + 100 && std::chrono::steady_clock::now() < end) now = std::stoull(job.command("launches"));
    EXPECT_GE(now, before + 100) << command;
    job.command("release");
    requester.join();
    EXPECT_EQ(answered.result, control_result::done) << answered.text;
}

TEST(Control, StartsAndResumesWhileStepsGoOn) {
    const settings slow_steps = {{"PROF_KEEP", "1G"}, {"PROF_DUMP_ON_SLOW_STEP", "1000"}};
    settings ranges = slow_steps;
    ranges["PROF_STEP_RANGE"] = "storm";
    for (const settings& options : {settings{}, slow_steps, ranges}) {
        const controlled job(options);
        job.command("train 1");
        job.command("storm");
        expect_steps_go_on_during(job, "start");
        job.done("pause");
        job.done("sync");
        expect_steps_go_on_during(job, "resume");
        job.command("calm");
        job.command("train 1");
        EXPECT_GE(kernels_in(job.done("stop")), 5U);
    }
}

// A recording that ends waits for the GPU. The program's steps do not wait for that, though with a schedule they open
// and end windows.
TEST(Control, StopsWhileStepsGoOn) {
    const controlled job(settings{{"PROF_SCHEDULE", "wait=1,active=1000000000"}});
    job.command("train 1");
    job.done("start");
    job.command("storm");
    while (job.status()["state"] != "recording") {
    }
    job.command("occupy 3000");
    control_answer stopped;
    std::thread requester([&] { stopped = job.ask("stop"); });
    while (job.status()["state"] == "recording") {
    }
    std::vector<unsigned long long> launches;
    while (job.status()["state"] == "completing") launches.push_back(std::stoull(job.command("launches")));
    requester.join();
    EXPECT_EQ(stopped.result, control_result::done) << stopped.text;
    ASSERT_GE(launches.size(), 3U);
    EXPECT_GT(launches[launches.size() - 2], launches.front() + 10);
}

TEST(ControlSignal, StartsAndStops) {
    controlled job(settings{{"PROF_CONTROL_SIGNAL", "USR2"}, {"PROF_CONTROL", "off"}});
    job.command("train 1");
    EXPECT_FALSE(job.reachable());
    const auto captures = [&] { return job.scratch.files(".prof"); };
    job.command("raise " + std::to_string(SIGUSR2));
    while (captures().empty()) job.command("train 1");
    job.command("raise " + std::to_string(SIGUSR2));
    while (!load_timeline(captures().front()).quality.ended) job.command("train 1");
    job.order("exit");
    EXPECT_EQ(job.end(), 0);
    EXPECT_EQ(job.errors(), "");
}

TEST(ControlSignal, LeavesTheProgramsHandlerAlone) {
    controlled job(settings{{"PROF_CONTROL_SIGNAL", "USR1"}});
    job.command("handler " + std::to_string(SIGUSR1));
    job.command("train 1");
    EXPECT_EQ(job.command("raise " + std::to_string(SIGUSR1)), "1");
    EXPECT_EQ(job.status()["state"], "idle");
    EXPECT_NE(job.errors().find("control_signal=USR1: the program has a handler of its own"), std::string::npos);
}

TEST(Control, CanBeSwitchedOff) {
    const controlled job(settings{{"PROF_CONTROL", "off"}});
    job.command("train 1");
    EXPECT_FALSE(job.reachable());
    EXPECT_FALSE(std::filesystem::exists(job.scratch.path + "/prof"));
}

}  // namespace
}  // namespace prof::test
