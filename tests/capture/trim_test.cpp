// SPDX-License-Identifier: Apache-2.0
// A capture whose front was trimmed: the storage that the writer frees, and what a reader finds.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/writer.hpp"

namespace prof::test::trim_test {
namespace {

constexpr std::uint64_t frame_records = 1000;  // 32 KB of them before each key frame

struct CaptureTrim : testing::Test {
    scratch_directory folder;
    std::string path = folder / "a.prof";
    std::vector<std::uint64_t> frames;  // where the key frames are
    std::unique_ptr<capture_writer> writer = std::make_unique<capture_writer>(path, capture_writer_options{});

    void write(std::uint64_t count) {
        for (std::uint64_t n = 0; n < count; ++n) {
            const std::vector<record> some(frame_records, record{.ticks = n + 1, .kind = record_kind::mark});
            writer->records(1, n * frame_records, some);
            writer->flush();
            frames.push_back(writer->position());
            writer->key_frame({n + 1, 0, (n + 1) * frame_records, 0});
        }
        writer->flush();
    }
    std::uint64_t storage() const {
        struct stat status {};
        stat(path.c_str(), &status);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
};

struct found {
    std::vector<std::uint64_t> first_numbers;  // of the records after the latest chunk that begins
    std::uint64_t frames = 0;
    std::uint64_t begun = 0;
    capture_damage damage;
};

void take(found& out, const chunk& c) {
    if (c.begins) {
        out.first_numbers.clear();
        ++out.begun;
    }
    if (c.type == format::chunk_type::key_frame) ++out.frames;
    if (c.type == format::chunk_type::records) out.first_numbers.push_back(records_of(c.payload).first_number);
}

found read(const std::string& path) {
    capture_reader reader(path);
    found out;
    for (chunk c; reader.next(c);) take(out, c);
    out.damage = reader.damage();
    return out;
}

void expect_undamaged(const capture_damage& damage) {
    EXPECT_EQ(damage.bytes, 0U) << damage.first;
    EXPECT_EQ(damage.chunks, 0U) << damage.first;
}

TEST_F(CaptureTrim, FreesStorageAndReadersSkipIt) {
    write(100);
    const std::uint64_t before = storage();
    ASSERT_EQ(writer->trim(frames[97]), 0);
    EXPECT_LT(storage(), before / 10);
    writer->end(format::end_reason::stopped);
    const found result = read(path);
    EXPECT_EQ(result.first_numbers, (std::vector<std::uint64_t>{98'000, 99'000}));
    EXPECT_EQ(result.begun, 1U);
    EXPECT_EQ(result.frames, 3U);
    expect_undamaged(result.damage);
}

// Each trim leaves a little less than a unit of storage in front of its position. It must not stay for ever.
TEST_F(CaptureTrim, LeavesNoStorageBehindWhenRepeated) {
    for (std::uint64_t n = 0; n < 3000; ++n) {
        write(1);
        ASSERT_EQ(writer->trim(frames.back()), 0);
        ASSERT_LT(storage(), 200'000U) << n;
    }
}

TEST_F(CaptureTrim, IsSkippedWhereACopyHasZeros) {
    write(10);
    ASSERT_EQ(writer->trim(frames[7]), 0);
    writer.reset();
    write_bytes(folder / "copy.prof", read_bytes(path));
    const found result = read(folder / "copy.prof");
    EXPECT_EQ(result.first_numbers, (std::vector<std::uint64_t>{8000, 9000}));
    expect_undamaged(result.damage);
}

TEST_F(CaptureTrim, LeavesACaptureThatBeginsWithAKeyFrame) {
    write(10);
    writer.reset();
    byte_string bytes = read_bytes(path);
    bytes.erase(bytes.begin() + sizeof(format::file_header), bytes.begin() + static_cast<std::ptrdiff_t>(frames[4]));
    write_bytes(path, bytes);
    const found result = read(path);
    EXPECT_EQ(result.first_numbers, (std::vector<std::uint64_t>{5000, 6000, 7000, 8000, 9000}));
    EXPECT_EQ(result.begun, 1U);
    expect_undamaged(result.damage);
}

TEST_F(CaptureTrim, BeginsAtTheNextKeyFrameWhenTheFirstIsDamaged) {
    write(10);
    ASSERT_EQ(writer->trim(frames[4]), 0);
    writer.reset();
    for (const std::size_t damaged : {std::size_t{0}, sizeof(format::chunk_header)}) {  // header, payload
        byte_string bytes = read_bytes(path);
        bytes[frames[4] + damaged] ^= 1;
        write_bytes(folder / "copy.prof", bytes);
        const found result = read(folder / "copy.prof");
        EXPECT_EQ(result.first_numbers, (std::vector<std::uint64_t>{6000, 7000, 8000, 9000}));
        EXPECT_EQ(result.begun, 1U);
        EXPECT_EQ(result.damage.bytes, frames[5] - frames[4]);
        EXPECT_EQ(result.damage.chunks, 1U);
    }
}

// Zeros that no trim has written are damage: no state is reset for them.
TEST_F(CaptureTrim, IsDistinguishedFromDamage) {
    write(10);
    writer.reset();
    byte_string bytes = read_bytes(path);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(frames[3]),
              bytes.begin() + static_cast<std::ptrdiff_t>(frames[3]) + 200, 0);
    write_bytes(path, bytes);
    const found result = read(path);
    EXPECT_EQ(result.begun, 0U);
    EXPECT_EQ(result.first_numbers.size(), 9U);
    EXPECT_GT(result.damage.bytes, 200U);
}

TEST_F(CaptureTrim, RestartsAReaderThatIsAtIt) {
    write(100);
    capture_reader reader(path);
    found result;
    chunk c;
    for (int i = 0; i < 9; ++i) {
        ASSERT_TRUE(reader.next(c));
        take(result, c);
    }
    ASSERT_EQ(writer->trim(frames[90]), 0);
    while (reader.next(c)) take(result, c);
    EXPECT_EQ(result.begun, 1U);
    EXPECT_EQ(result.first_numbers.size(), 9U);
    EXPECT_EQ(result.first_numbers.front(), 91'000U);
    expect_undamaged(reader.damage());
}

int no_holes(int, int, off_t, off_t) {
    errno = EOPNOTSUPP;
    return -1;
}

// Writes, and trims all but the latest ten frames, as a recording does. Returns the largest size of the file.
template <typename TWrite>
std::uint64_t keep_ten(capture_writer& writer, const std::string& path, std::vector<std::uint64_t>& frames,
                       std::uint64_t count, TWrite&& write) {
    std::uint64_t largest = 0;
    for (std::uint64_t n = 0; n < count; ++n) {
        write(n);
        if (frames.size() > 10) {
            EXPECT_EQ(writer.trim(frames[frames.size() - 10]), 0);
        }
        largest = std::max<std::uint64_t>(largest, std::filesystem::file_size(path));
    }
    return largest;
}

struct TrimWithoutHoles : CaptureTrim {
    std::uint64_t numbered = 0;

    void open(const capture_writer_options& options) {
        writer.reset();
        std::filesystem::remove(path);
        writer = std::make_unique<capture_writer>(path, options);
    }
    void write_one() {
        const std::vector<record> some(frame_records, record{.ticks = numbered + 1, .kind = record_kind::mark});
        writer->records(1, numbered * frame_records, some);
        writer->flush();
        frames.push_back(writer->position());
        writer->key_frame({++numbered, 0, numbered * frame_records, 0});
        writer->flush();
    }
    std::uint64_t run(std::uint64_t count) {
        return keep_ten(*writer, path, frames, count, [&](std::uint64_t) { write_one(); });
    }
    // The latest ten frames and everything behind the tenth are there. Trimmed frames may be, until they are as many.
    void expect_latest() {
        writer->end(format::end_reason::stopped);
        const found result = read(path);
        expect_undamaged(result.damage);
        ASSERT_GE(result.first_numbers.size(), 9U);
        EXPECT_LE(result.first_numbers.size(), 21U);
        for (std::size_t i = 0; i < result.first_numbers.size(); ++i) {
            EXPECT_EQ(result.first_numbers[i], (numbered - result.first_numbers.size() + i) * frame_records);
        }
        EXPECT_EQ(result.begun, 1U);
        EXPECT_EQ(list(folder.path), (std::vector<std::string>{"a.prof"}));
    }
    static std::vector<std::string> list(const std::filesystem::path& where) {
        std::vector<std::string> out;
        for (const auto& entry : std::filesystem::directory_iterator(where)) out.push_back(entry.path().filename());
        return out;
    }
};

TEST_F(TrimWithoutHoles, ReplacesTheFileByACopyOfTheRest) {
    open({.punch = no_holes});
    const std::uint64_t frame = 32 * frame_records + 200;
    EXPECT_LE(run(500), 22 * frame);
    EXPECT_LE(writer->bytes_written(), 22 * frame);
    EXPECT_EQ(writer->bytes_written(), std::filesystem::file_size(path));
    expect_latest();
}

TEST_F(TrimWithoutHoles, ReplacesAFileThatIsTooLong) {
    const std::uint64_t frame = 32 * frame_records + 200;
    open({.longest_file = 100 * frame});
    const std::uint64_t largest = run(1000);
    EXPECT_LE(largest, 101 * frame);
    EXPECT_GT(largest, 90 * frame);
    EXPECT_LE(storage(), 30 * frame);
    expect_latest();
}

// As a limit of the process's (ulimit -f) and a file system that has only small files answer.
constexpr std::uint64_t longest = 1'000'000;
ssize_t write_up_to_longest(int descriptor, const void* bytes, std::size_t count) {
    struct stat status {};
    fstat(descriptor, &status);
    const std::uint64_t room = longest - std::min<std::uint64_t>(longest, static_cast<std::uint64_t>(status.st_size));
    if (room != 0) return write(descriptor, bytes, std::min<std::size_t>(count, room));
    errno = EFBIG;
    return -1;
}

TEST_F(TrimWithoutHoles, ReplacesAFileAtItsLengthLimit) {
    for (const punch_function punch : {punch_function{nullptr}, punch_function{no_holes}}) {
        frames.clear();
        numbered = 0;
        open({.write = write_up_to_longest, .punch = punch});
        EXPECT_LE(run(500), longest);
        EXPECT_EQ(writer->failure(), "");
        expect_latest();
    }
}

TEST_F(TrimWithoutHoles, EndsAFileAtItsLengthLimitWhileItsFrontIsNeeded) {
    open({.write = write_up_to_longest});
    for (int n = 0; n < 50; ++n) write_one();
    EXPECT_NE(writer->failure(), "");
    EXPECT_LE(std::filesystem::file_size(path), longest);
}

// A dump is being copied meanwhile.
TEST_F(TrimWithoutHoles, WaitsAtTheLengthLimitForTheThreadThatNeedsTheFront) {
    open({.write = write_up_to_longest});
    std::recursive_mutex front;
    writer->set_front(front);
    std::atomic<bool> is_needed{false};
    std::atomic<bool> is_over{false};
    std::thread dump([&] {
        const std::lock_guard lock(front);
        is_needed = true;
        while (!is_over) std::this_thread::yield();
    });
    while (!is_needed) std::this_thread::yield();
    int waited = 0;
    writer->set_wait_for_room([&] {
        if (++waited < 3) return true;
        is_over = true;
        if (dump.joinable()) dump.join();
        return true;
    });
    run(100);
    EXPECT_EQ(waited, 3);
    EXPECT_EQ(writer->failure(), "");
    expect_latest();
}

// The program is elsewhere by then.
TEST_F(TrimWithoutHoles, ReplacesTheFileWhereItWasCreated) {
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);
    writer.reset();
    std::filesystem::remove(path);
    writer = std::make_unique<capture_writer>("a.prof", capture_writer_options{.punch = no_holes});
    std::filesystem::current_path(before);
    run(100);
    expect_latest();
    EXPECT_FALSE(std::filesystem::exists(before / "a.prof"));
}

// No room for a second file.
ssize_t write_no_copy(int descriptor, const void* bytes, std::size_t count) {
    const std::string name = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
    if (name.find(".tmp-") == std::string::npos) return write(descriptor, bytes, count);
    errno = ENOSPC;
    return -1;
}

TEST_F(TrimWithoutHoles, KeepsWritingAFileThatCannotBeCopied) {
    open({.write = write_no_copy, .punch = no_holes});
    for (int n = 0; n < 100; ++n) write_one();
    EXPECT_EQ(writer->trim(frames[90]), ENOSPC);
    // Not at each round again.
    EXPECT_EQ(writer->trim(frames[91]), 0);
    write_one();
    writer->end(format::end_reason::stopped);
    EXPECT_EQ(writer->failure(), "");
    const found result = read(path);
    expect_undamaged(result.damage);
    EXPECT_EQ(result.first_numbers.size(), 101U);
    EXPECT_EQ(list(folder.path), (std::vector<std::string>{"a.prof"}));
}

// Who removed the file does not get another one.
TEST_F(TrimWithoutHoles, DoesNotRecreateARemovedFile) {
    open({.punch = no_holes});
    for (int n = 0; n < 100; ++n) write_one();
    std::filesystem::remove(path);
    EXPECT_EQ(writer->trim(frames[90]), ENOENT);
    EXPECT_TRUE(list(folder.path).empty());
}

// Who moved the file away and put one of his own there keeps both.
TEST_F(TrimWithoutHoles, LeavesAnotherFileAtItsPathAlone) {
    open({.punch = no_holes});
    for (int n = 0; n < 100; ++n) write_one();
    std::filesystem::rename(path, folder / "moved.prof");
    const byte_string others(std::filesystem::file_size(folder / "moved.prof"), 7);
    write_bytes(path, others);
    EXPECT_EQ(writer->trim(frames[90]), ENOENT);
    write_one();
    writer->end(format::end_reason::stopped);
    EXPECT_EQ(writer->failure(), "");
    EXPECT_EQ(read_bytes(path), others);
    const found result = read(folder / "moved.prof");
    expect_undamaged(result.damage);
    EXPECT_EQ(result.first_numbers.size(), 101U);
    EXPECT_EQ(list(folder.path).size(), 2U);
}

// Copies are of the open file: by its name another's may be found.
struct CaptureCopy : TrimWithoutHoles {
    const std::string copied = folder / "copy.prof";
    const byte_string others = byte_string(100'000, 7);

    void copy() const {
        capture_writer out(copied, {.copy_of = writer.get(), .copied = writer->extent()});
        out.end(format::end_reason::dumped);
        EXPECT_EQ(out.failure(), "");
    }
    // The front of 50 frames is trimmed up to frame 40.
    void expect_copy_after_front(const capture_writer_options& options) {
        open(options);
        for (int n = 0; n < 50; ++n) write_one();
        EXPECT_EQ(writer->trim(frames[39]), 0);
        std::filesystem::rename(path, folder / "moved.prof");
        write_bytes(path, others);
        copy();
        const found result = read(copied);
        expect_undamaged(result.damage);
        EXPECT_EQ(result.first_numbers.size(), 10U);
        EXPECT_EQ(result.first_numbers.front(), 40 * frame_records);
        EXPECT_EQ(result.begun, 1U);
        EXPECT_EQ(read_bytes(path), others);
        EXPECT_LT(std::filesystem::file_size(copied), 11 * 33 * frame_records);
    }
    // The number that the program has of the file.
    int descriptor() const {
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            if (std::filesystem::read_symlink(entry.path(), gone) == path) return std::stoi(entry.path().filename());
        }
        ADD_FAILURE() << "it is not open";
        return -1;
    }
};

TEST_F(CaptureCopy, CopiesAMovedFileWithAHole) { expect_copy_after_front({}); }

TEST_F(CaptureCopy, CopiesAMovedFileThatReplacedAnother) { expect_copy_after_front({.punch = no_holes}); }

TEST_F(CaptureCopy, DoesNotCopyTheProgramsFileAfterItsDescriptorIsClosed) {
    open({});
    write_one();
    const std::string own = folder / "own";
    write_bytes(own, others);
    const int file = ::open(own.c_str(), O_RDWR | O_CLOEXEC);
    const int number = descriptor();
    ASSERT_EQ(dup2(file, number), number);
    close(file);
    try {
        copy();
        ADD_FAILURE() << "something was copied";
    } catch (const error& refusal) {
        EXPECT_NE(std::string(refusal.what()).find("the program closed it"), std::string::npos) << refusal.what();
    }
    EXPECT_FALSE(std::filesystem::exists(copied));
    EXPECT_EQ(read_bytes(own), others);
}

TEST_F(CaptureTrim, SurvivesACutAnywhere) {
    write(4);
    ASSERT_EQ(writer->trim(frames[1]), 0);
    writer.reset();
    const byte_string whole = read_bytes(path);
    for (std::size_t size = sizeof(format::file_header); size < whole.size(); size += 997) {
        write_bytes(folder / "cut.prof", {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
        const found result = read(folder / "cut.prof");
        EXPECT_LE(result.first_numbers.size(), 2U);
        EXPECT_TRUE(result.first_numbers.empty() || result.first_numbers.front() == 2000U);
    }
}

}  // namespace
}  // namespace prof::test::trim_test
