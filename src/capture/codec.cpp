// SPDX-License-Identifier: Apache-2.0
#include "capture/codec.hpp"

#include "base/error.hpp"
#include "capture/fast_crc32.hpp"

namespace prof {
namespace {

// zlib reads through a pointer to non-const bytes; it does not write there.
Bytef* input_of(std::span<const std::byte> bytes) noexcept {
    return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}

}  // namespace

std::uint32_t crc32_of(std::span<const std::byte> bytes) noexcept {
    if (has_fast_crc32()) return fast_crc32(bytes);
    return static_cast<std::uint32_t>(crc32_z(0, input_of(bytes), bytes.size()));
}

std::uint32_t crc32_after(std::uint32_t before, std::span<const std::byte> bytes) noexcept {
    return static_cast<std::uint32_t>(crc32_z(before, input_of(bytes), bytes.size()));
}

deflater::deflater() {
    if (deflateInit(&stream_, Z_BEST_SPEED) != Z_OK) {
        throw error("cannot compress the capture: out of memory; switch compression off");
    }
}

deflater::~deflater() { deflateEnd(&stream_); }

std::size_t deflater::operator()(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    deflateReset(&stream_);
    stream_.next_in = input_of(in);
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    return deflate(&stream_, Z_FINISH) == Z_STREAM_END ? out.size() - stream_.avail_out : 0;
}

bool inflate_exactly(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    z_stream stream = unbegun_stream<z_stream>();
    if (inflateInit(&stream) != Z_OK) return false;
    stream.next_in = input_of(in);
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
    inflateEnd(&stream);
    return whole;
}

}  // namespace prof
