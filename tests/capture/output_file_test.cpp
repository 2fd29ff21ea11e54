// SPDX-License-Identifier: Apache-2.0
// The capture's file while the program closes descriptors that are not its own, and its next file gets the number.
#include "capture/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <string>

#include "support/scratch_directory.hpp"

namespace prof {
namespace {

std::string programs_path;

// The first part takes long. Meanwhile the program closes the descriptor, and opens a file of its own.
ssize_t write_half(int descriptor, const void* bytes, std::size_t count) {
    const ssize_t written = ::write(descriptor, bytes, count / 2);
    const int programs = ::open(programs_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::dup2(programs, descriptor), descriptor);
    ::close(programs);
    return written;
}

TEST(OutputFile, WritesToNoFileOfTheProgramsAfterAPartOfAWrite) {
    const test::scratch_directory scratch;
    programs_path = scratch / "program's";
    std::array<std::byte, 100> bytes{};
    output_file file(scratch / "a.prof", write_half);
    const output_file::outcome result = file.write_all(bytes);
    EXPECT_EQ(result.written, 50U);
    EXPECT_EQ(result.error, EBADF);
    EXPECT_EQ(std::filesystem::file_size(programs_path), 0U);
    EXPECT_EQ(std::filesystem::file_size(scratch / "a.prof"), 50U);
}

}  // namespace
}  // namespace prof
