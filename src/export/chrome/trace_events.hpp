// SPDX-License-Identifier: Apache-2.0
// Writes the events of a Chrome trace as text, one a line. Begin an event, add arguments, then call end(). The text
// goes to the sink in pieces of a quarter of a megabyte, which stay in the processor's cache. Names and texts are
// passed as finished JSON strings (base/json_text.hpp), so that each is escaped once. One thread; about 100 ns an
// event; throws only what the sink throws.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "export/byte_sink.hpp"

namespace prof {

// The place of an event: viewers show one row for each pid and tid.
struct trace_row {
    std::int64_t pid = 0;
    std::int64_t tid = 0;
};

// What the clock of a capture shows against that of the trace: it is ahead by offset_ns + drift * (t - at_ns).
struct trace_clock {
    std::int64_t at_ns = 0;
    std::int64_t offset_ns = 0;
    double drift = 0;

    std::int64_t to_trace(std::int64_t own_ns) const noexcept {
        if (drift == 0) return own_ns - offset_ns;
        return own_ns - offset_ns - std::llround(drift * static_cast<double>(own_ns - offset_ns - at_ns));
    }
    std::int64_t to_own(std::int64_t trace_ns) const noexcept {
        return trace_ns + offset_ns + std::llround(drift * static_cast<double>(trace_ns - at_ns));
    }
};

class trace_events {
public:
    // Times are written in microseconds since `base_ns`, with nanosecond digits.
    trace_events(byte_sink& sink, std::int64_t base_ns);

    void complete(std::string_view category, std::string_view json_name, trace_row row, std::int64_t start_ns,
                  std::int64_t end_ns);
    void instant(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                 char scope);
    // A value of a counter from then on: the argument that follows. Counters of one pid and name are one track.
    void counter(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns);
    // A slice that belongs to a process and not to a row. Its begin and end have the same id, category and name.
    void async_begin(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                     std::uint64_t id);
    void async_end(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                   std::uint64_t id);
    // An arrow. Each end binds to the slice that was last begun on its row, so write it right after that slice.
    void flow_start(std::uint64_t id, trace_row row, std::int64_t time_ns);
    void flow_end(std::uint64_t id, trace_row row, std::int64_t time_ns);
    // An arrow between captures, each end of which lies at this time of the trace, within the slice that was last begun
    // on its row.
    void member_flow(bool is_start, std::uint64_t id, trace_row row, std::int64_t trace_ns);
    void metadata(std::string_view what, trace_row row);
    // Of the times from now on, but those of the trace.
    void set_clock(const trace_clock& clock) noexcept { clock_ = clock; }

    // Keys are plain words. The length of a literal is known at compile time.
    template <std::size_t Size, typename TNumber>
        requires std::is_arithmetic_v<TNumber>
    void arg(const char (&key)[Size], TNumber value) {
        open_arg(key);
        put_value(value);
    }
    void arg(std::string_view key, std::uint64_t value) {
        open_arg(key);
        put_value(value);
    }
    // A whole number from the program. Viewers keep numbers as double or int64, so a number that is not exact there is
    // written as a string.
    template <std::size_t Size, typename TNumber>
        requires std::is_integral_v<TNumber>
    void exact_arg(const char (&key)[Size], TNumber value) {
        constexpr std::int64_t largest_exact = (std::int64_t{1} << 53) - 1;
        const bool is_exact = std::cmp_less_equal(value, largest_exact) && std::cmp_less_equal(-largest_exact, value);
        open_arg(key);
        if (!is_exact) put("\"");
        put_value(value);
        if (!is_exact) put("\"");
    }
    template <typename TKey>
    void arg_text(const TKey& key, std::string_view json_text) {
        open_arg(key);
        put(json_text);
    }
    template <std::size_t Size>
    void arg_triple(const char (&key)[Size], const std::uint32_t (&values)[3]) {
        open_arg(key);
        put_triple(values);
    }
    // Arguments as finished text: `"key":value,"key":value`.
    void args(std::string_view ready);
    void end();

    void raw(std::string_view text) { put(text); }  // only between events
    void flush();

private:
    static constexpr std::size_t longest_number = 32;

    void open_event(std::string_view head, std::string_view category, std::string_view json_name, trace_row row);
    void put_row(trace_row row);
    void put_time(std::int64_t time_ns);
    void put_microseconds(std::int64_t ns);
    void put_triple(const std::uint32_t (&values)[3]);

    template <std::size_t Size>
    void open_arg(const char (&key)[Size]) {
        make_room(Size + 16);
        begin_arg();
        at_ = static_cast<char*>(std::memcpy(at_, key, Size - 1)) + Size - 1;
        at_ = static_cast<char*>(std::memcpy(at_, "\":", 2)) + 2;
    }
    void open_arg(std::string_view key) {
        make_room(key.size() + 16);
        begin_arg();
        put(key);
        put("\":");
    }
    void begin_arg() {
        if (has_args_) {
            at_ = static_cast<char*>(std::memcpy(at_, ",\"", 2)) + 2;
        } else {
            at_ = static_cast<char*>(std::memcpy(at_, ",\"args\":{\"", 10)) + 10;
            has_args_ = true;
        }
    }

    // REQUIRES: `value` is neither infinite nor NaN.
    template <typename TNumber>
    void put_value(TNumber value) {
        if constexpr (std::is_same_v<TNumber, bool>) {
            put(value ? "true" : "false");
        } else {
            make_room(longest_number);
            at_ = std::to_chars(at_, at_ + longest_number, value).ptr;
        }
    }
    void put(std::string_view text) {
        make_room(text.size());
        at_ = static_cast<char*>(std::memcpy(at_, text.data(), text.size())) + text.size();
    }
    void make_room(std::size_t bytes) {
        if (static_cast<std::size_t>(end_ - at_) < bytes) write_out(bytes);
    }
    void write_out(std::size_t bytes_wanted);

    byte_sink& sink_;
    std::int64_t base_ns_;
    trace_clock clock_{};
    std::vector<char> text_;
    char* at_ = nullptr;   // end of the used part of text_
    char* end_ = nullptr;  // end of text_
    trace_row known_row_;
    // `,"pid":…,"tid":…` of known_row_, since most events are on the same row as the one before.
    std::string known_row_text_;
    bool first_event_ = true;
    bool has_args_ = false;
};

}  // namespace prof
