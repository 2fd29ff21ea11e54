// SPDX-License-Identifier: Apache-2.0
#include "export/parquet/parquet_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/version.hpp"
#include "base/zlib_memory.hpp"
#include "export/parquet/hybrid_runs.hpp"
#include "export/parquet/thrift_text.hpp"

namespace prof {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr std::uint32_t rows_in_page = 1U << 17;
constexpr std::uint64_t rows_in_group = std::uint64_t{1} << 20;
constexpr std::size_t bytes_in_group = std::size_t{64} << 20;
constexpr std::string_view magic = "PAR1";

// The numbers of Parquet's format.
constexpr std::int32_t type_boolean = 0, type_int64 = 2, type_double = 5, type_byte_array = 6;
constexpr std::int32_t plain = 0, run_lengths = 3, dictionary_indices = 8;
constexpr std::int32_t data_page = 0, dictionary_page = 2;
constexpr std::int32_t gzip_codec = 2;
constexpr std::int32_t has_values = 0, may_lack_values = 1;
constexpr std::int32_t utf8 = 0;

std::int32_t physical_type(parquet_type type) noexcept {
    switch (type) {
        case parquet_type::flag:
            return type_boolean;
        case parquet_type::integer:
            return type_int64;
        case parquet_type::number:
            return type_double;
        case parquet_type::text:
            break;
    }
    return type_byte_array;
}

template <typename TValue>
void append_value(std::string& out, TValue value) {
    std::array<char, sizeof(TValue)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(TValue));
    out.append(bytes.data(), bytes.size());
}

template <typename TValue>
std::string_view bytes_of(const std::vector<TValue>& values) noexcept {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(TValue)};
}

std::string value_text(std::int64_t value) {
    std::string out;
    append_value(out, value);
    return out;
}

std::int32_t size_of_page(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        throw error("a name is too long for a Parquet file");
    }
    return static_cast<std::int32_t>(bytes);
}

}  // namespace

struct parquet_file::column {
    parquet_column is;
    // Of the page.
    std::vector<std::uint32_t> levels{};  // by row: 1 if it has a value; of optional columns
    std::vector<std::int64_t> integers{};
    std::vector<double> numbers{};
    std::vector<std::uint32_t> flags{};
    std::vector<std::uint32_t> indices{};  // into the dictionary
    // Of the row group.
    std::vector<std::uint32_t> place_of_text{};  // by id: its place in the dictionary, and one more; 0: it is not there
    std::vector<std::uint32_t> texts{};          // the dictionary's, as ids
    std::unordered_map<std::int64_t, std::uint32_t> place_of_integer{};
    std::vector<std::int64_t> known_integers{};  // likewise
    std::string pages{};                         // with their headers
    std::size_t bytes = 0;                       // of these before they were compressed
    std::uint64_t nulls = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t largest = std::numeric_limits<std::int64_t>::min();

    bool has_dictionary() const noexcept { return is.type == parquet_type::text || is.is_repetitive; }
    std::size_t dictionary_size() const noexcept {
        return is.type == parquet_type::text ? texts.size() : known_integers.size();
    }
};

struct parquet_file::chunk {
    std::uint64_t offset = 0;  // of its first page
    std::uint64_t data_offset = 0;
    std::uint64_t bytes = 0;  // with the pages' headers, before they were compressed
    std::uint64_t compressed_bytes = 0;
    std::uint64_t nulls = 0;
    bool has_range = false;
    std::int64_t least = 0;
    std::int64_t largest = 0;
};

struct parquet_file::row_group {
    std::uint64_t rows = 0;
    std::vector<chunk> chunks{};
};

// One stream for all pages: its tables are allocated once.
class parquet_file::page_compressor {
public:
    page_compressor() {
        constexpr int gzip_header = 16;  // added to the window bits
        constexpr int level = 1;
        constexpr int memory_level = 8;
        if (deflateInit2(&stream_, level, Z_DEFLATED, MAX_WBITS + gzip_header, memory_level, Z_DEFAULT_STRATEGY) !=
            Z_OK) {
            throw std::bad_alloc{};
        }
    }
    ~page_compressor() { deflateEnd(&stream_); }
    page_compressor(const page_compressor&) = delete;
    page_compressor& operator=(const page_compressor&) = delete;

    std::string_view operator()(std::string_view bytes) {
        deflateReset(&stream_);
        const uLong bound = deflateBound(&stream_, static_cast<uLong>(bytes.size()));
        if (out_.size() < bound) out_.resize(bound);
        // zlib's interface lacks const, but zlib does not write through next_in.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
        stream_.avail_in = static_cast<uInt>(bytes.size());
        stream_.next_out = out_.data();
        stream_.avail_out = static_cast<uInt>(out_.size());
        deflate(&stream_, Z_FINISH);
        return {reinterpret_cast<const char*>(out_.data()), out_.size() - stream_.avail_out};
    }

private:
    z_stream stream_ = unbegun_stream<z_stream>();
    std::vector<Bytef> out_;
};

parquet_file::parquet_file(byte_sink& out, const parquet_table& table, metadata about)
    : out_(out), table_(table), about_(std::move(about)), compressor_(std::make_unique<page_compressor>()) {
    for (const parquet_column& one : table.columns) columns_.push_back({.is = one});
    put(magic);
}

parquet_file::~parquet_file() = default;

std::uint32_t parquet_file::text_id(std::string_view text) {
    std::string shown = printable(text);
    const auto known = ids_.find(shown);
    if (known != ids_.end()) return known->second;
    const auto id = static_cast<std::uint32_t>(texts_.size());
    texts_.push_back(std::make_unique<const std::string>(std::move(shown)));
    ids_.emplace(*texts_.back(), id);
    return id;
}

parquet_file::column& parquet_file::next(parquet_type type) {
    if (next_ >= columns_.size() || columns_[next_].is.type != type) {
        throw std::logic_error("a value of another type than its column");
    }
    column& target = columns_[next_++];
    if (target.is.is_optional) target.levels.push_back(1);
    return target;
}

void parquet_file::flag(bool value) { next(parquet_type::flag).flags.push_back(value ? 1 : 0); }

void parquet_file::integer(std::int64_t value) {
    column& target = next(parquet_type::integer);
    target.least = std::min(target.least, value);
    target.largest = std::max(target.largest, value);
    if (!target.is.is_repetitive) return target.integers.push_back(value);
    const auto [known, is_new] =
        target.place_of_integer.try_emplace(value, static_cast<std::uint32_t>(target.known_integers.size()));
    if (is_new) target.known_integers.push_back(value);
    target.indices.push_back(known->second);
}

void parquet_file::integer_of(std::uint64_t value) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    integer(static_cast<std::int64_t>(std::min(value, most)));
}

void parquet_file::number(double value) { next(parquet_type::number).numbers.push_back(value); }

void parquet_file::text(std::uint32_t id) {
    column& target = next(parquet_type::text);
    if (target.place_of_text.size() <= id) target.place_of_text.resize(texts_.size(), 0);
    std::uint32_t& place = target.place_of_text[id];
    if (place == 0) {
        target.texts.push_back(id);
        place = static_cast<std::uint32_t>(target.texts.size());
        bytes_of_group_ += texts_[id]->size() + sizeof(std::uint32_t);
    }
    target.indices.push_back(place - 1);
}

void parquet_file::none() {
    if (next_ >= columns_.size() || !columns_[next_].is.is_optional) {
        throw std::logic_error("no value of a column that must have one");
    }
    column& target = columns_[next_++];
    target.levels.push_back(0);
    ++target.nulls;
}

void parquet_file::end_row() {
    if (next_ != columns_.size()) throw std::logic_error("a row without all its values");
    next_ = 0;
    ++rows_;
    ++rows_of_group_;
    const bool is_full = rows_of_group_ == rows_in_group || bytes_of_group_ >= bytes_in_group;
    if (++rows_of_page_ == rows_in_page || is_full) end_page();
    if (is_full) end_row_group();
}

void parquet_file::add_page(column& target, std::string_view body, std::uint32_t values, bool is_dictionary,
                            std::string& pages, chunk& facts) {
    const std::string_view compressed = (*compressor_)(body);
    thrift_text header;
    header.i32(1, is_dictionary ? dictionary_page : data_page);
    header.i32(2, size_of_page(body.size()));
    header.i32(3, size_of_page(compressed.size()));
    const uLong checksum = crc32_z(0, reinterpret_cast<const Bytef*>(compressed.data()), compressed.size());
    header.i32(4, static_cast<std::int32_t>(static_cast<std::uint32_t>(checksum)));
    header.structure(is_dictionary ? 7 : 5);
    header.i32(1, static_cast<std::int32_t>(values));
    header.i32(2, is_dictionary || !target.has_dictionary() ? plain : dictionary_indices);
    if (!is_dictionary) {
        header.i32(3, run_lengths);  // of definition levels
        header.i32(4, run_lengths);  // of repetition levels, of which there are none
    }
    header.end();
    const std::string& text = header.finish();
    pages += text;
    pages += compressed;
    facts.bytes += text.size() + body.size();
    facts.compressed_bytes += text.size() + compressed.size();
}

void parquet_file::end_page() {
    if (rows_of_page_ == 0) return;
    std::string body;
    for (column& target : columns_) {
        body.clear();
        if (target.is.is_optional) {
            append_value(body, std::uint32_t{0});
            append_hybrid(body, target.levels, 1);
            const auto length = static_cast<std::uint32_t>(body.size() - sizeof(std::uint32_t));
            std::memcpy(body.data(), &length, sizeof(length));
        }
        if (target.has_dictionary()) {
            const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(target.dictionary_size(), 1) - 1);
            const unsigned width = bit_width_of(most);
            body += static_cast<char>(width);
            append_hybrid(body, target.indices, width);
        } else if (target.is.type == parquet_type::integer) {
            body += bytes_of(target.integers);
        } else if (target.is.type == parquet_type::number) {
            body += bytes_of(target.numbers);
        } else {
            for (std::size_t first = 0; first < target.flags.size(); first += 8) {
                unsigned bits = 0;
                for (std::size_t i = first; i < std::min(first + 8, target.flags.size()); ++i) {
                    bits |= target.flags[i] << (i - first);
                }
                body += static_cast<char>(bits);
            }
        }
        const std::size_t before = target.pages.size();
        chunk facts;
        add_page(target, body, rows_of_page_, false, target.pages, facts);
        target.bytes += facts.bytes;
        bytes_of_group_ += target.pages.size() - before;
        target.levels.clear();
        target.integers.clear();
        target.numbers.clear();
        target.flags.clear();
        target.indices.clear();
    }
    rows_of_page_ = 0;
}

std::string parquet_file::dictionary_of(const column& source) const {
    if (source.is.type != parquet_type::text) return std::string(bytes_of(source.known_integers));
    std::string out;
    for (const std::uint32_t id : source.texts) {
        append_value(out, static_cast<std::uint32_t>(texts_[id]->size()));
        out += *texts_[id];
    }
    return out;
}

void parquet_file::end_row_group() {
    end_page();
    if (rows_of_group_ == 0) return;
    row_group group{.rows = rows_of_group_};
    for (column& target : columns_) {
        chunk facts{.offset = offset_, .nulls = target.nulls};
        if (target.has_dictionary()) {
            std::string page;
            const auto count = static_cast<std::uint32_t>(target.dictionary_size());
            add_page(target, dictionary_of(target), count, true, page, facts);
            put(page);
        }
        facts.data_offset = offset_;
        facts.bytes += target.bytes;
        facts.compressed_bytes += target.pages.size();
        facts.has_range = target.is.type == parquet_type::integer && target.least <= target.largest;
        facts.least = target.least;
        facts.largest = target.largest;
        put(target.pages);
        group.chunks.push_back(facts);
        for (const std::uint32_t id : target.texts) target.place_of_text[id] = 0;
        target.texts.clear();
        target.place_of_integer.clear();
        target.known_integers.clear();
        target.pages.clear();
        target.bytes = 0;
        target.nulls = 0;
        target.least = std::numeric_limits<std::int64_t>::max();
        target.largest = std::numeric_limits<std::int64_t>::min();
    }
    row_groups_.push_back(std::move(group));
    rows_of_group_ = 0;
    bytes_of_group_ = 0;
}

void parquet_file::put(std::string_view bytes) {
    out_.write(bytes);
    offset_ += bytes.size();
}

std::string parquet_file::footer() const {
    thrift_text out;
    out.i32(1, 1);  // the format's version
    out.structures(2, columns_.size() + 1);
    out.element();
    out.text(4, "schema");
    out.i32(5, static_cast<std::int32_t>(columns_.size()));
    out.end();
    for (const column& one : columns_) {
        out.element();
        out.i32(1, physical_type(one.is.type));
        out.i32(3, one.is.is_optional ? may_lack_values : has_values);
        out.text(4, one.is.name);
        if (one.is.type == parquet_type::text) {
            out.i32(6, utf8);
            out.structure(10);  // the logical type,
            out.structure(1);   // a string
            out.end();
            out.end();
        }
        out.end();
    }
    out.i64(3, static_cast<std::int64_t>(rows_));
    out.structures(4, row_groups_.size());
    for (const row_group& group : row_groups_) {
        std::uint64_t bytes = 0, compressed_bytes = 0;
        for (const chunk& one : group.chunks) {
            bytes += one.bytes;
            compressed_bytes += one.compressed_bytes;
        }
        out.element();
        out.structures(1, group.chunks.size());
        for (std::size_t i = 0; i < group.chunks.size(); ++i) {
            const chunk& one = group.chunks[i];
            const column& source = columns_[i];
            out.element();
            out.i64(2, static_cast<std::int64_t>(one.offset));
            out.structure(3);
            out.i32(1, physical_type(source.is.type));
            out.i32s(2, source.has_dictionary() ? std::vector<std::int32_t>{plain, run_lengths, dictionary_indices}
                                                : std::vector<std::int32_t>{plain, run_lengths});
            out.texts(3, {source.is.name});
            out.i32(4, gzip_codec);
            out.i64(5, static_cast<std::int64_t>(group.rows));
            out.i64(6, static_cast<std::int64_t>(one.bytes));
            out.i64(7, static_cast<std::int64_t>(one.compressed_bytes));
            out.i64(9, static_cast<std::int64_t>(one.data_offset));
            if (source.has_dictionary()) out.i64(11, static_cast<std::int64_t>(one.offset));
            out.structure(12);
            out.i64(3, static_cast<std::int64_t>(one.nulls));
            if (one.has_range) {
                out.text(5, value_text(one.largest));
                out.text(6, value_text(one.least));
            }
            out.end();
            out.end();
            out.end();
        }
        out.i64(2, static_cast<std::int64_t>(bytes));
        out.i64(3, static_cast<std::int64_t>(group.rows));
        out.i64(5, static_cast<std::int64_t>(group.chunks.front().offset));
        out.i64(6, static_cast<std::int64_t>(compressed_bytes));
        out.end();
    }
    out.structures(5, about_.size());
    for (const auto& [key, value] : about_) {
        out.element();
        out.text(1, key);
        out.text(2, printable(value));
        out.end();
    }
    out.text(6, std::string("libprof version ") + library_version);
    // Of each column: minimum and maximum are by the order of its type.
    out.structures(7, columns_.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        out.element();
        out.structure(1);
        out.end();
        out.end();
    }
    return out.finish();
}

void parquet_file::finish() {
    end_row_group();
    const std::string facts = footer();
    put(facts);
    std::string length;
    append_value(length, static_cast<std::uint32_t>(facts.size()));
    put(length);
    put(magic);
}

}  // namespace prof
