// SPDX-License-Identifier: Apache-2.0
// Storage that fails a recording (storage_failure_victim.cpp): the program's outcome is what it is without libprof,
// what was captured stays readable, and what was lost is counted or said in one line.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "capture/payload.hpp"
#include "capture/reader.hpp"
#include "support/profiled_program.hpp"
#include "support/sanitized.hpp"
#include "timeline/load.hpp"

namespace prof::test {
namespace {

namespace fs = std::filesystem;

const std::string victim = PROF_TEST_VICTIM;

constexpr std::size_t ranges_a_step = 3;
constexpr std::size_t launches_a_step = 2;

using environment = std::map<std::string, std::string>;

void expect_untouched(const process_result& result) {
    EXPECT_EQ(result.exit_code(), 3) << result.err;
    EXPECT_EQ(result.out, "done\n");
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

struct Storage : testing::Test, profiled_program {
    const std::string output = scratch.path + "/captures";
    const std::string disk = scratch.path + "/disk";        // where a test mounts one
    const std::string rescued = scratch.path + "/rescued";  // what was on it

    environment with_slow_disk() const {
        return with({{"LD_PRELOAD", std::string{PROF_TEST_SLOW_DISK} + ":" + PROF_TEST_LIBRARY}});
    }

    // Of a program that goes on while the disk is full or does not answer, as `how` says (slow_disk.cpp), and after it.
    timeline captured_on_slow_disk(std::size_t steps, const std::string& how) const {
        const process_result result = run_process({victim, std::to_string(steps), how}, with_slow_disk(), scratch.path);
        expect_untouched(result);
        EXPECT_EQ(result.err, "");
        timeline data = only_capture();
        EXPECT_TRUE(data.quality.ended);
        return data;
    }

    // By a shell in which "$@" is the victim and $PRELOADED what `e` wants preloaded: into the victim alone, since the
    // shell and its commands are no part of the test.
    process_result run_in_shell(const std::string& script, environment e, const std::vector<std::string>& words) const {
        e["PRELOADED"] = e["LD_PRELOAD"];
        e["LD_PRELOAD"] = "";
        std::vector<std::string> command = {"/bin/sh", "-c", script, "sh", victim};
        command.insert(command.end(), words.begin(), words.end());
        return run_process(command, e, scratch.path);
    }

    // With a disk of `kilobytes` of its own at `disk`, what is on it afterwards is in `rescued`. Skips where no file
    // system may be mounted.
    process_result run_on_small_disk(int kilobytes, const environment& e, const std::vector<std::string>& words,
                                     const std::string& before = "") const {
        fs::create_directory(disk);
        // Preloaded into the victim alone: the shell and its commands are no part of the test.
        environment outside = e;
        outside["PRELOADED"] = e.at("LD_PRELOAD");
        outside["LD_PRELOAD"] = "";
        const std::string script = "mount -t tmpfs -o size=" + std::to_string(kilobytes) + "k none " + disk + " && { " +
                                   before + " LD_PRELOAD=$PRELOADED \"$@\"; status=$?; cp -r " + disk + " " + rescued +
                                   "; exit $status; }";
        std::vector<std::string> command = {
            "/usr/bin/unshare", geteuid() == 0 ? "-m" : "-Urm", "/bin/sh", "-c", script, "sh", victim};
        command.insert(command.end(), words.begin(), words.end());
        return run_process(command, outside, scratch.path);
    }

    bool may_mount() const {
        return run_process({"/usr/bin/unshare", geteuid() == 0 ? "-m" : "-Urm", "/bin/mount", "-t", "tmpfs", "none",
                            scratch.path},
                           {}, "/")
                   .exit_code() == 0;
    }
};

#define PROF_NEEDS_MOUNT() \
    if (!may_mount()) GTEST_SKIP() << "no file system may be mounted here: a full disk is not tested"

std::uint64_t dropped(const timeline& data, std::initializer_list<drop_cause> causes) {
    std::uint64_t sum = 0;
    for (const drop_cause cause : causes) {
        const auto found = data.quality.dropped.find(std::string{to_string(cause)});
        if (found != data.quality.dropped.end()) sum += found->second;
    }
    return sum;
}

// Records and GPU operations, by the sizes of what holds them (docs/reference/capture-format.md).
std::uint64_t records_in(const std::string& path) {
    const std::map<format::chunk_type, std::size_t> sizes = {{format::chunk_type::records, sizeof(record)},
                                                             {format::chunk_type::kernels, sizeof(kernel_record)},
                                                             {format::chunk_type::transfers, sizeof(transfer_record)}};
    capture_reader reader(path);
    std::uint64_t sum = 0;
    for (chunk next; reader.next(next);) {
        if (const auto found = sizes.find(next.type); found != sizes.end()) sum += next.payload.size() / found->second;
    }
    return sum;
}

TEST_F(Storage, RecordsNothingInAReadOnlyDirectory) {
    for (const std::string& directory : {std::string{"/sys/kernel"}, std::string{"/proc/self"}}) {
        environment e = with();
        e["PROF_OUTPUT_DIR"] = directory;
        const auto result = run_process({victim, "3"}, e, scratch.path);
        expect_untouched(result);
        EXPECT_NE(result.err.find("cannot create capture " + directory + "/"), std::string::npos) << result.err;
        EXPECT_NE(result.err.find("nothing is recorded"), std::string::npos) << result.err;
    }
    EXPECT_TRUE(scratch.files(".rings").empty());
}

TEST_F(Storage, RecordsNothingWhenTheDirectoryIsAFile) {
    std::ofstream(output) << "mine";
    const auto result = run_process({victim, "3"}, with(), scratch.path);
    expect_untouched(result);
    EXPECT_NE(result.err.find(output), std::string::npos) << result.err;
    EXPECT_EQ(read_file(output), "mine");
}

// A call that needs the capture fails with the reason why there is none.
TEST_F(Storage, ReportsAMissingCaptureToTheCaller) {
    std::ofstream(output) << "mine";
    const auto result = run_process({victim, "3", "told"}, with(), scratch.path);
    expect_untouched(result);
    EXPECT_NE(result.err.find("nothing is recorded"), std::string::npos) << result.err;
}

TEST_F(Storage, RetriesAMissingCaptureAtTheNextWindow) {
    std::ofstream(output) << "mine";
    const auto result = run_process({victim, "3", "make-room"}, with(), scratch.path);
    expect_untouched(result);
    EXPECT_NE(result.err.find(output), std::string::npos) << result.err;
    const timeline data = only_capture();
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.ranges.size(), 2 * ranges_a_step);
    EXPECT_EQ(data.ops.size(), 2 * launches_a_step);
}

// The first two names of the capture are taken already: by a link to a file, and by a file.
TEST_F(Storage, UsesTheNextFreeName) {
    fs::create_directory(output);
    environment e = with();
    e["PROF_NAME"] = "n";
    e["PROF_RANK"] = "0";
    const std::string taken = output + "/n.0.$(uname -n)-$$";
    const auto result =
        run_in_shell("echo theirs > " + scratch.path + "/theirs; ln -s " + scratch.path + "/theirs " + taken +
                         ".prof; echo mine > " + taken + ".2.prof; LD_PRELOAD=$PRELOADED exec \"$@\"",
                     e, {"3"});
    expect_untouched(result);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(read_file(scratch.path + "/theirs"), "theirs\n");
    int captures = 0;
    for (const std::string& path : scratch.files(".prof")) {
        if (fs::is_symlink(path)) continue;
        if (path.ends_with(".2.prof")) {
            EXPECT_EQ(read_file(path), "mine\n");
        } else {
            EXPECT_TRUE(path.ends_with(".3.prof")) << path;
            EXPECT_EQ(load_timeline(path).ranges.size(), 3 * ranges_a_step);
            ++captures;
        }
    }
    EXPECT_EQ(captures, 1);
}

// The capture is whole up to where the disk was full: it has the first records of each thread, without a hole.
TEST_F(Storage, EndsTheCaptureWhenTheDiskIsFull) {
    PROF_NEEDS_MOUNT();
    environment e = with();
    e["PROF_OUTPUT_DIR"] = disk;
    e["PROF_LINES"] = "off";  // how many there are depends on how long calls take
    const auto result = run_on_small_disk(400, e, {"5000"});
    expect_untouched(result);
    EXPECT_NE(result.err.find("No space left on device"), std::string::npos) << result.err;
    const auto found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 1U);
    const timeline data = load_timeline(found.front());
    EXPECT_FALSE(data.quality.ended);
    EXPECT_GT(data.ranges.size(), 500U);
    EXPECT_LT(data.ranges.size(), 5000 * ranges_a_step);
    // With those that the line counts all are there.
    const std::uint64_t kept = records_in(found.front());
    fs::remove_all(rescued);
    e["PROF_OUTPUT_DIR"] = output;
    run_process({victim, "5000"}, e, scratch.path);
    const auto whole = scratch.files(".prof");
    ASSERT_EQ(whole.size(), 1U);
    // A range or call that found no room has two records.
    std::smatch counts;
    const std::regex line(
        ".* is not kept: ([0-9]+) records(; and ([0-9]+) ranges, calls or GPU records found no room in "
        "memory)?\n");
    ASSERT_TRUE(std::regex_match(result.err, counts, line)) << result.err;
    const std::uint64_t pairs = counts[3].matched ? std::stoull(counts[3]) : 0;
    // What the one call waits for is a record of its own, which is not made without the call.
    const std::uint64_t accounted = kept + std::stoull(counts[1]) + 2 * pairs;
    EXPECT_LE(accounted, records_in(whole.front())) << result.err;
    EXPECT_GE(accounted + 1, records_in(whole.front())) << result.err;
}

// Writing is tried again while the program goes on. Nothing is lost if the records made meanwhile fit into memory.
TEST_F(Storage, LosesNothingWhenAFullDiskHasRoomAgain) {
    const timeline data = captured_on_slow_disk(500, "fill-disk");
    EXPECT_TRUE(data.quality.dropped.empty());
    EXPECT_EQ(data.ranges.size(), 501 * ranges_a_step);
    EXPECT_EQ(data.ops.size(), 501 * launches_a_step);
    const std::string& notice = data.properties.at("disk_notice");
    EXPECT_TRUE(std::regex_match(notice, std::regex("the disk was full for [1-9][0-9]* s, from [-0-9]* [:0-9]* UTC to "
                                                    "[-0-9]* [:0-9]* UTC: .* are counted as dropped")))
        << notice;
}

TEST_F(Storage, CountsLossesWhenTheDiskIsFullForLong) {
    constexpr std::size_t steps = 50'000;
    const timeline data = captured_on_slow_disk(steps, "fill-disk");
    EXPECT_LT(data.ranges.size(), steps * ranges_a_step);
    const std::uint64_t lost = dropped(data, {drop_cause::ring_full, drop_cause::enclosing_range_dropped});
    const std::size_t calls = (steps + 1) * launches_a_step + 1;
    EXPECT_EQ(data.ranges.size() + data.api_calls.size() + lost, (steps + 1) * ranges_a_step + calls);
    EXPECT_EQ(data.ops.size() + dropped(data, {drop_cause::cupti_dropped}), (steps + 1) * launches_a_step);
}

// A limit on the size of files stands in for a quota: the write is refused in the same way (EFBIG for EDQUOT). The
// kernel also sends a signal, which would end the program.
TEST_F(Storage, EndsTheCaptureAtAQuota) {
    const auto result = run_in_shell("export LD_PRELOAD=$PRELOADED; ulimit -f 2000; exec \"$@\"", with(), {"5000"});
    expect_untouched(result);
    EXPECT_NE(result.err.find("File too large"), std::string::npos) << result.err;
    const auto found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_GT(load_timeline(found.front()).ranges.size(), 500U);
}

TEST_F(Storage, KeepsTheCaptureWhenTheTraceHasNoRoom) {
    PROF_NEEDS_MOUNT();
    // As large as the capture is, and a little more.
    environment e = with();
    run_process({victim, "2000"}, e, scratch.path);
    auto found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 1U);
    const auto kilobytes = static_cast<int>(fs::file_size(found.front()) / 1024);
    fs::remove_all(output);
    e["PROF_OUTPUT_DIR"] = disk;
    e["PROF_EXPORT"] = "trace,summary";
    const auto result = run_on_small_disk(kilobytes + 24, e, {"2000"});
    expect_untouched(result);
    EXPECT_NE(result.err.find("No space left on device"), std::string::npos) << result.err;
    found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 1U);
    const timeline data = load_timeline(found.front());
    EXPECT_TRUE(data.quality.ended);
    EXPECT_EQ(data.ranges.size(), 2000 * ranges_a_step);
    EXPECT_TRUE(scratch.files(".json.gz").empty());
}

TEST_F(Storage, ReportsADirectoryRemovedDuringTheRecording) {
    const auto result = run_process({victim, "500", "remove-output"}, with(), scratch.path);
    expect_untouched(result);
    EXPECT_NE(result.err.find("was removed"), std::string::npos) << result.err;
    EXPECT_TRUE(scratch.files(".prof").empty());
    EXPECT_TRUE(scratch.files(".rings").empty());
}

// The program goes on while not one byte can be written. Records that find no room in the rings meanwhile are counted.
TEST_F(Storage, NeverBlocksTheProgramOnASilentDisk) {
    constexpr std::size_t steps = 100'000;
    const timeline data = captured_on_slow_disk(steps, "block-disk");
    EXPECT_LT(data.ranges.size(), steps * ranges_a_step);
    // One call waits at the end.
    const std::uint64_t lost_ranges = steps * ranges_a_step - data.ranges.size();
    const std::uint64_t lost_calls = steps * launches_a_step + 1 - data.api_calls.size();
    EXPECT_EQ(dropped(data, {drop_cause::ring_full, drop_cause::enclosing_range_dropped}), lost_ranges + lost_calls);
    EXPECT_EQ(data.ops.size() + dropped(data, {drop_cause::cupti_dropped}), steps * launches_a_step);
}

// The disk is silent when the capture is to be made. The capture is made when the disk answers, and has the beginning.
TEST_F(Storage, NeverBlocksTheProgramOnADiskSilentAtFirst) {
    constexpr std::size_t steps = 100'000;
    const timeline data = captured_on_slow_disk(steps, "block-disk-first");
    ASSERT_GT(data.ranges.size(), 0U);
    EXPECT_LT(data.ranges.size(), steps * ranges_a_step);
    // One call waits at the end.
    const std::uint64_t all = steps * (ranges_a_step + launches_a_step) + 1;
    EXPECT_EQ(data.ranges.size() + data.api_calls.size() +
                  dropped(data, {drop_cause::ring_full, drop_cause::enclosing_range_dropped}),
              all);
    EXPECT_EQ(data.ops.size() + dropped(data, {drop_cause::cupti_dropped}), steps * launches_a_step);
    EXPECT_EQ(data.ranges.front().parent, npos);
    EXPECT_EQ(data.name(data.ranges.front().name), "step");
}

// The sizes go from too small for anything to large enough for all. Writing to the mapping never raises SIGBUS.
TEST_F(Storage, RingsFitStorageOfAnySize) {
    PROF_NEEDS_MOUNT();
    environment e = with();
    e["PROF_RINGS"] = disk;
    int whole = 0;
    int in_memory = 0;
    constexpr int fewer = is_sanitized ? 1 : 3;
    for (int kilobytes = 64; kilobytes < 32'000; kilobytes += kilobytes / fewer) {
        fs::remove_all(output);
        fs::remove_all(rescued);
        const auto result = run_on_small_disk(kilobytes, e, {"300"});
        expect_untouched(result);
        SCOPED_TRACE(kilobytes);
        const timeline data = only_capture();
        EXPECT_TRUE(data.quality.ended);
        const bool is_whole = data.ranges.size() == 300 * ranges_a_step && data.ops.size() == 300 * launches_a_step;
        EXPECT_TRUE(is_whole || !data.quality.dropped.empty()) << kilobytes;
        whole += is_whole ? 1 : 0;
        if (const auto notice = data.properties.find("rings_notice"); notice != data.properties.end()) {
            EXPECT_NE(notice->second.find("No space left on device"), std::string::npos) << notice->second;
            ++in_memory;
        }
    }
    EXPECT_GE(whole, 3);
    EXPECT_GE(in_memory, 3);
}

// On some file systems a page that has storage can be written to now, but raises SIGBUS once the disk is full. Rings
// are not placed on an unknown file system, nor on an overlay that no option names.
TEST_F(Storage, RingsAvoidFileSystemsWherePageWritesMayFail) {
    PROF_NEEDS_MOUNT();
    environment e = with();
    const auto notice_of = [&](const std::string& mounts) -> std::string {
        fs::remove_all(output);
        fs::remove_all(rescued);
        fs::create_directory(rescued);
        environment outside = e;
        outside["PRELOADED"] = e.at("LD_PRELOAD");
        outside["LD_PRELOAD"] = "";
        const std::string script = mounts + "; LD_PRELOAD=$PRELOADED \"$@\" || status=$?; cp " +
                                   e.at("PROF_OUTPUT_DIR") + "/*.prof " + rescued + "; exit $status";
        const auto result = run_process(
            {"/usr/bin/unshare", geteuid() == 0 ? "-m" : "-Urm", "/bin/sh", "-ec", script, "sh", victim, "300"},
            outside, scratch.path);
        expect_untouched(result);
        if (scratch.files(".prof").empty()) return result.err;
        const timeline data = load_timeline(scratch.files(".prof").back());
        EXPECT_EQ(data.ranges.size(), 300 * ranges_a_step);
        EXPECT_EQ(data.ops.size(), 300 * launches_a_step);
        const auto notice = data.properties.find("rings_notice");
        return notice == data.properties.end() ? "" : notice->second;
    };
    fs::create_directory(disk);
    const std::string refusal = "on the file system of " + disk + " a write to mapped memory can fail";
    e["PROF_RINGS"] = disk;
    EXPECT_NE(notice_of("mount -t ramfs none " + disk).find(refusal), std::string::npos);
    const std::string overlay = "mount -t tmpfs none " + disk + "; cd " + disk +
                                "; mkdir lower upper work merged; mount -t overlay -o "
                                "lowerdir=lower,upperdir=upper,workdir=work none merged";
    e["PROF_RINGS"] = disk + "/merged";
    EXPECT_EQ(notice_of(overlay), "");
    e["PROF_RINGS"] = "auto";
    e["PROF_OUTPUT_DIR"] = disk + "/merged";
    EXPECT_NE(notice_of("mount -t tmpfs -o size=64k none /dev/shm; " + overlay).find("on the file system of " + disk),
              std::string::npos);
}

// Others fill it while the recording goes on. Rings and CUPTI's buffers that need storage then get it elsewhere.
TEST_F(Storage, RingsSurviveStorageThatFillsUp) {
    PROF_NEEDS_MOUNT();
    constexpr std::size_t steps = 8'000;
    environment e = with_slow_disk();
    e["PROF_RINGS"] = disk;
    const auto result = run_on_small_disk(64 << 10, e, {std::to_string(steps), "fill-rings"});
    expect_untouched(result);
    EXPECT_EQ(result.err, "");
    const timeline data = only_capture();
    EXPECT_TRUE(data.quality.ended);
    EXPECT_FALSE(data.properties.contains("rings_notice"));
    EXPECT_EQ(data.ops.size(), steps * launches_a_step);
    EXPECT_EQ(dropped(data, {drop_cause::cupti_no_buffer, drop_cause::cupti_dropped}), 0U);
}

// As when a container's /dev/shm is removed with it. Only the records that had reached the capture are left.
TEST_F(Storage, RingsMayBeMissingAfterADeath) {
    environment e = with();
    fs::create_directory(scratch.path + "/rings");
    e["PROF_RINGS"] = scratch.path + "/rings";
    const auto result =
        run_in_shell("LD_PRELOAD=$PRELOADED \"$@\"; rm -r " + scratch.path + "/rings; exit 0", e, {"2000", "kill"});
    EXPECT_EQ(result.exit_code(), 0);
    const timeline data = only_capture();
    EXPECT_FALSE(data.quality.ended);
    EXPECT_FALSE(data.quality.recovery.empty());
    EXPECT_GT(data.ranges.size(), 0U);
}

// Counted are rings of this user's dead processes, not of a live one, nor files that only have a similar name.
TEST_F(Storage, RingsLeftByDeadProcessesAreReported) {
    const pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, nullptr, 0);
    const auto leave = [&](const std::string& name) {
        std::ofstream(scratch.path + "/libprof-" + name) << std::string(1'500'000, 'x');
    };
    leave(std::to_string(getpid()) + "-01234567.rings");
    for (const char* const name : {"-01234567.rings", "1x-01234567.rings", "0-01234567.rings", "-1-0.rings"})
        leave(name);
    run_process({victim, "3"}, with(), scratch.path);
    auto found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(load_timeline(found.front()).property("left_rings_notice"), "");
    fs::remove_all(output);
    leave(std::to_string(dead) + "-01234567.rings");
    leave(std::to_string(dead) + "-89abcdef.rings");
    run_process({victim, "3"}, with(), scratch.path);
    found = scratch.files(".prof");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(load_timeline(found.front()).property("left_rings_notice"),
              "processes that died have left 2 files of rings with 3 MB in " + scratch.path +
                  ": `prof seal` of their captures writes them into these and frees the memory; without captures they "
                  "can be deleted");
}

#ifndef PROF_TEST_SANITIZED  // a sanitizer wants descriptors of its own, and terabytes of addresses
// The limits begin at the fewest with which the program can be loaded: no capture, the rings in memory, or all as
// usual.
TEST_F(Storage, SurvivesALackOfFileDescriptors) {
    environment e = with();
    int enough = 0;
    for (int limit = 4; enough < 10; ++limit) {
        const std::string limited = "ulimit -n " + std::to_string(limit) + "; ";
        if (run_in_shell(limited + "exec \"$@\"", e, {"3"}).exit_code() != 3) continue;
        ++enough;
        fs::remove_all(output);
        const auto result = run_in_shell("export LD_PRELOAD=$PRELOADED; " + limited + "exec \"$@\"", e, {"3"});
        expect_untouched(result);
        EXPECT_EQ(result.err.empty(), !scratch.files(".prof").empty()) << limit << result.err;
    }
}

// The limits go from too little for the program (status 4, or the loader's 127), then for the rings, to enough for all.
// CUPTI is left out: its behaviour without memory is its own.
TEST_F(Storage, SurvivesALackOfMemory) {
    environment e = with();
    e["PROF_ACTIVITIES"] = "none";
    e["PROF_EXPORT"] = "trace,summary";
    int without_rings = 0;
    int whole = 0;
    for (int kilobytes = 16 << 10; kilobytes <= 256 << 10; kilobytes += kilobytes < 18 << 10   ? 32
                                                                        : kilobytes < 48 << 10 ? 512
                                                                                               : 8 << 10) {
        fs::remove_all(output);
        const auto result = run_in_shell(
            "ulimit -v " + std::to_string(kilobytes) + "; export LD_PRELOAD=$PRELOADED; exec \"$@\"", e, {"3000"});
        const bool is_too_little_to_load =
            kilobytes < 20 << 10 && result.exit_code() == 127 &&
            (result.err.find("error while loading shared libraries") != std::string::npos ||
             result.err == "out of memory\n");
        if (result.exit_code() == 4 || is_too_little_to_load) continue;
        expect_untouched(result);
        const bool is_whole = result.err.empty() && scratch.files(".summary.txt").size() == 1;
        const auto is_emitted = [&](const char* what) {
            return result.err.find(std::string{"libprof: no "} + what) == 0;
        };
        const bool has_no_rings = is_emitted("memory for the rings");
        EXPECT_TRUE(is_whole || has_no_rings || is_emitted("thread for the end") || is_emitted("drain thread") ||
                    is_emitted("memory for the capture") || is_emitted("memory for the exports") ||
                    is_emitted("memory for what is left to be done of a recording"))
            << result.err;
        without_rings += has_no_rings ? 1 : 0;
        whole += is_whole ? 1 : 0;
    }
    EXPECT_GE(without_rings, 3);
    EXPECT_GE(whole, 3);
}
#endif

}  // namespace
}  // namespace prof::test
