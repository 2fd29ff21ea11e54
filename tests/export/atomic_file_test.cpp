// SPDX-License-Identifier: Apache-2.0
#include "export/atomic_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/error.hpp"

namespace prof::atomic_file_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class AtomicFile : public testing::Test {
protected:
    AtomicFile() {
        std::string pattern = (fs::temp_directory_path() / "prof_atomic_XXXXXX").string();
        directory_ = mkdtemp(pattern.data());
    }
    ~AtomicFile() override { fs::remove_all(directory_); }

    std::string path(const std::string& name) const { return (directory_ / name).string(); }
    static std::string content(const std::string& path) {
        std::ostringstream out;
        out << std::ifstream(path, std::ios::binary).rdbuf();
        return out.str();
    }
    std::size_t file_count() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
    }

    fs::path directory_;
};

TEST_F(AtomicFile, AppearsOnCommitWithTheModeOfTheUmask) {
    const mode_t before = umask(027);
    atomic_file file(path("a"));
    file.write("one ");
    file.write("two");
    EXPECT_FALSE(fs::exists(path("a")));
    file.commit();
    umask(before);
    EXPECT_EQ(content(path("a")), "one two");
    struct stat status {};
    ASSERT_EQ(stat(path("a").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0640U);
    EXPECT_EQ(file_count(), 1U);
}

TEST_F(AtomicFile, AHiddenOneIsPassedOverUntilCommit) {
    atomic_file file(path("a.parquet"), 0, true);
    file.write("one");
    ASSERT_EQ(file_count(), 1U);
    EXPECT_TRUE(fs::directory_iterator(directory_)->path().filename().string().starts_with(".a.parquet.tmp-"));
    file.commit();
    EXPECT_EQ(content(path("a.parquet")), "one");
    EXPECT_EQ(file_count(), 1U);
}

TEST_F(AtomicFile, LeavesTheOldFileWithoutACommit) {
    std::ofstream(path("a")) << "before";
    {
        atomic_file file(path("a"));
        file.write("after");
    }
    EXPECT_EQ(content(path("a")), "before");
    EXPECT_EQ(file_count(), 1U);
}

TEST_F(AtomicFile, ReplacesALinkNotItsTarget) {
    std::ofstream(path("target")) << "before";
    fs::create_symlink(path("target"), path("link"));
    atomic_file file(path("link"));
    file.write("after");
    file.commit();
    EXPECT_EQ(content(path("target")), "before");
    EXPECT_EQ(content(path("link")), "after");
}

TEST_F(AtomicFile, CompressesByName) {
    std::string text;
    for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919);
    atomic_file file(path("a.gz"));
    file.write(text.substr(0, 1000));
    file.write(text.substr(1000));
    file.commit();
    EXPECT_LT(fs::file_size(path("a.gz")), text.size());
    const gzFile in = gzopen(path("a.gz").c_str(), "rb");
    std::string back(text.size() + 1, '\0');
    EXPECT_EQ(gzread(in, back.data(), static_cast<unsigned>(back.size())), static_cast<int>(text.size()));
    back.resize(text.size());
    EXPECT_EQ(gzclose(in), Z_OK);
    EXPECT_EQ(back, text);
}

TEST_F(AtomicFile, WritesADeviceInPlace) {
    atomic_file file("/dev/null");
    file.write("nothing");
    file.commit();
    struct stat status {};
    ASSERT_EQ(stat("/dev/null", &status), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode));
}

std::string failure_of(auto&& act) {
    try {
        act();
    } catch (const error& e) {
        return e.what();
    }
    return "no failure";
}

TEST_F(AtomicFile, ReportsFailuresInOneLine) {
    EXPECT_EQ(failure_of([] { atomic_file("/nowhere/a"); }), "cannot create /nowhere/a: No such file or directory");
    EXPECT_THAT(failure_of([&] { atomic_file file(directory_.string()); }), HasSubstr("Is a directory"));
    EXPECT_EQ(failure_of([] { atomic_file("/dev/full").write("x"); }),
              "cannot write /dev/full: No space left on device");
}

// As daemons do: the file that the program opens next has the number of ours.
TEST_F(AtomicFile, LeavesTheProgramsFileAloneAfterItsDescriptorIsClosed) {
    for (const bool commits : {false, true}) {
        const int next = dup(STDERR_FILENO);
        close(next);
        int programs = -1;
        const std::string failure = failure_of([&] {
            atomic_file file(path("a"));
            file.write("x");
            ASSERT_EQ(close(next), 0);
            programs = open(path("program's").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
            ASSERT_EQ(programs, next);
            commits ? file.commit() : file.write("y");
        });
        EXPECT_EQ(failure, "cannot write " + path("a") + ": the program closed it");
        EXPECT_EQ(close(programs), 0) << "the program's file is open still";
        EXPECT_EQ(content(path("program's")), "");
        EXPECT_EQ(file_count(), 1U);
    }
}

TEST_F(AtomicFile, LeavesNothingBehindOnAFullDisk) {
    // A file size limit stands in for a full disk.
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string failure = failure_of([&] { atomic_file(path("a")).write(std::string(100'000, 'x')); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(failure, "cannot write " + path("a") + ": File too large");
    EXPECT_EQ(file_count(), 0U);
}

}  // namespace
}  // namespace prof::atomic_file_test
