// SPDX-License-Identifier: Apache-2.0
// What comes out is read back with zlib, as one stream.
#include "export/gzip_stream.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/zlib_memory.hpp"

namespace prof::gzip_stream_test {
namespace {

// Nothing may follow the stream's end.
std::string inflated(const std::string& compressed) {
    z_stream stream = unbegun_stream<z_stream>();
    EXPECT_EQ(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
    std::string from = compressed;
    std::string out;
    std::string piece(1U << 20, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(from.data());
    stream.avail_in = static_cast<uInt>(from.size());
    int done = Z_OK;
    while (done == Z_OK) {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        done = inflate(&stream, Z_NO_FLUSH);
        out.append(piece, 0, piece.size() - stream.avail_out);
    }
    EXPECT_EQ(done, Z_STREAM_END);
    EXPECT_EQ(stream.avail_in, 0U);
    inflateEnd(&stream);
    return out;
}

std::string text_of(std::size_t bytes) {
    std::string out;
    for (std::uint64_t i = 0; out.size() < bytes; ++i) {
        out += "{\"name\": \"kernel " + std::to_string(i * i % 977) + "\", \"ts\": " + std::to_string(i * 37) + "},\n";
    }
    out.resize(bytes);
    return out;
}

std::string compressed(std::string_view text, unsigned threads, std::size_t piece) {
    gzip_stream stream(threads);
    std::string out;
    const auto write = [&](std::string_view bytes) { out += bytes; };
    while (!text.empty()) {
        stream.compress(text.substr(0, piece), false, write);
        text.remove_prefix(std::min(piece, text.size()));
    }
    stream.compress({}, true, write);
    return out;
}

TEST(GzipStream, IsOneStreamWhateverCompressesIt) {
    constexpr std::size_t block = gzip_blocks::block_bytes;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, block - 1, block, block + 1, 9 * block + 12'345}) {
        const std::string text = text_of(bytes);
        for (const unsigned threads : {0U, 1U, 2U, 4U}) {
            for (const std::size_t piece : {std::size_t{100'003}, 3 * block}) {
                EXPECT_EQ(inflated(compressed(text, threads, piece)), text) << bytes << " by " << threads;
            }
        }
    }
}

// Each block has the end of the one before it as its dictionary.
TEST(GzipStream, BlocksCompressAsWellAsTheWhole) {
    const std::string text = text_of(8U << 20);
    const auto whole = static_cast<double>(compressed(text, 0, 1U << 20).size());
    EXPECT_LT(static_cast<double>(compressed(text, 3, 1U << 20).size()), 1.01 * whole);
}

// What was begun is given up with the stream.
TEST(GzipStream, MayEndEarly) {
    const std::string text = text_of(8U << 20);
    gzip_stream stream(2);
    stream.compress(text, false, [](std::string_view) {});
}

}  // namespace
}  // namespace prof::gzip_stream_test
