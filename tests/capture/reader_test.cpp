// SPDX-License-Identifier: Apache-2.0
#include "capture/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>

#include "base/error.hpp"
#include "capture/capture_files.hpp"
#include "capture/payload.hpp"
#include "capture/sample_capture.hpp"
#include "support/sanitized.hpp"

namespace prof::reader_test {
namespace {

using namespace prof::test;
using ::testing::HasSubstr;

std::string error_of(const std::string& path) {
    try {
        capture_reader reader(path);
    } catch (const error& problem) {
        return problem.what();
    }
    return "(no error)";
}

// The sample capture as bytes, and what an undamaged reader gives.
class CaptureReader : public ::testing::TestWithParam<bool> {
protected:
    CaptureReader() {
        capture_writer_options options;
        options.deflate = GetParam();
        {
            capture_writer writer(folder_ / "sample.prof", options);
            write_sample(writer);
        }
        bytes_ = read_bytes(folder_ / "sample.prof");
        offsets_ = chunk_offsets(bytes_);
        capture_reader reader(folder_ / "sample.prof");
        chunks_ = read_all(reader);
    }

    struct reading {
        std::vector<kept_chunk> chunks;
        capture_damage damage;
    };
    reading read(const byte_string& bytes) const {
        changed_.hold(bytes);
        capture_reader reader(changed_.path());
        reading result;
        result.chunks = read_all(reader);
        result.damage = reader.damage();
        return result;
    }
    std::vector<kept_chunk> all_but(std::size_t index) const {
        auto rest = chunks_;
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(index));
        return rest;
    }
    std::size_t payload_end(std::size_t index) const {
        return offsets_[index] + sizeof(format::chunk_header) +
               value_at<std::uint32_t>(bytes_, offsets_[index] + offsetof(format::chunk_header, stored_bytes));
    }

    scratch_directory folder_;
    memory_file changed_;
    byte_string bytes_;
    std::vector<std::size_t> offsets_;  // of the chunks, and the end
    std::vector<kept_chunk> chunks_;
};
INSTANTIATE_TEST_SUITE_P(Plain, CaptureReader, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Deflated, CaptureReader, ::testing::Values(true));

template <typename TElement>
std::vector<TElement> copy_of(std::span<const TElement> elements) {
    return {elements.begin(), elements.end()};
}

template <typename TElement>
bool same_bytes(const std::vector<TElement>& a, const std::vector<TElement>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(TElement)) == 0;
}

TEST_P(CaptureReader, EstimatesContentsBeforeReading) {
    std::uint64_t kernels = 0;
    for (const kept_chunk& part : chunks_) {
        if (part.type == format::chunk_type::kernels) kernels += part.payload.size();
    }
    ASSERT_GT(kernels, 0U);
    capture_reader reader(folder_ / "sample.prof");
    EXPECT_EQ(reader.payload_bytes_hints()[format::chunk_type::kernels], kernels);
}

TEST_P(CaptureReader, ReadsEveryTypeOfChunk) {
    const sample& given = sample_values();
    capture_reader reader(folder_ / "sample.prof");
    EXPECT_EQ(reader.header().version, format::version);

    std::vector<std::pair<std::string, std::string>> properties;
    std::set<format::chunk_type> seen;
    chunk c;
    while (reader.next(c)) {
        seen.insert(c.type);
        EXPECT_FALSE(c.recovered);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(c.payload.data()) % 8, 0U);
        switch (c.type) {
            case format::chunk_type::properties:
                for_each_property(c.payload, [&](std::string_view key, std::string_view value) {
                    properties.emplace_back(key, value);
                });
                break;
            case format::chunk_type::names: {
                std::vector<capture_writer::name_entry> names;
                for_each_name(c.payload,
                              [&](std::uint32_t id, std::string_view text) { names.emplace_back(id, text); });
                EXPECT_EQ(names, given.names);
                break;
            }
            case format::chunk_type::labels:
                EXPECT_TRUE(same_bytes(copy_of(elements<label>(c.payload)), given.labels));
                break;
            case format::chunk_type::thread: {
                const auto& thread = elements<format::thread_entry>(c.payload).front();
                EXPECT_EQ(thread.uid, 1U);
                EXPECT_EQ(thread.tid, 4711U);
                EXPECT_EQ(thread_name(thread), "python3");
                break;
            }
            case format::chunk_type::records:
                EXPECT_EQ(c.aux, 1U);
                EXPECT_EQ(records_of(c.payload).first_number, 0U);
                EXPECT_TRUE(same_bytes(copy_of(records_of(c.payload).records), given.records));
                break;
            case format::chunk_type::graph_context:
            case format::chunk_type::known_graphs:
                EXPECT_EQ(c.aux, 1U);
                EXPECT_EQ(records_of(c.payload).first_number, 7U);
                EXPECT_TRUE(same_bytes(copy_of(records_of(c.payload).records), given.graph_context));
                break;
            case format::chunk_type::kernels:
                EXPECT_TRUE(same_bytes(copy_of(elements<kernel_record>(c.payload)), given.kernels));
                break;
            case format::chunk_type::transfers:
                EXPECT_TRUE(same_bytes(copy_of(elements<transfer_record>(c.payload)), given.transfers));
                break;
            case format::chunk_type::graphs:
                EXPECT_TRUE(same_bytes(copy_of(elements<graph_record>(c.payload)), given.graphs));
                break;
            case format::chunk_type::clocks:
                EXPECT_TRUE(same_bytes(copy_of(elements<clock_snapshot>(c.payload)), given.clocks));
                break;
            case format::chunk_type::devices:
                EXPECT_TRUE(same_bytes(copy_of(elements<device_record>(c.payload)), given.devices));
                break;
            case format::chunk_type::windows:
                EXPECT_TRUE(same_bytes(copy_of(elements<format::window_entry>(c.payload)), given.windows));
                break;
            case format::chunk_type::key_frame:
                EXPECT_FALSE(c.begins);
                EXPECT_TRUE(same_bytes(copy_of(elements<format::key_frame_entry>(c.payload)), {given.key_frame}));
                break;
            case format::chunk_type::open:
                EXPECT_EQ(c.aux, 1U);
                EXPECT_EQ(records_of(c.payload).first_number, 3U);
                EXPECT_TRUE(same_bytes(copy_of(records_of(c.payload).records), {given.records.front()}));
                break;
            case format::chunk_type::drops: {
                const auto drops = elements<format::drop_entry>(c.payload);
                ASSERT_EQ(drops.size(), 2U);
                EXPECT_EQ(drops[0].cause, static_cast<std::uint32_t>(drop_cause::ring_full));
                EXPECT_EQ(drops[0].count, 21U);
                EXPECT_EQ(drops[1].cause, static_cast<std::uint32_t>(drop_cause::labels_full));
                EXPECT_EQ(drops[1].count, 22U);
                break;
            }
            case format::chunk_type::end:
                EXPECT_EQ(elements<format::end_entry>(c.payload).front().reason, format::end_reason::exited);
                EXPECT_GE(elements<format::end_entry>(c.payload).front().realtime_ns,
                          reader.header().created_realtime_ns);
                break;
        }
    }
    EXPECT_EQ(properties, given.properties);
    EXPECT_EQ(seen.size(), 17U);
    EXPECT_EQ(reader.damage().bytes + reader.damage().chunks + reader.damage().unknown_chunks, 0U);
    EXPECT_EQ(reader.damage().first, "");
    EXPECT_EQ(reader.recovery_outcome(), "");
}

TEST_P(CaptureReader, ReadsAgainAfterRewind) {
    byte_string damaged = bytes_;
    damaged[offsets_[2]] ^= 1;
    write_bytes(folder_ / "damaged.prof", damaged);
    capture_reader reader(folder_ / "damaged.prof");
    const auto first = read_all(reader);
    const capture_damage damage = reader.damage();
    reader.rewind();
    EXPECT_EQ(read_all(reader), first);
    EXPECT_EQ(reader.damage().bytes, damage.bytes);
    EXPECT_EQ(reader.damage().chunks, 1U);
}

TEST_P(CaptureReader, DeliversChunksBeforeACutAndCountsTheRest) {
    for (std::size_t size = 0; size < bytes_.size(); ++size) {
        SCOPED_TRACE(size);
        const byte_string cut{bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)};
        if (size < sizeof(format::file_header)) {
            ASSERT_THROW(read(cut), error);
            continue;
        }
        std::size_t whole = 0;
        while (whole < chunks_.size() && payload_end(whole) <= size) ++whole;
        const auto result = read(cut);
        ASSERT_EQ(result.chunks,
                  std::vector<kept_chunk>(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(whole)));
        // Where only padding is missing, nothing is.
        ASSERT_EQ(result.damage.cut_off_bytes, size > offsets_[whole] ? size - offsets_[whole] : 0);
        ASSERT_EQ(result.damage.bytes + result.damage.chunks, 0U) << result.damage.first;
    }
}

// A death cannot leave this in a closed capture, and bytes that do not begin a chunk are not part of one.
TEST_P(CaptureReader, CountsACutOnlyWhereADeathCanLeaveOne) {
    const auto expect_damage = [&](const byte_string& bytes, std::size_t good) {
        const auto result = read(bytes);
        EXPECT_EQ(result.damage.cut_off_bytes, 0U);
        EXPECT_EQ(result.damage.bytes, bytes.size() - good);
        EXPECT_FALSE(result.damage.first.empty());
    };
    const auto with = [&](std::size_t good, std::size_t from, std::size_t bytes) {
        byte_string out(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(good));
        const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(from);
        out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
        return out;
    };
    expect_damage(with(bytes_.size(), offsets_[1], 50), bytes_.size());
    expect_damage(with(bytes_.size(), offsets_[1], 20), bytes_.size());
    expect_damage(with(offsets_[3], offsets_[1] + 8, 20), offsets_[3]);
    // A chunk behind it shows that the file does not end there.
    byte_string holed = bytes_;
    holed.erase(holed.begin() + static_cast<std::ptrdiff_t>(offsets_[2] + 48),
                holed.begin() + static_cast<std::ptrdiff_t>(offsets_[3]));
    EXPECT_EQ(read(holed).damage.cut_off_bytes, 0U);
    EXPECT_GT(read(holed).damage.bytes, 0U);
}

TEST_P(CaptureReader, SkipsOnlyTheChunkWithAFlippedBit) {
    PROF_TESTS_ONE_THREAD();
    std::size_t index = 0;
    for (std::size_t at = 0; at < bytes_.size(); ++at) {
        while (at >= offsets_[index + 1]) ++index;
        for (int bit = 0; bit < 8; ++bit) {
            SCOPED_TRACE(::testing::Message() << "byte " << at << ", bit " << bit);
            byte_string flipped = bytes_;
            flipped[at] = static_cast<unsigned char>(flipped[at] ^ (1U << bit));
            if (at < format::magic.size()) {
                ASSERT_THROW(read(flipped), error);
                continue;
            }
            const auto result = read(flipped);
            if (at < sizeof(format::file_header)) {
                const bool checked = at < offsetof(format::file_header, reserved2);
                ASSERT_EQ(result.chunks, chunks_);
                ASSERT_EQ(result.damage.bytes, checked ? 64U : 0U);
            } else if (at >= payload_end(index)) {  // padding
                ASSERT_EQ(result.chunks, chunks_);
                ASSERT_EQ(result.damage.bytes, 0U);
            } else {
                const bool last = index + 1 == chunks_.size();
                ASSERT_EQ(result.chunks, all_but(index));
                ASSERT_EQ(result.damage.bytes, offsets_[index + 1] - offsets_[index]);
                // Only its own header shows that there was a last chunk.
                const bool header = at < offsets_[index] + sizeof(format::chunk_header);
                ASSERT_EQ(result.damage.chunks, last && header ? 0U : 1U);
                ASSERT_THAT(result.damage.first, HasSubstr("at byte " + std::to_string(offsets_[index])));
            }
        }
    }
}

TEST_P(CaptureReader, RefusesImpossibleLengths) {
    const std::size_t at = offsets_[4];
    const std::size_t stored = at + offsetof(format::chunk_header, stored_bytes);
    const std::size_t raw = at + offsetof(format::chunk_header, raw_bytes);
    struct lengths {
        std::uint32_t stored;
        std::uint32_t raw;
    };
    const auto there = value_at<std::uint32_t>(bytes_, stored);
    for (const lengths l :
         {lengths{0xFFFFFFFF, 0xFFFFFFFF}, lengths{there, 0xFFFFFFFF}, lengths{there, 0}, lengths{0xFFFFFFF8, 8},
          lengths{format::largest_chunk_bytes + 8, 8}, lengths{there, format::largest_chunk_bytes + 1},
          lengths{0, 0xFFFFFFFF}, lengths{format::largest_chunk_bytes, format::largest_chunk_bytes}}) {
        SCOPED_TRACE(::testing::Message() << l.stored << " " << l.raw);
        byte_string hostile = bytes_;
        put_at(hostile, stored, l.stored);
        put_at(hostile, raw, l.raw);
        seal_chunk(hostile, at);
        const auto result = read(hostile);
        EXPECT_EQ(result.chunks, all_but(4));
        EXPECT_EQ(result.damage.chunks, 1U);
        EXPECT_GT(result.damage.bytes, 0U);
    }
}

TEST_P(CaptureReader, FindsTheNextChunkBehindGarbage) {
    byte_string spoilt{bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(offsets_[3])};
    spoilt.insert(spoilt.end(), 200'000, 'K');
    spoilt.insert(spoilt.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offsets_[3]), bytes_.end());
    const auto result = read(spoilt);
    EXPECT_EQ(result.chunks, chunks_);
    EXPECT_EQ(result.damage.bytes, 200'000U);
    EXPECT_EQ(result.damage.chunks, 0U);
    EXPECT_EQ(result.damage.first, "at byte " + std::to_string(offsets_[3]) + ": no chunk begins here");
}

TEST_P(CaptureReader, CountsMissingChunks) {
    byte_string holed = bytes_;
    holed.erase(holed.begin() + static_cast<std::ptrdiff_t>(offsets_[2]),
                holed.begin() + static_cast<std::ptrdiff_t>(offsets_[4]));
    const auto result = read(holed);
    EXPECT_EQ(result.chunks.size(), chunks_.size() - 2);
    EXPECT_EQ(result.damage.chunks, 2U);
    EXPECT_EQ(result.damage.bytes, 0U);
}

TEST_P(CaptureReader, DeliversNothingTwice) {
    byte_string twice = bytes_;
    twice.insert(twice.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offsets_[4]),
                 bytes_.begin() + static_cast<std::ptrdiff_t>(offsets_[5]));
    const auto result = read(twice);
    EXPECT_EQ(result.chunks, chunks_);
    EXPECT_EQ(result.damage.bytes, offsets_[5] - offsets_[4]);
    EXPECT_THAT(result.damage.first, HasSubstr("second time"));
}

TEST_P(CaptureReader, SkipsAdditionsOfLaterVersions) {
    byte_string later = bytes_;
    put_at(later, offsets_[1] + offsetof(format::chunk_header, type), std::uint32_t{99});
    seal_chunk(later, offsets_[1]);
    auto& flags = later[offsets_[3] + offsetof(format::chunk_header, flags)];
    flags = static_cast<unsigned char>(flags | 2U);
    seal_chunk(later, offsets_[3]);
    const auto result = read(later);
    EXPECT_EQ(result.chunks.size(), chunks_.size() - 2);
    EXPECT_EQ(result.damage.unknown_chunks, 2U);
    EXPECT_EQ(result.damage.bytes, 0U);
    EXPECT_EQ(result.damage.chunks, 0U);
}

TEST_P(CaptureReader, ReadsChunksAfterALongerHeader) {
    byte_string longer = bytes_;
    longer.insert(longer.begin() + 64, 16, 0xEE);
    put_at(longer, offsetof(format::file_header, header_bytes), std::uint32_t{80});
    put_at(longer, offsetof(format::file_header, crc32), crc32_by_hand(longer.data(), 52));
    const auto result = read(longer);
    EXPECT_EQ(result.chunks, chunks_);
    EXPECT_EQ(result.damage.bytes, 0U);
}

TEST_P(CaptureReader, RefusesUnreadableFilesInOneLine) {
    write_bytes(folder_ / "empty", {});
    write_bytes(folder_ / "text", byte_string(1000, 'x'));
    byte_string newer = bytes_;
    put_at(newer, offsetof(format::file_header, version), std::uint32_t{2});
    put_at(newer, offsetof(format::file_header, crc32), crc32_by_hand(newer.data(), 52));
    write_bytes(folder_ / "newer", newer);
    byte_string odd = bytes_;
    put_at(odd, offsetof(format::file_header, header_bytes), std::uint32_t{63});
    put_at(odd, offsetof(format::file_header, crc32), crc32_by_hand(odd.data(), 52));
    write_bytes(folder_ / "odd", odd);
    ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);

    EXPECT_EQ(error_of(folder_ / "none"), "cannot open " + (folder_ / "none") + ": No such file or directory");
    EXPECT_EQ(error_of(folder_ / "empty"), "cannot read " + (folder_ / "empty") + ": it is empty");
    EXPECT_EQ(error_of(folder_ / "text"), "cannot read " + (folder_ / "text") + ": it is not a libprof capture");
    EXPECT_EQ(error_of(folder_ / "newer"), "cannot read " + (folder_ / "newer") +
                                               ": its format is version 2, this build reads version 1; use the prof "
                                               "that wrote it");
    EXPECT_EQ(error_of(folder_ / "odd"), "cannot read " + (folder_ / "odd") + ": its header says that it has 63 bytes");
    EXPECT_EQ(error_of(folder_ / "fifo"), "cannot read " + (folder_ / "fifo") + ": it is not a regular file");
    EXPECT_EQ(error_of(folder_.path), "cannot read " + folder_.path + ": it is a directory; name the files in it");
}

}  // namespace
}  // namespace prof::reader_test
