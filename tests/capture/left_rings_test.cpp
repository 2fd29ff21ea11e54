// SPDX-License-Identifier: Apache-2.0
#include "capture/recovery/left_rings.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "capture/reader.hpp"
#include "capture/recovery/seal.hpp"
#include "capture/small_rings.hpp"
#include "ring/region_layout.hpp"

namespace prof::left_rings_test {
namespace {

using namespace prof::test;

constexpr std::time_t day = 24 * 60 * 60;
constexpr std::time_t minute = 60;

using counts = std::pair<std::size_t, std::size_t>;

counts clean(const std::string& folder, std::time_t later) {
    const cleaned_rings done = clean_left_rings(folder, std::time(nullptr) + later);
    return {done.sealed, done.removed};
}

std::size_t records_in(const std::string& path) {
    capture_reader reader(path);
    std::size_t found = 0;
    for (const kept_chunk& chunk : read_all(reader)) {
        if (chunk.type == format::chunk_type::records) found += (chunk.payload.size() - 8) / sizeof(record);
    }
    return found;
}

std::ptrdiff_t files_in(const scratch_directory& folder) {
    return std::distance(std::filesystem::directory_iterator(folder.path), {});
}

// What a killed process left: its rings hold ten records, its capture none of them.
class left_process {
public:
    explicit left_process(const std::string& stated) { run(stated); }
    left_process() { run(capture()); }

    std::string capture() const { return folder_ / "a.prof"; }
    std::string rings() const {
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path)) {
            if (entry.path().extension() == ".rings") return entry.path().string();
        }
        return {};
    }
    counts clean_after(std::time_t seconds) const { return clean(folder_.path, seconds); }
    template <typename T>
    void set(std::size_t offset, const T& value) const {
        std::FILE* const file = std::fopen(rings().c_str(), "r+b");
        ASSERT_NE(file, nullptr);
        std::fseek(file, static_cast<long>(offset), SEEK_SET);
        std::fwrite(&value, sizeof value, 1, file);
        std::fclose(file);
    }

private:
    void run(const std::string& stated) {
        const pid_t child = fork();
        if (child == 0) {
            region rings(small_region(folder_));
            rings.publish();
            capture_writer writer(capture(), writer_options());
            writer.property("rings_path", rings.path());
            writer.flush();
            rings.set_capture_path(stated);
            ringed_thread thread(rings, 1);
            thread.write(10);
            kill(getpid(), SIGKILL);
        }
        waitpid(child, nullptr, 0);
    }

    scratch_directory folder_;
};

TEST(LeftRings, GoIntoTheCaptureOnceNobodyElseSealsIt) {
    const left_process killed;
    EXPECT_EQ(killed.clean_after(0), counts(0, 0));
    EXPECT_EQ(killed.clean_after(minute), counts(1, 0));
    EXPECT_EQ(killed.rings(), "");
    EXPECT_EQ(records_in(killed.capture()), 10U);
    EXPECT_EQ(seal_capture(killed.capture(), 0).result, seal_result::was_closed);
}

TEST(LeftRings, StayForADayWhereTheCaptureWasMoved) {
    const left_process killed;
    const std::string moved = killed.capture() + ".moved";
    std::filesystem::rename(killed.capture(), moved);
    EXPECT_EQ(killed.clean_after(10 * day), counts(0, 0)) << "seen without a capture for the first time";
    EXPECT_EQ(killed.clean_after(day - minute), counts(0, 0));
    EXPECT_EQ(records_in(moved), 10U);
    EXPECT_EQ(killed.clean_after(day + minute), counts(0, 1));
    EXPECT_EQ(killed.rings(), "");
}

TEST(LeftRings, CanStillBeSealedOnceTheyWereMissed) {
    const left_process killed;
    const std::string moved = killed.capture() + ".moved";
    std::filesystem::rename(killed.capture(), moved);
    EXPECT_EQ(killed.clean_after(0), counts(0, 0));
    EXPECT_EQ(seal_capture(moved, 0).result, seal_result::sealed);
    EXPECT_EQ(records_in(moved), 10U);
    EXPECT_EQ(killed.rings(), "");
}

// A container may share /dev/shm with this process, and nothing else.
TEST(LeftRings, OfAnotherMountNamespaceStay) {
    const left_process killed;
    std::filesystem::remove(killed.capture());
    killed.set(offsetof(region_header, mount_namespace), std::uint64_t{1});
    EXPECT_EQ(killed.clean_after(day), counts(0, 0));
    EXPECT_EQ(killed.clean_after(10 * day), counts(0, 0));
    EXPECT_NE(killed.rings(), "");
}

TEST(LeftRings, OfACaptureWithALongPathStay) {
    const left_process killed("/" + std::string(region_capture_path_bytes, 'a'));
    EXPECT_EQ(killed.clean_after(minute), counts(0, 0));
    EXPECT_EQ(killed.clean_after(10 * day), counts(0, 0));
    EXPECT_EQ(records_in(killed.capture()), 10U);
}

TEST(LeftRings, WithoutACaptureGo) {
    const left_process killed("");
    EXPECT_EQ(killed.clean_after(0), counts(0, 1));
    EXPECT_EQ(killed.rings(), "");
}

TEST(LeftRings, OfAnotherCaptureInItsPlaceStay) {
    const left_process killed;
    std::filesystem::rename(killed.capture(), killed.capture() + ".moved");
    {
        capture_writer_options other;
        other.id = {9};
        capture_writer writer(killed.capture(), other);
    }
    const auto bytes = std::filesystem::file_size(killed.capture());
    EXPECT_EQ(killed.clean_after(minute), counts(0, 0));
    EXPECT_EQ(std::filesystem::file_size(killed.capture()), bytes);
    EXPECT_EQ(records_in(killed.capture() + ".moved"), 10U);
}

// The process stopped its recording, and was killed later.
TEST(LeftRings, OfAClosedCaptureGoWhenThatIsSealed) {
    const scratch_directory folder;
    const pid_t child = fork();
    if (child == 0) {
        region rings(small_region(folder));
        capture_writer_options options = writer_options();
        options.number = rings.begin_capture();
        rings.publish();
        capture_writer writer(folder / "a.prof", options);
        writer.property("rings_path", rings.path());
        writer.end(format::end_reason::stopped);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
    EXPECT_EQ(files_in(folder), 2);
    EXPECT_EQ(seal_capture(folder / "a.prof", 0).result, seal_result::was_closed);
    EXPECT_EQ(files_in(folder), 1);
}

// The first recording could not be written to its end, and the process was killed in its second.
TEST(LeftRings, StayForTheCaptureWhoseRecordsTheyHold) {
    for (const bool first_is_closed : {false, true}) {
        const scratch_directory folder;
        const pid_t child = fork();
        if (child == 0) {
            region rings(small_region(folder));
            rings.publish();
            capture_writer_options options = writer_options();
            options.number = rings.begin_capture();
            capture_writer first(folder / "a.prof", options);
            first.property("rings_path", rings.path());
            first_is_closed ? first.end(format::end_reason::stopped) : first.flush();
            options.number = rings.begin_capture();
            capture_writer second(folder / "a.2.prof", options);
            second.property("rings_path", rings.path());
            second.flush();
            ringed_thread thread(rings, 1);
            thread.write(10);
            kill(getpid(), SIGKILL);
        }
        waitpid(child, nullptr, 0);
        (void)seal_capture(folder / "a.prof", 0);
        EXPECT_EQ(seal_capture(folder / "a.2.prof", 0).result, seal_result::sealed);
        EXPECT_EQ(records_in(folder / "a.prof"), 0U);
        EXPECT_EQ(records_in(folder / "a.2.prof"), 10U);
        EXPECT_EQ(files_in(folder), 2);
    }
}

// They are left to the prof that can read them.
TEST(LeftRings, OfAnotherVersionStay) {
    const left_process killed;
    killed.set(offsetof(region_header, version), region_version - 1);
    EXPECT_THROW((void)seal_capture(killed.capture(), 0), error);
    EXPECT_NE(killed.rings(), "");
    EXPECT_EQ(killed.clean_after(minute), counts(0, 0));
    killed.set(offsetof(region_header, version), region_version);
    EXPECT_EQ(seal_capture(killed.capture(), 0).result, seal_result::sealed);
    EXPECT_EQ(records_in(killed.capture()), 10U);
}

// In another PID namespace its number means nothing here; the lock on its file does.
TEST(LeftRings, OfALivingProcessWithAnUnknownNumberStay) {
    const scratch_directory folder;
    const pid_t gone = fork();
    if (gone == 0) _exit(0);
    waitpid(gone, nullptr, 0);
    region rings(small_region(folder));
    rings.publish();
    rings.header().pid = static_cast<std::uint32_t>(gone);
    EXPECT_EQ(clean(folder.path, minute), counts(0, 0));
    EXPECT_TRUE(std::filesystem::exists(rings.path()));
}

}  // namespace
}  // namespace prof::left_rings_test
