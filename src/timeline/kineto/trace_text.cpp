// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/trace_text.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

namespace prof {
namespace {

constexpr std::size_t piece_bytes = 256U << 10;
constexpr int gzip_header = 16;  // added to the window bits: selects a gzip header instead of zlib's

}  // namespace

trace_text::trace_text(const std::string& path) : file_(path) {
    is_compressed_ = begins_member(0);
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    const std::span<const std::byte> head = file_.view(0, byte_order_mark.size());
    if (head.size() == byte_order_mark.size() &&
        std::memcmp(head.data(), byte_order_mark.data(), byte_order_mark.size()) == 0) {
        offset_ = byte_order_mark.size();
    }
    if (is_compressed_ && inflateInit2(&stream_, MAX_WBITS + gzip_header) != Z_OK) throw std::bad_alloc{};
}

trace_text::~trace_text() {
    if (is_compressed_) inflateEnd(&stream_);
}

std::size_t trace_text::read(std::span<char> to) { return is_compressed_ ? inflate_into(to) : read_plain(to); }

std::size_t trace_text::read_plain(std::span<char> to) {
    std::size_t done = 0;
    while (done < to.size()) {
        const std::span<const std::byte> piece = file_.view(offset_, std::min(piece_bytes, to.size() - done));
        if (piece.empty()) break;
        std::memcpy(to.data() + done, piece.data(), piece.size());
        offset_ += piece.size();
        done += piece.size();
    }
    return done;
}

std::size_t trace_text::inflate_into(std::span<char> to) {
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(to.size(), UINT32_MAX));
    const std::size_t wanted = stream_.avail_out;
    while (!has_ended_ && stream_.avail_out != 0) {
        const std::span<const std::byte> piece = file_.view(offset_, piece_bytes);
        // zlib reads through a pointer to non-const bytes; it does not write there.
        stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(piece.data()));
        stream_.avail_in = static_cast<uInt>(piece.size());
        const int status = inflate(&stream_, Z_NO_FLUSH);
        offset_ += piece.size() - stream_.avail_in;
        if (status == Z_STREAM_END) {
            end_member();
        } else if (status == Z_MEM_ERROR) {
            throw std::bad_alloc{};
        } else if (piece.empty()) {
            has_ended_ = true;
            failure_ = "the compressed file is cut off after " + std::to_string(file_.size()) + " bytes";
        } else if (status != Z_OK) {
            has_ended_ = true;
            failure_ = "the compressed file is damaged at byte " + std::to_string(offset_) +
                       ", and what follows cannot be read";
        }
    }
    return wanted - stream_.avail_out;
}

// A file of gzip may consist of several members; anything else behind one is padding.
void trace_text::end_member() {
    if (begins_member(offset_)) {
        inflateReset(&stream_);
    } else {
        has_ended_ = true;
        offset_ = file_.size();
    }
}

bool trace_text::begins_member(std::uint64_t offset) {
    const std::span<const std::byte> head = file_.view(offset, 2);
    return head.size() == 2 && head[0] == std::byte{0x1F} && head[1] == std::byte{0x8B};
}

}  // namespace prof
