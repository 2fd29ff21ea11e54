// SPDX-License-Identifier: Apache-2.0
// Writes a Parquet file of N rows whose values follow from the rows' numbers, as parquet_rows_test.py computes them.
//
// write_parquet_rows FILE N
#include <cstdint>
#include <cstdlib>
#include <string>

#include "export/atomic_file.hpp"
#include "export/parquet/parquet_file.hpp"

namespace {

using prof::parquet_type;

constexpr auto columns = std::to_array<prof::parquet_column>({
    {"row", parquet_type::integer},
    {"any", parquet_type::integer, true},
    {"few", parquet_type::integer, false, true},
    {"few_or_none", parquet_type::integer, true, true},
    {"long_runs", parquet_type::integer, true, true},
    {"number", parquet_type::number},
    {"number_or_none", parquet_type::number, true},
    {"flag", parquet_type::flag},
    {"flag_or_none", parquet_type::flag, true},
    {"word", parquet_type::text},
    {"word_or_none", parquet_type::text, true},
    {"never", parquet_type::text, true},
    {"never_a_number", parquet_type::integer, true},
});

// The finalizer of MurmurHash3.
std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCDULL;
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53ULL;
    return value ^ value >> 33;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const std::uint64_t rows = std::strtoull(argv[2], nullptr, 10);
    prof::atomic_file file(argv[1]);
    prof::parquet_file out(file, {"rows", columns}, {{"rows", argv[2]}});
    for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint64_t draw = mixed(row + 1);
        const bool is_missing = draw % 5 == 0;
        const auto value = static_cast<std::int64_t>(draw);
        const double number = static_cast<double>(value) / 1024;
        out.integer(static_cast<std::int64_t>(row));
        is_missing ? out.none() : out.integer(value);
        out.integer(static_cast<std::int64_t>(draw % 700) - 350);
        draw % 3 == 0 ? out.none() : out.integer(static_cast<std::int64_t>(draw % 3'000));
        row / 1'000 % 4 == 0 ? out.none() : out.integer(static_cast<std::int64_t>(row / 777));
        out.number(number);
        is_missing ? out.none() : out.number(-number);
        out.flag(draw % 2 == 0);
        is_missing ? out.none() : out.flag(draw % 7 == 0);
        out.text("word " + std::to_string(draw % 1'000));
        is_missing ? out.none() : out.text(std::to_string(draw % 100'000) + "\xE2\x82\xAC");
        out.none();
        out.none();
        out.end_row();
    }
    out.finish();
    file.commit();
    return 0;
}
