// SPDX-License-Identifier: Apache-2.0
#include "export/chrome/trace_events.hpp"

#include <algorithm>

namespace prof {
namespace {

constexpr std::size_t piece_bytes = 256U << 10;

}  // namespace

trace_events::trace_events(byte_sink& sink, std::int64_t base_ns)
    : sink_(sink), base_ns_(base_ns), text_(piece_bytes), at_(text_.data()), end_(at_ + text_.size()) {
    known_row_text_ = ",\"pid\":0,\"tid\":0";
}

// `head`: the event's first member and the key of the next one, which is the category or, if that is empty, the name.
void trace_events::open_event(std::string_view head, std::string_view category, std::string_view json_name,
                              trace_row row) {
    put(first_event_ ? "" : ",\n");
    first_event_ = false;
    has_args_ = false;
    put(head);
    if (!category.empty()) {
        put(category);
        put("\",\"name\":");
    }
    put(json_name);
    put_row(row);
}

void trace_events::put_row(trace_row row) {
    if (row.pid != known_row_.pid || row.tid != known_row_.tid) {
        known_row_ = row;
        known_row_text_ = ",\"pid\":" + std::to_string(row.pid) + ",\"tid\":" + std::to_string(row.tid);
    }
    put(known_row_text_);
}

void trace_events::put_time(std::int64_t time_ns) {
    put(",\"ts\":");
    put_microseconds(clock_.to_trace(time_ns) - base_ns_);
}

void trace_events::complete(std::string_view category, std::string_view json_name, trace_row row, std::int64_t start_ns,
                            std::int64_t end_ns) {
    open_event("{\"ph\":\"X\",\"cat\":\"", category, json_name, row);
    put_time(start_ns);
    put(",\"dur\":");
    put_microseconds(clock_.to_trace(end_ns) - clock_.to_trace(start_ns));
}

void trace_events::instant(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                           char scope) {
    open_event("{\"ph\":\"i\",\"cat\":\"", category, json_name, row);
    put_time(time_ns);
    put(",\"s\":\"");
    put({&scope, 1});
    put("\"");
}

void trace_events::counter(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns) {
    open_event("{\"ph\":\"C\",\"cat\":\"", category, json_name, row);
    put_time(time_ns);
}

void trace_events::async_begin(std::string_view category, std::string_view json_name, trace_row row,
                               std::int64_t time_ns, std::uint64_t id) {
    open_event("{\"ph\":\"b\",\"cat\":\"", category, json_name, row);
    put_time(time_ns);
    put(",\"id\":");
    put_value(id);
}

void trace_events::async_end(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                             std::uint64_t id) {
    open_event("{\"ph\":\"e\",\"cat\":\"", category, json_name, row);
    put_time(time_ns);
    put(",\"id\":");
    put_value(id);
}

void trace_events::flow_start(std::uint64_t id, trace_row row, std::int64_t time_ns) {
    open_event("{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":", {}, "\"ac2g\"", row);
    put_time(time_ns);
    put(",\"id\":");
    put_value(id);
    end();
}

void trace_events::flow_end(std::uint64_t id, trace_row row, std::int64_t time_ns) {
    open_event("{\"ph\":\"f\",\"cat\":\"ac2g\",\"name\":", {}, "\"ac2g\"", row);
    put_time(time_ns);
    put(",\"bp\":\"e\",\"id\":");
    put_value(id);
    end();
}

void trace_events::member_flow(bool is_start, std::uint64_t id, trace_row row, std::int64_t trace_ns) {
    open_event(
        is_start ? "{\"ph\":\"s\",\"cat\":\"collective\",\"name\":" : "{\"ph\":\"f\",\"cat\":\"collective\",\"name\":",
        {}, "\"collective\"", row);
    put(",\"ts\":");
    put_microseconds(trace_ns - base_ns_);
    put(is_start ? ",\"id\":" : ",\"bp\":\"e\",\"id\":");
    put_value(id);
    end();
}

void trace_events::metadata(std::string_view what, trace_row row) {
    std::string json_name;
    json_name.append("\"").append(what).append("\"");
    open_event("{\"ph\":\"M\",\"name\":", {}, json_name, row);
}

void trace_events::args(std::string_view ready) {
    put(has_args_ ? "," : ",\"args\":{");
    has_args_ = true;
    put(ready);
}

void trace_events::put_triple(const std::uint32_t (&values)[3]) {
    char separator = '[';
    for (const std::uint32_t value : values) {
        put({&separator, 1});
        put_value(value);
        separator = ',';
    }
    put("]");
}

void trace_events::end() { put(has_args_ ? "}}" : "}"); }

void trace_events::flush() { write_out(0); }

// May happen in the middle of an event, since the sink takes bytes.
void trace_events::write_out(std::size_t bytes_wanted) {
    sink_.write({text_.data(), static_cast<std::size_t>(at_ - text_.data())});
    if (bytes_wanted > text_.size()) text_.resize(bytes_wanted);
    at_ = text_.data();
    end_ = at_ + text_.size();
}

void trace_events::put_microseconds(std::int64_t ns) {
    // No time should be before the base, which is the earliest of all. If one is, 0 keeps the text well-formed.
    const std::uint64_t value = ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
    put_value(value / 1000);
    const auto rest = static_cast<unsigned>(value % 1000);
    const char digits[4] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                            static_cast<char>('0' + rest % 10)};
    put({digits, sizeof digits});
}

}  // namespace prof
