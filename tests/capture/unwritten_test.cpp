// SPDX-License-Identifier: Apache-2.0
// What had been put together for a capture and was not, or not all, in its file when the process died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/reader.hpp"
#include "capture/recovery/recovery.hpp"
#include "capture/small_rings.hpp"

namespace prof::unwritten_test {
namespace {

using namespace prof::test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Of the records that were recovered.
std::vector<std::uint64_t> numbers_in(const std::vector<kept_chunk>& chunks) {
    std::vector<std::uint64_t> numbers;
    for (const kept_chunk& c : chunks) {
        if (c.type != format::chunk_type::records || !c.recovered) continue;
        auto number = value_at<std::uint64_t>(c.payload, 0);
        for (std::size_t at = 8; at < c.payload.size(); at += sizeof(record)) numbers.push_back(number++);
    }
    return numbers;
}

class UnwrittenChunks : public ::testing::Test {
protected:
    // Of the next capture of the rings.
    capture_writer_options sharing() {
        capture_writer_options options = writer_options();
        options.shared_memory = rings_.writing_area();
        options.number = rings_.begin_capture();
        return options;
    }
    void publish() {
        rings_.publish();
        writer_.property("rings_path", rings_.path());
        writer_.flush();
    }
    std::vector<kept_chunk> read(const char* name) {
        capture_reader reader(folder_ / name);
        auto chunks = read_all(reader);
        outcome_ = reader.recovery_outcome();
        return chunks;
    }

    scratch_directory folder_;
    region rings_{small_region(folder_)};
    capture_writer writer_{folder_ / "a.prof", sharing()};
    std::string outcome_;
};

TEST_F(UnwrittenChunks, ContinueWhereTheFileEnds) {
    ringed_thread thread(rings_, 1);
    publish();
    thread.write(10);
    thread.drain_to(writer_, 4);
    const auto size = std::filesystem::file_size(folder_ / "a.prof");
    const auto view = thread.drain.peek();
    writer_.window({.epoch = 1, .begin_ticks = 5});
    writer_.records(thread.uid, view.begin, view.first.first(3));
    writer_.thread({.uid = thread.uid, .tid = 1, .name = {"renamed"}});
    const auto types_of = [](const std::vector<kept_chunk>& chunks) {
        std::vector<format::chunk_type> types;
        for (const kept_chunk& c : chunks) {
            if (c.recovered) types.push_back(c.type);
        }
        return types;
    };
    const auto chunks = read("a.prof");
    using format::chunk_type;
    EXPECT_THAT(types_of(chunks),
                ElementsAre(chunk_type::windows, chunk_type::records, chunk_type::thread, chunk_type::records));
    EXPECT_EQ(numbers_in(chunks), (std::vector<std::uint64_t>{4, 5, 6, 7, 8, 9}));
    EXPECT_THAT(outcome_, HasSubstr("6 records were recovered"));

    // The same from whatever part of it is in the file, and of a file that has it all.
    const byte_string rings = read_bytes(rings_.path());
    writer_.flush();
    const byte_string all = read_bytes(folder_ / "a.prof");
    write_bytes(rings_.path(), rings);
    for (std::size_t cut = size; cut <= all.size(); ++cut) {
        SCOPED_TRACE(cut);
        write_bytes(folder_ / "a.prof", {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(cut)});
        capture_reader reader(folder_ / "a.prof");
        auto again = read_all(reader);
        ASSERT_EQ(reader.damage().bytes + reader.damage().chunks + reader.damage().cut_off_bytes, 0U);
        const auto same = [](const kept_chunk& a, const kept_chunk& b) {
            return a.type == b.type && a.aux == b.aux && a.payload == b.payload;
        };
        ASSERT_TRUE(std::equal(again.begin(), again.end(), chunks.begin(), chunks.end(), same));
        reader.rewind();
        ASSERT_EQ(read_all(reader).size(), again.size());
        ASSERT_EQ(reader.damage().cut_off_bytes, 0U);
    }
    // Another capture of the same process does not have it.
    capture_writer second(folder_ / "b.prof", sharing());
    second.property("rings_path", rings_.path());
    second.flush();
    capture_reader reader(folder_ / "b.prof");
    EXPECT_THAT(types_of(read_all(reader)), ::testing::Not(::testing::Contains(chunk_type::windows)));
}

// One that could not be written to its end, after which the process began another.
TEST_F(UnwrittenChunks, AreNotGivenToAnEarlierCaptureThatFailed) {
    publish();
    const byte_string failed = read_bytes(folder_ / "a.prof");
    writer_.end(format::end_reason::stopped);
    capture_writer second(folder_ / "b.prof", sharing());
    second.property("rings_path", rings_.path());
    second.flush();
    ringed_thread thread(rings_, 1);
    thread.write(3);
    write_bytes(folder_ / "a.prof", failed);
    EXPECT_THAT(numbers_in(read("a.prof")), ::testing::IsEmpty());
    EXPECT_THAT(outcome_, HasSubstr("the process has gone on to another capture with them"));
    EXPECT_THAT(numbers_in(read("b.prof")), ElementsAre(0, 1, 2));
}

// The disk accepts nothing of the second capture, so it has no file; or it has no memory of the rings' for its chunks.
TEST_F(UnwrittenChunks, OfACaptureWithoutAFileAreNobodys) {
    publish();
    const auto refuse = [](int, const void*, std::size_t) -> ssize_t {
        errno = EFBIG;
        return -1;
    };
    capture_writer_options refused = sharing();
    refused.write = refuse;
    EXPECT_THROW(capture_writer(folder_ / "b.prof", refused), error);
    ringed_thread thread(rings_, 1);
    thread.write(3);
    EXPECT_THAT(numbers_in(read("a.prof")), ::testing::IsEmpty());
    EXPECT_THAT(outcome_, HasSubstr("the process has gone on to another capture with them"));
}

// The process begins its next capture while its rings are being read.
TEST_F(UnwrittenChunks, AreNotMixedWithThoseOfTheNextCapture) {
    publish();
    ringed_thread thread(rings_, 1);
    thread.write(3);
    recovery_basis basis;
    basis.rings_path = rings_.path();
    basis.number = 1;
    EXPECT_FALSE(recover_rings(id, basis).chunks.empty());
    const recovery mixed = recover_rings(id, basis, [&] { (void)rings_.begin_capture(); });
    EXPECT_TRUE(mixed.chunks.empty());
    EXPECT_THAT(mixed.outcome, HasSubstr("the process has gone on to another capture with them"));
}

// The second has memory of its own until the first is closed.
TEST_F(UnwrittenChunks, BelongToOneCaptureAtATime) {
    publish();
    {
        capture_writer second(folder_ / "b.prof", sharing());
        second.property("rings_path", rings_.path());
        second.flush();
        second.property("key", "second");
        writer_.property("key", "first");
        capture_reader reader(folder_ / "b.prof");
        EXPECT_EQ(read_all(reader).size(), 1U);
    }
    EXPECT_EQ(read("a.prof").size(), 1U);
    writer_.end(format::end_reason::stopped);
    capture_writer third(folder_ / "c.prof", sharing());
    third.property("rings_path", rings_.path());
    third.flush();
    third.property("key", "third");
    capture_reader reader(folder_ / "c.prof");
    EXPECT_EQ(read_all(reader).size(), 2U);
}

}  // namespace
}  // namespace prof::unwritten_test
