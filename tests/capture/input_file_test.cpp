// SPDX-License-Identifier: Apache-2.0
#include "capture/input_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <initializer_list>

#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "capture/reader.hpp"
#include "capture/recovery/seal.hpp"
#include "capture/writer.hpp"

namespace prof::input_file_test {
namespace {

using namespace prof::test;

class InputFile : public ::testing::Test {
protected:
    InputFile() : bytes_(3'000'001) {
        for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<unsigned char>(i % 251);
        file_.hold(bytes_);
    }
    bool shows(std::span<const std::byte> view, std::size_t offset) const {
        return std::memcmp(view.data(), bytes_.data() + offset, view.size()) == 0;
    }

    byte_string bytes_;
    memory_file file_;
};

TEST_F(InputFile, ShowsAnyPartInAnyOrder) {
    input_file in(file_.path());
    EXPECT_EQ(in.size(), bytes_.size());
    for (const std::size_t offset :
         std::initializer_list<std::size_t>{0, 2'000'000, 7, 1'048'570, 1'048'576, 2'999'000, 0}) {
        for (const std::size_t size : std::initializer_list<std::size_t>{1, 40, 1000}) {
            const auto view = in.view(offset, size);
            ASSERT_EQ(view.size(), size);
            EXPECT_TRUE(shows(view, offset)) << offset;
        }
    }
    EXPECT_TRUE(shows(in.view(5, 2'900'000), 5));
}

TEST_F(InputFile, AlignsInMemoryWhatIsAlignedInTheFile) {
    input_file in(file_.path());
    for (const std::size_t offset : std::initializer_list<std::size_t>{3, 8, 1'500'001, 1'500'008}) {
        const auto address = reinterpret_cast<std::uintptr_t>(in.view(offset, 16).data());
        EXPECT_EQ(address % 8, offset % 8);
    }
}

TEST_F(InputFile, ShowsLessAtTheEndAndNothingBeyond) {
    input_file in(file_.path());
    EXPECT_EQ(in.view(3'000'000, 100).size(), 1U);
    EXPECT_EQ(in.view(3'000'001, 100).size(), 0U);
    EXPECT_EQ(in.view(UINT64_MAX, 100).size(), 0U);
    EXPECT_EQ(in.view(0, SIZE_MAX).size(), bytes_.size());
}

TEST_F(InputFile, ShowsTheRestOfAFileThatShrank) {
    input_file in(file_.path());
    file_.hold(byte_string(100));
    EXPECT_EQ(in.view(90, 50).size(), 10U);
    EXPECT_EQ(in.view(2'000'000, 50).size(), 0U);
}

// What a capture names as its rings may be anything: of a device to open it may be harm enough.
TEST_F(InputFile, OpensOnlyRegularFiles) {
    const scratch_directory folder;
    const std::string fifo = folder / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ASSERT_GE(inotify_add_watch(watch, fifo.c_str(), IN_OPEN), 0);
    EXPECT_THROW(input_file{fifo}, error);
    {
        capture_writer writer(folder / "a.prof", {});
        writer.property("rings_path", fifo);
    }
    EXPECT_EQ(seal_capture(folder / "a.prof", 0).result, seal_result::is_running) << "our own process does";
    capture_reader reader(folder / "a.prof");
    for (chunk next; reader.next(next);) {
    }
    EXPECT_NE(reader.recovery_outcome().find("not a regular file"), std::string::npos);
    char events[256];
    EXPECT_EQ(read(watch, events, sizeof events), -1) << "it was opened";
    close(watch);
}

// A process that was killed while it made a copy, a dump or a trace.
TEST(Seal, RemovesUnfinishedFilesBesideTheCapture) {
    const scratch_directory folder;
    const pid_t child = fork();
    if (child == 0) {
        capture_writer writer(folder / "a.prof", {});
        writer.flush();
        kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
    const std::string ending = ".tmp-" + std::to_string(child);
    const std::vector<std::string> ours = {"a.prof", "a.dump-1.prof", "a.trace.json.gz"};
    for (const std::string& name : ours) write_bytes(folder / (name + ending), {1});
    const std::vector<std::string> others = {"b.prof" + ending, "ab.prof" + ending, "a.prof.tmp-1", "a.trace.json.gz"};
    for (const std::string& name : others) write_bytes(folder / name, {1});
    EXPECT_EQ(seal_capture(folder / "a.prof", 9).result, seal_result::sealed);
    for (const std::string& name : ours) EXPECT_FALSE(std::filesystem::exists(folder / (name + ending))) << name;
    for (const std::string& name : others) EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    // Of a closed capture, too: then it was the trace.
    write_bytes(folder / ("a.trace.json.gz" + ending), {1});
    remove_rings(folder / "a.prof");
    EXPECT_FALSE(std::filesystem::exists(folder / ("a.trace.json.gz" + ending)));
}

}  // namespace
}  // namespace prof::input_file_test
