// A report as a value: columns that know what they hold, and rows of cells. export/table_writer.hpp writes it as text,
// CSV and JSON, so a report says once what it says. Plain data.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace prof {

// What a column's values are. Text shows each in its own way; CSV and JSON have the number.
enum class quantity : std::uint8_t {
    text,
    identity,  // a number that names something: pid, device
    count,
    number,
    time_ns,
    moment_ns,  // a point of time
    bytes,
    share,    // 0 … 1
    percent,  // 0 … 100
};

struct table_column {
    std::string key;    // in CSV's header and in JSON; "": not there
    std::string title;  // in text; "": not there
    quantity holds = quantity::text;
    int importance = 0;  // as text_table has it: 0 is always shown
    int decimals = -1;   // in CSV, of values that are no whole numbers; -1: as many as it takes
};

// A value, or none.
struct table_cell {
    std::variant<std::monostate, std::int64_t, std::uint64_t, double, std::string> value;

    table_cell() = default;
    template <std::signed_integral TNumber>
    table_cell(TNumber number) : value(std::int64_t{number}) {}
    template <std::unsigned_integral TNumber>
    table_cell(TNumber number) : value(std::uint64_t{number}) {}
    table_cell(double number) : value(number) {}
    table_cell(std::string text) : value(std::move(text)) {}
};

struct table {
    std::string report;   // its name: "cuda_gpu_kern_sum"
    std::string heading;  // of the text: "GPU time by kernel"
    std::vector<table_column> columns;
    std::vector<std::vector<table_cell>> rows;
    std::vector<std::pair<std::string, table_cell>> totals;  // beside the rows in JSON
    std::vector<std::string> notes{};                        // below the text, a line each
    std::string legend{};                                    // the same, for those who want it: whole lines
};

}  // namespace prof
