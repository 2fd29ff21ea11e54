// SPDX-License-Identifier: Apache-2.0
// Writes a table as a Parquet file: columns of integers, numbers, flags and texts, some of which may lack values.
//
// Rows come one after another, their values in the order of the columns. A page has 128 Ki rows, and is compressed
// (GZIP) when it is full; a row group has 1 Mi rows, or fewer where its texts or its pages take 64 MiB. Memory: that,
// 8 bytes a value of the page, and each distinct text of the file once. Texts have a dictionary, and so have columns of
// few distinct integers; integers have minimum and maximum by row group. Every page has its checksum. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/byte_sink.hpp"

namespace prof {

enum class parquet_type : std::uint8_t { flag, integer, number, text };

struct parquet_column {
    std::string_view name;
    parquet_type type = parquet_type::integer;
    bool is_optional = false;
    bool is_repetitive = false;  // of integers: few of them are distinct
};

struct parquet_table {
    std::string_view name;
    std::span<const parquet_column> columns;
};

class parquet_file {
public:
    using metadata = std::vector<std::pair<std::string, std::string>>;
    // The table's columns and the sink must outlive it.
    parquet_file(byte_sink& out, const parquet_table& table, metadata about);
    ~parquet_file();
    parquet_file(const parquet_file&) = delete;
    parquet_file& operator=(const parquet_file&) = delete;

    // A number for the text, which is any bytes: it is stored as printable() has it.
    std::uint32_t text_id(std::string_view text);

    // The value of the next column of the row. REQUIRES: it is of this type; none(): it is optional.
    void flag(bool value);
    void integer(std::int64_t value);
    void integer_of(std::uint64_t value);  // the largest that there is, of one that is larger
    void number(double value);             // REQUIRES: it is finite
    void text(std::uint32_t id);
    void text(std::string_view value) { text(text_id(value)); }
    void none();
    template <typename TValue>
    void integer(const std::optional<TValue>& value) {
        value ? integer(static_cast<std::int64_t>(*value)) : none();
    }
    // REQUIRES: every column has its value.
    void end_row();

    // REQUIRES: it is the last call.
    void finish();
    std::uint64_t rows() const noexcept { return rows_; }

private:
    struct column;
    struct chunk;
    struct row_group;
    class page_compressor;

    column& next(parquet_type type);
    void end_page();
    void end_row_group();
    void add_page(column& target, std::string_view body, std::uint32_t values, bool is_dictionary, std::string& pages,
                  chunk& facts);
    std::string dictionary_of(const column& source) const;
    void put(std::string_view bytes);
    std::string footer() const;

    byte_sink& out_;
    parquet_table table_;
    metadata about_;
    std::vector<column> columns_;
    std::size_t next_ = 0;             // column of the row
    std::uint64_t rows_ = 0;           // in all
    std::uint32_t rows_of_page_ = 0;   // not yet in a page
    std::uint64_t rows_of_group_ = 0;  // not yet in a row group
    std::size_t bytes_of_group_ = 0;   // of its dictionaries and complete pages
    std::uint64_t offset_ = 0;         // bytes written
    std::vector<row_group> row_groups_;
    std::vector<std::unique_ptr<const std::string>> texts_;
    std::unordered_map<std::string_view, std::uint32_t> ids_;
    std::unique_ptr<page_compressor> compressor_;
};

}  // namespace prof
