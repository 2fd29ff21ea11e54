// SPDX-License-Identifier: Apache-2.0
#include "export/gzip_blocks.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "base/zlib_memory.hpp"

namespace prof {
namespace {

// As in gzip_stream.
constexpr int fastest_level = 1;
constexpr int table_level = 8;
constexpr std::size_t dictionary_bytes = 32U << 10;
constexpr std::size_t blocks_a_thread = 3;

void append_little_endian(std::string& to, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) to.push_back(static_cast<char>(value >> shift & 0xFF));
}

}  // namespace

gzip_blocks::gzip_blocks(unsigned threads) : most_under_way_(blocks_a_thread * threads) {
    threads_.reserve(threads);
    for (unsigned i = 0; i < threads; ++i) {
        try {
            threads_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            if (threads_.empty()) throw;
            break;
        }
    }
}

gzip_blocks::~gzip_blocks() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
        waiting_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

std::string_view gzip_blocks::header() noexcept {
    constexpr std::string_view deflated_on_unix("\x1F\x8B\x08\x00\x00\x00\x00\x00\x04\x03", 10);
    return deflated_on_unix;
}

void gzip_blocks::add(std::string bytes, bool is_last) {
    auto of = std::make_unique<block>();
    of->bytes = std::move(bytes);
    of->is_last = is_last;
    of->dictionary = std::move(dictionary_);
    const std::size_t kept = std::min(of->bytes.size(), dictionary_bytes);
    dictionary_ = of->bytes.substr(of->bytes.size() - kept);
    under_way_.push_back(std::move(of));
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(under_way_.back().get());
    }
    changed_.notify_all();
}

std::optional<std::string> gzip_blocks::take(bool wait) {
    if (under_way_.empty()) return {};
    block& next = *under_way_.front();
    {
        std::unique_lock lock(mutex_);
        if (!next.is_done && !wait) return {};
        changed_.wait(lock, [&] { return next.is_done; });
    }
    if (next.has_failed) throw std::bad_alloc{};
    crc_ = crc32_combine(crc_, next.crc, static_cast<z_off_t>(next.bytes.size()));
    bytes_ += next.bytes.size();
    std::string out = std::move(next.compressed);
    under_way_.pop_front();
    return out;
}

std::string gzip_blocks::trailer() const {
    std::string out;
    append_little_endian(out, static_cast<std::uint32_t>(crc_));
    append_little_endian(out, static_cast<std::uint32_t>(bytes_));
    return out;
}

void gzip_blocks::work() {
    z_stream stream = unbegun_stream<z_stream>();
    const bool is_usable =
        deflateInit2(&stream, fastest_level, Z_DEFLATED, -MAX_WBITS, table_level, Z_DEFAULT_STRATEGY) == Z_OK;
    for (;;) {
        block* of = nullptr;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return ends_ || !waiting_.empty(); });
            if (ends_) break;
            of = waiting_.front();
            waiting_.pop_front();
        }
        bool has_failed = !is_usable;
        try {
            if (is_usable) compress(stream, *of);
        } catch (const std::bad_alloc&) {
            has_failed = true;
        }
        {
            const std::lock_guard lock(mutex_);
            of->has_failed = has_failed;
            of->is_done = true;
        }
        changed_.notify_all();
    }
    if (is_usable) deflateEnd(&stream);
}

void gzip_blocks::compress(z_stream& stream, block& of) {
    const auto bytes_of = [](std::string& text) { return reinterpret_cast<Bytef*>(text.data()); };
    deflateReset(&stream);
    if (!of.dictionary.empty()) {
        deflateSetDictionary(&stream, bytes_of(of.dictionary), static_cast<uInt>(of.dictionary.size()));
    }
    of.crc = crc32(0, bytes_of(of.bytes), static_cast<uInt>(of.bytes.size()));
    // A flush adds a few bytes to what deflateBound() allows for.
    constexpr std::size_t flush_bytes = 16;
    of.compressed.resize(deflateBound(&stream, static_cast<uLong>(of.bytes.size())) + flush_bytes);
    stream.next_in = bytes_of(of.bytes);
    stream.avail_in = static_cast<uInt>(of.bytes.size());
    stream.next_out = bytes_of(of.compressed);
    stream.avail_out = static_cast<uInt>(of.compressed.size());
    deflate(&stream, of.is_last ? Z_FINISH : Z_SYNC_FLUSH);
    of.compressed.resize(of.compressed.size() - stream.avail_out);
    of.compressed.shrink_to_fit();
}

}  // namespace prof
