// SPDX-License-Identifier: Apache-2.0
#include "capture/writer.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/sample_capture.hpp"

namespace prof::writer_test {
namespace {

using namespace prof::test;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(const std::string& path) {
    try {
        capture_writer writer(path, {});
    } catch (const error& problem) {
        return problem.what();
    }
    return "(no error)";
}

byte_string hex(std::string_view text) {
    byte_string bytes;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == ' ' || text[i] == '\n') {
            ++i;
            continue;
        }
        bytes.push_back(static_cast<unsigned char>(std::stoi(std::string{text.substr(i, 2)}, nullptr, 16)));
        i += 2;
    }
    return bytes;
}

// Worked by hand from docs/reference/capture-format.md; the checksums by another program (Python's zlib).
TEST(CaptureWriter, WritesTheDocumentedBytes) {
    const scratch_directory folder;
    const std::string path = folder / "golden.prof";
    capture_writer_options options;
    for (std::uint8_t i = 0; i < 16; ++i) options.id[i] = static_cast<std::uint8_t>(0x10 + i);
    const std::uint64_t before = clock_ns(CLOCK_REALTIME);
    {
        capture_writer writer(path, options);
        writer.property("rank", "3");
        const capture_writer::name_entry name{1, "fwd"};
        writer.names({&name, 1});
        const record pop{.ticks = 0x0102030405060708, .domain = 2, .kind = record_kind::range_pop};
        writer.records(9, 5, {&pop, 1});
    }
    const std::uint64_t after = clock_ns(CLOCK_REALTIME);
    byte_string bytes = read_bytes(path);
    ASSERT_GE(bytes.size(), 64U);

    // What differs from run to run: pid, kind of ticks, time, and the checksum over them.
    EXPECT_EQ(value_at<std::uint32_t>(bytes, 16), static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(value_at<std::uint32_t>(bytes, 20), static_cast<std::uint32_t>(active_tick_source));
    EXPECT_GE(value_at<std::uint64_t>(bytes, 24), before);
    EXPECT_LE(value_at<std::uint64_t>(bytes, 24), after);
    EXPECT_EQ(value_at<std::uint32_t>(bytes, 52), crc32_by_hand(bytes.data(), 52));
    std::fill(bytes.begin() + 16, bytes.begin() + 32, static_cast<unsigned char>(0));
    std::fill(bytes.begin() + 52, bytes.begin() + 56, static_cast<unsigned char>(0));

    const byte_string expected = hex(R"(
        4C49 4250 524F 460A 0100 0000 4000 0000  0000 0000 0000 0000 0000 0000 0000 0000
        1011 1213 1415 1617 1819 1A1B 1C1D 1E1F  0000 0000 0000 0000 0000 0000 0000 0000

        4348 4E4B 0100 0000 0000 0000 0000 0000  0000 0000 0000 0000
        0D00 0000 0D00 0000 CE2E AEA3 8147 8C68
        0400 0000 0100 0000 7261 6E6B 33 000000

        4348 4E4B 0200 0000 0000 0000 0100 0000  0000 0000 0000 0000
        0C00 0000 0C00 0000 4AF5 9D20 FF2A 8414
        0100 0000 0300 0000 6677 6400 0000 0000

        4348 4E4B 0500 0000 0000 0000 0200 0000  0900 0000 0000 0000
        2800 0000 2800 0000 501B 1C7D 8F3E 22C1
        0500 0000 0000 0000
        0807 0605 0403 0201 0000 0000 0000 0000  0000 0000 0000 0000 0000 0000 0200 0200)");
    EXPECT_EQ(bytes, expected);
}

TEST(CaptureWriter, MakesAFileWhoseModeFollowsTheUmask) {
    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    const mode_t before = umask(027);
    const capture_writer writer(path, {});
    umask(before);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0640U);
}

TEST(CaptureWriter, NeverTouchesAnExistingFile) {
    const scratch_directory folder;
    write_bytes(folder / "mine", {'m', 'e'});
    ASSERT_EQ(symlink((folder / "mine").c_str(), (folder / "link").c_str()), 0);
    ASSERT_EQ(symlink((folder / "nowhere").c_str(), (folder / "dangling").c_str()), 0);

    EXPECT_THAT(error_of(folder / "mine"), AllOf(HasSubstr("mine: File exists"), HasSubstr("another name")));
    EXPECT_THAT(error_of(folder / "link"), HasSubstr("File exists"));
    EXPECT_THAT(error_of(folder / "dangling"), HasSubstr("File exists"));
    EXPECT_EQ(read_bytes(folder / "mine"), (byte_string{'m', 'e'}));
    EXPECT_FALSE(std::filesystem::exists(folder / "nowhere"));
}

TEST(CaptureWriter, RefusesToCreateInOneLine) {
    const scratch_directory folder;
    EXPECT_THAT(error_of(folder / "no/such/folder.prof"),
                AllOf(HasSubstr("cannot create capture"), HasSubstr("No such file or directory"),
                      HasSubstr("choose a directory"), ::testing::Not(HasSubstr("\n"))));
    EXPECT_THAT(error_of("/proc/x.prof"), HasSubstr("cannot create capture /proc/x.prof"));
}

TEST(CaptureWriter, CannotCreateInAFolderThatIsNotWritable) {
    const scratch_directory folder;
    ASSERT_EQ(chmod(folder.path.c_str(), 0555), 0);
    const uid_t before = geteuid();
    constexpr uid_t nobody = 65534;  // root may write everywhere
    ASSERT_EQ(before == 0 ? seteuid(nobody) : 0, 0);
    EXPECT_THAT(error_of(folder / "a.prof"), HasSubstr("Permission denied"));
    ASSERT_EQ(seteuid(before), 0);
    chmod(folder.path.c_str(), 0700);
}

TEST(CaptureWriter, AvoidsTheStandardDescriptors) {
    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    const pid_t child = fork();
    if (child == 0) {
        close(STDOUT_FILENO);
        capture_writer writer(path, {});
        // What the program prints goes nowhere; were 1 the capture, it would stand in it.
        const bool kept_off = ::write(STDOUT_FILENO, "hello", 5) == -1 && errno == EBADF;
        _exit(kept_off ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(CaptureWriter, LeavesTheProgramsFileAloneAfterItsDescriptorIsClosed) {
    const scratch_directory folder;
    const pid_t child = fork();
    if (child == 0) {
        close_range(3, ~0U, 0);
        bool fine = false;
        {
            capture_writer writer(folder / "a.prof", {});
            close_range(3, ~0U, 0);  // as daemons do
            const int others = open((folder / "others").c_str(), O_CREAT | O_RDWR, 0600);
            writer.property("key", "value");
            writer.flush();
            struct stat status {};
            fine = fstat(others, &status) == 0 && status.st_size == 0 && writer.failed();
        }
        fine = fine && fcntl(3, F_GETFD) != -1;  // not closed by the destructor either
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(CaptureWriter, WritesNothingInAForkedChild) {
    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    {
        capture_writer writer(path, {});
        writer.property("who", "parent");
        const pid_t child = fork();
        if (child == 0) {
            writer.property("who", "child");
            writer.~capture_writer();
            _exit(0);
        }
        waitpid(child, nullptr, 0);
    }
    capture_reader reader(path);
    const auto chunks = read_all(reader);
    ASSERT_EQ(chunks.size(), 1U);
    EXPECT_EQ(chunks[0].payload.size(), 8U + 3 + 6);
    EXPECT_EQ(reader.damage().bytes, 0U);
}

TEST(CaptureWriter, SplitsSpansThatDoNotFitItsBuffer) {
    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    std::vector<record> records(1000);
    for (std::size_t i = 0; i < records.size(); ++i) records[i].ticks = i;
    capture_writer_options options;
    options.buffer_bytes = 4096;
    {
        capture_writer writer(path, options);
        writer.records(3, 50, records);
    }
    capture_reader reader(path);
    chunk next;
    std::uint64_t number = 50;
    while (reader.next(next)) {
        ASSERT_EQ(next.aux, 3U);
        const record_block block = records_of(next.payload);
        ASSERT_EQ(block.first_number, number);
        for (const record& r : block.records) ASSERT_EQ(r.ticks, number++ - 50);
    }
    EXPECT_EQ(number, 1050U);
    // (4096 − 40 − 8) / 32 = 126 records a chunk: 1000 records make 8 chunks.
    EXPECT_EQ(chunk_offsets(read_bytes(path)).size() - 1, 8U);
}

// A text of that many bytes, none of them alike at places that are easily confused.
std::string text_of(std::size_t bytes) {
    std::string text(bytes, 0);
    for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + i / 256 + i / 65536);
    return text;
}

struct texts_in_file {
    std::map<std::uint32_t, std::string> names;
    std::map<std::string, std::string> properties;
    capture_damage damage;
};

texts_in_file read_texts(const std::string& path) {
    texts_in_file found;
    capture_reader reader(path);
    for (chunk next; reader.next(next);) {
        if (next.type == format::chunk_type::names) {
            for_each_name(next.payload, [&](std::uint32_t id, std::string_view text) { found.names[id] = text; });
        } else if (next.type == format::chunk_type::properties) {
            for_each_property(next.payload, [&](std::string_view key, std::string_view value) {
                found.properties[std::string(key)] = value;
            });
        }
    }
    found.damage = reader.damage();
    return found;
}

TEST(CaptureWriter, KeepsATextWholeThatDoesNotFitItsBuffer) {
    const scratch_directory folder;
    // The buffer has room for 4096 - 40 - 8 bytes of a name, and for 3 less of this property.
    const std::size_t sizes[] = {4044, 4045, 4046, 4047, 4048, 4049, 4050, 4051, 100'000, 1U << 20};
    for (const bool deflates : {false, true}) {
        for (const std::size_t bytes : sizes) {
            SCOPED_TRACE(bytes);
            const std::string path = folder / (std::to_string(bytes) + (deflates ? "d.prof" : ".prof"));
            const std::string text = text_of(bytes);
            {
                capture_writer writer(path, {.deflate = deflates,
                                             .buffer_bytes = 4096,
                                             .write = [](int file, const void* from, std::size_t count) {
                                                 return ::write(file, from, std::min<std::size_t>(count, 5000));
                                             }});
                writer.property("before", "b");
                writer.property("key", text);
                const capture_writer::name_entry names[] = {{1, "short"}, {2, text}, {3, "last"}};
                writer.names(names);
                EXPECT_FALSE(writer.failed());
            }
            const texts_in_file found = read_texts(path);
            EXPECT_EQ(found.damage.bytes + found.damage.chunks + found.damage.cut_off_bytes, 0U);
            EXPECT_EQ(found.properties, (std::map<std::string, std::string>{{"before", "b"}, {"key", text}}));
            EXPECT_EQ(found.names, (std::map<std::uint32_t, std::string>{{1, "short"}, {2, text}, {3, "last"}}));
        }
    }
}

TEST(CaptureWriter, CutsATextThatNoChunkCanHold) {
    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    const std::string text = text_of(17U << 20);
    {
        capture_writer writer(path, {});
        writer.property("key", text);
        const capture_writer::name_entry names[] = {{1, text}, {2, "short"}};
        writer.names(names);
    }
    const texts_in_file found = read_texts(path);
    EXPECT_EQ(found.damage.bytes + found.damage.chunks, 0U);
    EXPECT_EQ(found.properties.at("key"), text.substr(0, (16U << 20) - 8 - 3));
    EXPECT_EQ(found.names.at(1), text.substr(0, (16U << 20) - 8));
    EXPECT_EQ(found.names.at(2), "short");
}

// The process dies while a large text is being written.
TEST(CaptureWriter, LosesOnlyTheTextInWhichItsFileEnds) {
    const scratch_directory folder;
    const std::string path = folder / "a.prof";
    {
        capture_writer writer(path, {.buffer_bytes = 4096});
        writer.property("before", "b");
        writer.property("key", text_of(20'000));
    }
    const byte_string all = read_bytes(path);
    const std::vector<std::size_t> places = chunk_offsets(all);
    for (std::size_t end = places[1]; end < all.size(); end += 997) {
        write_bytes(path, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(end)});
        const texts_in_file found = read_texts(path);
        EXPECT_EQ(found.properties, (std::map<std::string, std::string>{{"before", "b"}}));
        EXPECT_EQ(found.damage.bytes + found.damage.chunks, 0U);
    }
}

TEST(CaptureWriter, DeflatesOnlyChunksThatShrink) {
    const scratch_directory folder;
    capture_writer_options options;
    options.deflate = true;
    {
        capture_writer writer(folder / "deflated.prof", options);
        writer.records(1, 0, std::vector<record>(1000));
        writer.property("k", "v");
        EXPECT_EQ(writer.bytes_written(), 64U);  // the rest is in the buffer
        writer.flush();
        EXPECT_EQ(writer.bytes_written(), std::filesystem::file_size(folder / "deflated.prof"));
    }
    const byte_string bytes = read_bytes(folder / "deflated.prof");
    const auto offsets = chunk_offsets(bytes);
    ASSERT_EQ(offsets.size(), 3U);
    EXPECT_EQ(value_at<std::uint32_t>(bytes, offsets[0] + 8), format::chunk_deflated);
    EXPECT_EQ(value_at<std::uint32_t>(bytes, offsets[0] + 28), 32'008U);
    EXPECT_LT(value_at<std::uint32_t>(bytes, offsets[0] + 24), 1'000U);
    EXPECT_EQ(value_at<std::uint32_t>(bytes, offsets[1] + 8), 0U);
    capture_reader reader(folder / "deflated.prof");
    EXPECT_EQ(read_all(reader)[0].payload, byte_string(32'008, 0));
}

// What write(2) does in turn: n ≥ 0 takes n bytes at most, n < 0 fails with errno −n; then all is taken.
std::vector<ssize_t> script;
ssize_t scripted_write(int descriptor, const void* bytes, std::size_t count) {
    if (script.empty()) return ::write(descriptor, bytes, count);
    const ssize_t step = script.front();
    script.erase(script.begin());
    if (step >= 0) return ::write(descriptor, bytes, std::min(count, static_cast<std::size_t>(step)));
    errno = static_cast<int>(-step);
    return -1;
}

capture_writer_options with_script(std::vector<ssize_t> steps) {
    script = std::move(steps);
    capture_writer_options options;
    options.write = scripted_write;
    return options;
}

TEST(CaptureWriter, ContinuesAfterInterruptedAndShortWrites) {
    const scratch_directory folder;
    {
        capture_writer writer(folder / "a.prof", with_script({-EINTR, 10, -EINTR, 54, 1, -EINTR, 2, 3}));
        write_sample(writer);
        EXPECT_FALSE(writer.failed());
        EXPECT_EQ(writer.failure(), "");
    }
    EXPECT_TRUE(script.empty());
    capture_reader reader(folder / "a.prof");
    EXPECT_EQ(read_all(reader).size(), 19U);
    EXPECT_EQ(reader.damage().bytes, 0U);
}

TEST(CaptureWriter, StopsAtAFailureAndCountsLostRecords) {
    const scratch_directory folder;
    const std::vector<record> ten(10);
    const std::vector<kernel_record> three(3);
    const std::vector<transfer_record> two(2);
    const std::vector<graph_record> one(1);
    // The first chunk: 40 + 8 + 320 bytes. All of it and 100 of the next are taken when the disk is full.
    capture_writer writer(folder / "a.prof", with_script({64, 468, -ENOSPC}));
    writer.records(1, 0, ten);
    writer.records(1, 10, ten);
    writer.gpu<kernel_record>(three);
    writer.flush();
    EXPECT_TRUE(writer.failed());
    EXPECT_EQ(writer.failure(), "cannot write capture " + (folder / "a.prof") +
                                    ": No space left on device; what comes after is not kept");
    EXPECT_EQ(writer.records_lost(), 13U);
    EXPECT_EQ(writer.bytes_written(), 64U + 468U);

    writer.records(1, 20, ten);
    writer.gpu<transfer_record>(two);
    writer.gpu<graph_record>(one);
    writer.property("key", "value");
    writer.end(format::end_reason::stopped);
    EXPECT_EQ(writer.records_lost(), 13U + 13U);
    EXPECT_EQ(std::filesystem::file_size(folder / "a.prof"), 64U + 468U);

    capture_reader reader(folder / "a.prof");
    EXPECT_EQ(read_all(reader).size(), 1U);
    EXPECT_EQ(reader.damage().cut_off_bytes, 100U);
    EXPECT_EQ(reader.damage().bytes, 0U);
}

TEST(CaptureWriter, LeavesNoFileWhenTheHeaderCannotBeWritten) {
    const scratch_directory folder;
    const auto options = with_script({-ENOSPC});
    EXPECT_THROW(capture_writer(folder / "a.prof", options), error);
    EXPECT_FALSE(std::filesystem::exists(folder / "a.prof"));
}

TEST(CaptureWriter, DoesNotSpinOnWritesOfZeroBytes) {
    const scratch_directory folder;
    capture_writer writer(folder / "a.prof", with_script({64, 0}));
    writer.property("key", "value");
    writer.flush();
    EXPECT_TRUE(writer.failed());
}

// Past the limit write(2) raises SIGXFSZ, which ends a process by default.
TEST(CaptureWriter, SurvivesAFileSizeLimit) {
    const scratch_directory folder;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_DFL);
        capture_writer writer(folder / "a.prof", {});
        rlimit limit{};
        getrlimit(RLIMIT_FSIZE, &limit);
        limit.rlim_cur = 1000;
        setrlimit(RLIMIT_FSIZE, &limit);
        writer.records(1, 0, std::vector<record>(100));
        writer.flush();
        sigset_t pending;
        sigpending(&pending);
        const bool fine = writer.failed() && writer.failure().find("File too large") != std::string::npos &&
                          writer.records_lost() == 100 && sigismember(&pending, SIGXFSZ) == 0;
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST(CaptureWriter, SurvivesAFullDisk) {
    const scratch_directory folder;
    constexpr int no_namespace = 77;
    const pid_t child = fork();
    if (child == 0) {
        const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                             mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             mount("none", folder.path.c_str(), "tmpfs", 0, "size=65536") == 0;
        if (!mounted) _exit(no_namespace);
        capture_writer writer(folder / "a.prof", {});
        writer.records(1, 0, std::vector<record>(1000));
        writer.flush();
        if (writer.failed()) _exit(1);
        writer.records(1, 1000, std::vector<record>(2000));
        writer.flush();
        const bool is_reported = writer.failure().find("No space left on device") != std::string::npos;
        if (!is_reported || writer.records_lost() != 2000) _exit(2);
        capture_reader reader(folder / "a.prof");
        _exit(read_all(reader).size() == 1 ? 0 : 3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_namespace) GTEST_SKIP() << "may not mount a small disk here";
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace prof::writer_test
