// Events of a Chrome trace as text, one a line. begin one, add arguments, end(); the text goes to the sink in pieces of
// a megabyte. Names and texts are given as ready JSON strings (json_text.hpp), so that each is escaped once.
// One thread; about 100 ns an event; throws only what the sink throws.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "export/byte_sink.hpp"

namespace prof {

// Where an event stands: viewers show one row for each pid and tid.
struct trace_row {
    std::int64_t pid = 0;
    std::int64_t tid = 0;
};

class trace_events {
public:
    // Times are written in microseconds since `base_ns`, to the nanosecond.
    trace_events(byte_sink& sink, std::int64_t base_ns);

    void complete(std::string_view category, std::string_view json_name, trace_row row, std::int64_t start_ns,
                  std::int64_t end_ns);
    void instant(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                 char scope);
    // A slice that belongs to a process, not to a row; begin and end agree in id, category and name.
    void async_begin(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                     std::uint64_t id);
    void async_end(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                   std::uint64_t id);
    // An arrow. Each end binds to the slice last begun on its row, so it is written straight after that slice.
    void flow_start(std::uint64_t id, trace_row row, std::int64_t time_ns);
    void flow_end(std::uint64_t id, trace_row row, std::int64_t time_ns);
    void metadata(std::string_view what, trace_row row);

    template <std::integral TInteger>
    void arg(std::string_view key, TInteger value) {
        open_arg(key);
        append_number(value);
    }
    void arg(std::string_view key, bool value);
    void arg(std::string_view key, double value);  // neither infinite nor NaN
    void arg(std::string_view key, float value);
    void arg_text(std::string_view key, std::string_view json_text);
    void arg_triple(std::string_view key, const std::uint32_t (&values)[3]);
    void end();

    void raw(std::string_view text) { text_ += text; }  // between events
    void flush();

private:
    void open_event(std::string_view phase, std::string_view category, std::string_view json_name, trace_row row,
                    std::int64_t time_ns);
    void open_arg(std::string_view key);
    void append_microseconds(std::int64_t ns);
    template <typename TNumber>
    void append_number(TNumber value) {
        char digits[32];
        const auto result = std::to_chars(digits, digits + sizeof digits, value);
        text_.append(digits, result.ptr);
    }

    byte_sink& sink_;
    std::int64_t base_ns_;
    std::string text_;
    bool first_event_ = true;
    bool has_args_ = false;
};

}  // namespace prof
