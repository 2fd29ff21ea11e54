// SPDX-License-Identifier: Apache-2.0
#include "control/place.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/scratch_directory.hpp"

namespace prof::place_test {
namespace {

using test::scratch_directory;

TEST(ControlPlace, IsAPrivateDirectory) {
    const scratch_directory scratch;
    const std::string path = scratch.path + "/d";
    EXPECT_NE(check_private_directory(path, geteuid()).message(), "");  // there is none
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(check_private_directory(path, geteuid()).message(), "");
    for (const mode_t mode : {0701U, 0710U, 0740U, 0777U, 01777U}) {
        ASSERT_EQ(chmod(path.c_str(), mode), 0);
        EXPECT_NE(check_private_directory(path, geteuid()).message().find("is open to other users"), std::string::npos)
            << mode;
    }
    ASSERT_EQ(chmod(path.c_str(), 0700), 0);
    const std::string link = scratch.path + "/link";
    ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
    EXPECT_NE(check_private_directory(link, geteuid()).message().find("is a link"), std::string::npos);
    const std::string file = scratch.path + "/file";
    std::ofstream(file) << "x";
    EXPECT_NE(check_private_directory(file, geteuid()).message().find("is no directory"), std::string::npos);
}

TEST(ControlPlace, RefusesAnotherUsersDirectory) {
    const auto stat_as = [](const char*, struct stat* out) {
        *out = {};
        out->st_mode = S_IFDIR | 0700;
        out->st_uid = 4711;
        return 0;
    };
    EXPECT_EQ(check_private_directory("/x", 4711, stat_as).message(), "");
    EXPECT_NE(check_private_directory("/x", 4712, stat_as).message().find("belongs to user 4711"), std::string::npos);
}

class runtime_directory {
public:
    explicit runtime_directory(const std::string& path) {
        if (const char* before = std::getenv("XDG_RUNTIME_DIR")) before_ = before;
        setenv("XDG_RUNTIME_DIR", path.c_str(), 1);
    }
    ~runtime_directory() {
        before_.empty() ? unsetenv("XDG_RUNTIME_DIR") : setenv("XDG_RUNTIME_DIR", before_.c_str(), 1);
    }
    runtime_directory(const runtime_directory&) = delete;
    runtime_directory& operator=(const runtime_directory&) = delete;

private:
    std::string before_;
};

TEST(ControlPlace, UsesAPrivateRuntimeDirectory) {
    const scratch_directory scratch;
    ASSERT_EQ(chmod(scratch.path.c_str(), 0700), 0);
    const runtime_directory set(scratch.path);
    const mode_t before = umask(0);  // does not make it wider
    const result<std::string> made = make_control_directory();
    umask(before);
    ASSERT_EQ(made.failure().message(), "");
    EXPECT_EQ(made.value(), scratch.path + "/prof");
    EXPECT_EQ(check_private_directory(scratch.path + "/prof", geteuid()).message(), "");
    EXPECT_EQ(control_directories(geteuid()).front(), scratch.path + "/prof");
}

TEST(ControlPlace, AvoidsARuntimeDirectoryThatIsNotPrivate) {
    const scratch_directory scratch;
    ASSERT_EQ(chmod(scratch.path.c_str(), 0755), 0);
    const runtime_directory set(scratch.path);
    const result<std::string> made = make_control_directory();
    EXPECT_NE(made.ok() ? made.value() : "", scratch.path + "/prof");
    struct stat found {};
    EXPECT_NE(lstat((scratch.path + "/prof").c_str(), &found), 0);
}

TEST(ControlPlace, RefusesPathsTooLongForASocket) {
    EXPECT_EQ(control_socket_path("/tmp/prof-0", 4711), "/tmp/prof-0/4711.sock");
    EXPECT_EQ(control_socket_path("/" + std::string(100, 'x'), 4711), "");
    EXPECT_EQ(pid_of_control_socket("4711.sock"), 4711);
    for (const char* name : {"", ".", ".sock", "x.sock", "4711", "4711.sock.new", "-1.sock", "0.sock", "4711.socks",
                             "99999999999999.sock"}) {
        EXPECT_EQ(pid_of_control_socket(name), 0) << name;
    }
}

}  // namespace
}  // namespace prof::place_test
