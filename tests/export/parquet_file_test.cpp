// SPDX-License-Identifier: Apache-2.0
// What a caller may and may not do. That other programs read the files is shown by parquet_rows_test.py.
#include "export/parquet/parquet_file.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "export/byte_sink.hpp"
#include "export/parquet/thrift_text.hpp"

namespace prof::parquet_file_test {
namespace {

class kept_bytes final : public byte_sink {
public:
    void write(std::string_view bytes) override { text += bytes; }
    std::string text;
};

constexpr auto columns =
    std::to_array<parquet_column>({{"number", parquet_type::integer}, {"name", parquet_type::text, true}});
constexpr parquet_table table{"things", columns};

TEST(ParquetFile, AnEmptyTableHasItsFooter) {
    kept_bytes out;
    parquet_file file(out, table, {{"key", "value"}});
    file.finish();
    ASSERT_GT(out.text.size(), 12U);
    EXPECT_EQ(out.text.substr(0, 4), "PAR1");
    EXPECT_EQ(out.text.substr(out.text.size() - 4), "PAR1");
    std::uint32_t length = 0;
    std::memcpy(&length, out.text.data() + out.text.size() - 8, sizeof(length));
    EXPECT_EQ(length, out.text.size() - 12);
    EXPECT_EQ(file.rows(), 0U);
}

TEST(ParquetFile, AValueOfAnotherTypeIsRefused) {
    kept_bytes out;
    parquet_file file(out, table, {});
    EXPECT_THROW(file.text("a text"), std::logic_error);
    EXPECT_THROW(file.none(), std::logic_error);  // the column must have a value
    EXPECT_THROW(file.end_row(), std::logic_error);
    file.integer(std::int64_t{1});
    EXPECT_THROW(file.integer(std::int64_t{2}), std::logic_error);
    file.none();
    EXPECT_THROW(file.none(), std::logic_error);
    file.end_row();
    EXPECT_EQ(file.rows(), 1U);
}

TEST(ParquetFile, EqualTextsHaveOneNumber) {
    kept_bytes out;
    parquet_file file(out, table, {});
    const std::uint32_t id = file.text_id("forward");
    EXPECT_EQ(file.text_id("forward"), id);
    EXPECT_NE(file.text_id("backward"), id);
    // A byte that is not UTF-8 is escaped, and so is what would read like that.
    EXPECT_NE(file.text_id("\xff"), file.text_id("\\xFF"));
}

TEST(ParquetFile, LongTextsEndARowGroupEarly) {
    kept_bytes out;
    parquet_file file(out, table, {});
    const std::size_t each = 4U << 20;
    std::size_t rows_before = 0;
    for (std::size_t row = 0; row < 40; ++row) {
        file.integer(static_cast<std::int64_t>(row));
        file.text(std::string(each, 'x') + std::to_string(row));
        file.end_row();
        // Nothing but the mark at its beginning is written before a row group is complete.
        if (out.text.size() == 4) rows_before = row;
    }
    EXPECT_LT(rows_before, 17U);
    EXPECT_GT(rows_before, 10U);
    file.finish();
}

TEST(ThriftText, NumbersOfFieldsAreDifferences) {
    thrift_text out;
    out.i32(1, -1);
    out.i64(20, 300);
    out.structure(21);
    out.boolean(2, true);
    out.end();
    out.texts(22, {"a"});
    const std::string& text = out.finish();
    EXPECT_EQ(text, std::string("\x15\x01"
                                "\x06\x28\xd8\x04"
                                "\x1c\x21\x00"
                                "\x19\x18\x01"
                                "a\x00",
                                14));
}

}  // namespace
}  // namespace prof::parquet_file_test
