// SPDX-License-Identifier: Apache-2.0
// The program's texts in a capture of which only the latest part is kept.
#include "collect/history/retention.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "capture/capture_files.hpp"
#include "capture/payload.hpp"

namespace prof::test::retention_test {
namespace {

constexpr std::uint64_t keep_bytes = 8U << 20;

int no_holes(int, int, off_t, off_t) {
    errno = EOPNOTSUPP;
    return -1;
}

std::map<std::string, std::string> properties_of(const std::string& path) {
    std::map<std::string, std::string> out;
    capture_reader reader(path);
    for (chunk next; reader.next(next);) {
        if (next.type == format::chunk_type::key_frame && next.begins) out.clear();
        if (next.type != format::chunk_type::properties) continue;
        for_each_property(next.payload,
                          [&](std::string_view key, std::string_view value) { out[std::string(key)] = value; });
    }
    return out;
}

class Retention : public ::testing::TestWithParam<punch_function> {
protected:
    void keep(const std::string& key, const std::string& text) {
        const std::uint64_t position = writer_.position();
        writer_.property(key, text);
        retention_.note_property(key, text, position);
    }
    // As the collector does in a round: 32 KB of records.
    void round() {
        writer_.records(1, written_, records_);
        retention_.note_records(1, written_, records_);
        written_ += records_.size();
        const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (retention_.wants_key_frame(now, writer_)) {
            retention_.begin_key_frame(0, now, {}, writer_);
            retention_.end_key_frame(writer_);
        }
        writer_.flush();
        retention_.trim(now, writer_);
    }
    void write(std::uint64_t bytes) {
        for (const std::uint64_t end = written_ * sizeof(record) + bytes; written_ * sizeof(record) < end;) round();
    }

    scratch_directory folder_;
    const std::string path_ = folder_ / "a.prof";
    capture_writer writer_{path_, {.punch = GetParam()}};
    retention retention_{{.time_ns = 0, .bytes = keep_bytes}, {{"hostname", "node17"}}};
    std::vector<record> records_{std::vector<record>(1024, record{.kind = record_kind::mark})};
    std::uint64_t written_ = 0;
};

TEST_P(Retention, WritesATextAgainOnlyBeforeItsCopyIsTrimmed) {
    const std::string large(1U << 20, 'l');
    std::map<std::string, std::string> expected = {{"hostname", "node17"}, {"text.large", large}};
    writer_.property("hostname", "node17");
    keep("text.large", large);
    for (int i = 0; i < 40; ++i) {
        const std::string key = "text." + std::to_string(i % 4);
        keep(key, expected[key] = std::to_string(i));
        write(3U << 19);
        ASSERT_EQ(properties_of(path_), expected) << i;
    }
    // 60 MB of records, and the text once for each six of them; with each key frame it would be 60 times.
    const std::uint64_t beside_records = writer_.position() - written_ * sizeof(record);
    EXPECT_GT(beside_records, 4U << 20);
    EXPECT_LT(beside_records, 16U << 20);
}

TEST_P(Retention, KeepsTextsWhereTheFirstKeyFrameIsDamaged) {
    const std::string text(300'000, 't');
    keep("text.key", text);
    int tried = 0;
    for (int i = 0; i < 24 && tried < 4; ++i) {
        write(7U << 17);
        capture_reader reader(path_);
        chunk first;
        if (!reader.next(first) || !first.begins) continue;
        ++tried;
        // Its payload, whose checksum is wrong then.
        const std::string damaged = folder_ / "damaged.prof";
        std::filesystem::copy_file(path_, damaged, std::filesystem::copy_options::overwrite_existing);
        std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(reader.read_bytes()) - 1);
        file.put('x');
        file.close();
        ASSERT_EQ(properties_of(damaged)["text.key"], text) << i;
    }
    EXPECT_EQ(tried, 4);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutHoles, Retention, ::testing::Values(punch_function{nullptr}, &no_holes));

}  // namespace
}  // namespace prof::test::retention_test
