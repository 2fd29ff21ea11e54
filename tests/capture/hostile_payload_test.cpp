// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>

#include "capture/capture_files.hpp"
#include "capture/reader.hpp"

namespace prof::hostile_payload_test {
namespace {

using namespace prof::test;
using ::testing::HasSubstr;

// A capture of one chunk with any payload, its checksums right.
byte_string capture_with(format::chunk_type type, const byte_string& payload, std::uint32_t raw_bytes,
                         std::uint32_t flags = 0) {
    format::file_header header;
    header.magic = format::magic;
    header.version = format::version;
    header.header_bytes = sizeof header;
    byte_string bytes(sizeof header + sizeof(format::chunk_header) + payload.size());
    put_at(bytes, 0, header);
    put_at(bytes, offsetof(format::file_header, crc32), crc32_by_hand(bytes.data(), 52));
    format::chunk_header chunk;
    chunk.type = static_cast<std::uint32_t>(type);
    chunk.flags = flags;
    chunk.stored_bytes = static_cast<std::uint32_t>(payload.size());
    chunk.raw_bytes = raw_bytes;
    put_at(bytes, sizeof header, chunk);
    std::copy(payload.begin(), payload.end(), bytes.end() - static_cast<std::ptrdiff_t>(payload.size()));
    seal_chunk(bytes, sizeof header);
    return bytes;
}

byte_string deflated(const byte_string& raw) {
    byte_string out(compressBound(raw.size()));
    uLongf size = out.size();
    compress(out.data(), &size, raw.data(), raw.size());
    out.resize(size);
    return out;
}

class HostilePayload : public ::testing::Test {
protected:
    capture_damage read(const byte_string& bytes) {
        file_.hold(bytes);
        capture_reader reader(file_.path());
        chunks_ = read_all(reader);
        return reader.damage();
    }
    void expect_refused(format::chunk_type type, const byte_string& payload) {
        const auto damage = read(capture_with(type, payload, static_cast<std::uint32_t>(payload.size())));
        EXPECT_EQ(chunks_.size(), 0U);
        EXPECT_EQ(damage.first, "at byte 64: a chunk does not have the form of its type");
        EXPECT_EQ(damage.chunks, 1U);
        EXPECT_EQ(damage.bytes, 40 + payload.size());
    }

    memory_file file_;
    std::vector<kept_chunk> chunks_;
};

TEST_F(HostilePayload, RefusesADeflateBomb) {
    // 32 MiB of zeros in 32 KiB: as a chunk that admits it, and as one that claims to be small.
    const byte_string bomb = deflated(byte_string(32U << 20, 0));
    ASSERT_LT(bomb.size(), 40'000U);
    EXPECT_THAT(read(capture_with(format::chunk_type::names, bomb, 32U << 20, format::chunk_deflated)).first,
                HasSubstr("an invalid length"));
    EXPECT_THAT(read(capture_with(format::chunk_type::names, bomb, 64, format::chunk_deflated)).first,
                HasSubstr("does not inflate to the size it gives"));
    EXPECT_THAT(read(capture_with(format::chunk_type::names, bomb, 16U << 20, format::chunk_deflated)).first,
                HasSubstr("does not inflate to the size it gives"));
    EXPECT_EQ(chunks_.size(), 0U);
}

TEST_F(HostilePayload, RefusesAStreamThatIsNotZlib) {
    byte_string stream = deflated(byte_string(160, 7));
    EXPECT_EQ(read(capture_with(format::chunk_type::drops, stream, 160, format::chunk_deflated)).bytes, 0U);
    EXPECT_EQ(chunks_.size(), 1U);

    byte_string longer = stream;
    longer.push_back(0);
    EXPECT_GT(read(capture_with(format::chunk_type::drops, longer, 160, format::chunk_deflated)).bytes, 0U);
    EXPECT_GT(read(capture_with(format::chunk_type::drops, stream, 176, format::chunk_deflated)).bytes, 0U);
    stream.back() ^= 1;  // zlib's own checksum
    EXPECT_GT(read(capture_with(format::chunk_type::drops, stream, 160, format::chunk_deflated)).bytes, 0U);
    EXPECT_GT(read(capture_with(format::chunk_type::drops, {}, 160, format::chunk_deflated)).bytes, 0U);
    EXPECT_EQ(chunks_.size(), 0U);
}

TEST_F(HostilePayload, RefusesArraysOfBrokenElements) {
    expect_refused(format::chunk_type::labels, byte_string(15));
    expect_refused(format::chunk_type::thread, byte_string(96));
    expect_refused(format::chunk_type::thread, {});
    expect_refused(format::chunk_type::records, byte_string(7));
    expect_refused(format::chunk_type::records, byte_string(8 + 33));
    expect_refused(format::chunk_type::graph_context, byte_string(8 + 33));
    expect_refused(format::chunk_type::key_frame, byte_string(64));
    expect_refused(format::chunk_type::open, byte_string(8 + 33));
    expect_refused(format::chunk_type::known_graphs, byte_string(8 + 33));
    expect_refused(format::chunk_type::kernels, byte_string(151));
    expect_refused(format::chunk_type::transfers, byte_string(81));
    expect_refused(format::chunk_type::graphs, byte_string(41));
    expect_refused(format::chunk_type::clocks, byte_string(39));
    expect_refused(format::chunk_type::devices, byte_string(87));
    expect_refused(format::chunk_type::drops, byte_string(17));
    expect_refused(format::chunk_type::windows, byte_string(63));
    expect_refused(format::chunk_type::end, byte_string(8));
}

TEST_F(HostilePayload, RefusesRecordNumbersThatWrap) {
    byte_string payload(8 + 2 * 32);
    put_at(payload, 0, UINT64_MAX - 1);
    expect_refused(format::chunk_type::records, payload);
}

TEST_F(HostilePayload, RefusesTextOutsideThePayload) {
    byte_string names(16);
    put_at(names, 4, std::uint32_t{9});  // nine bytes, where eight are left
    expect_refused(format::chunk_type::names, names);
    put_at(names, 4, std::uint32_t{0xFFFFFFFF});  // rounds up to 2³²
    expect_refused(format::chunk_type::names, names);
    expect_refused(format::chunk_type::names, byte_string(7));

    byte_string properties(16);
    put_at(properties, 0, std::uint32_t{0x80000000});  // the two add up to 2³²
    put_at(properties, 4, std::uint32_t{0x80000000});
    expect_refused(format::chunk_type::properties, properties);
    put_at(properties, 0, std::uint32_t{4});
    put_at(properties, 4, std::uint32_t{5});
    expect_refused(format::chunk_type::properties, properties);
}

}  // namespace
}  // namespace prof::hostile_payload_test
