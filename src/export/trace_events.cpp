#include "export/trace_events.hpp"

namespace prof {
namespace {

constexpr std::size_t piece_bytes = 1U << 20;

}  // namespace

trace_events::trace_events(byte_sink& sink, std::int64_t base_ns) : sink_(sink), base_ns_(base_ns) {
    text_.reserve(piece_bytes + (piece_bytes >> 2));
}

void trace_events::open_event(std::string_view phase, std::string_view category, std::string_view json_name,
                              trace_row row, std::int64_t time_ns) {
    text_ += first_event_ ? "{\"ph\":\"" : ",\n{\"ph\":\"";
    first_event_ = false;
    has_args_ = false;
    text_ += phase;
    if (!category.empty()) {
        text_ += "\",\"cat\":\"";
        text_ += category;
    }
    text_ += "\",\"name\":";
    text_ += json_name;
    text_ += ",\"pid\":";
    append_number(row.pid);
    text_ += ",\"tid\":";
    append_number(row.tid);
    if (phase == "M") return;
    text_ += ",\"ts\":";
    append_microseconds(time_ns - base_ns_);
}

void trace_events::complete(std::string_view category, std::string_view json_name, trace_row row, std::int64_t start_ns,
                            std::int64_t end_ns) {
    open_event("X", category, json_name, row, start_ns);
    text_ += ",\"dur\":";
    append_microseconds(end_ns - start_ns);
}

void trace_events::instant(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                           char scope) {
    open_event("i", category, json_name, row, time_ns);
    text_ += ",\"s\":\"";
    text_ += scope;
    text_ += '"';
}

void trace_events::async_begin(std::string_view category, std::string_view json_name, trace_row row,
                               std::int64_t time_ns, std::uint64_t id) {
    open_event("b", category, json_name, row, time_ns);
    text_ += ",\"id\":";
    append_number(id);
}

void trace_events::async_end(std::string_view category, std::string_view json_name, trace_row row, std::int64_t time_ns,
                             std::uint64_t id) {
    open_event("e", category, json_name, row, time_ns);
    text_ += ",\"id\":";
    append_number(id);
}

void trace_events::flow_start(std::uint64_t id, trace_row row, std::int64_t time_ns) {
    open_event("s", "ac2g", "\"ac2g\"", row, time_ns);
    text_ += ",\"id\":";
    append_number(id);
    end();
}

void trace_events::flow_end(std::uint64_t id, trace_row row, std::int64_t time_ns) {
    open_event("f", "ac2g", "\"ac2g\"", row, time_ns);
    text_ += ",\"bp\":\"e\",\"id\":";
    append_number(id);
    end();
}

void trace_events::metadata(std::string_view what, trace_row row) {
    std::string json_name;
    json_name.append("\"").append(what).append("\"");
    open_event("M", {}, json_name, row, 0);
}

void trace_events::open_arg(std::string_view key) {
    text_ += has_args_ ? ",\"" : ",\"args\":{\"";
    has_args_ = true;
    text_ += key;
    text_ += "\":";
}

void trace_events::arg(std::string_view key, bool value) {
    open_arg(key);
    text_ += value ? "true" : "false";
}

void trace_events::arg(std::string_view key, double value) {
    open_arg(key);
    append_number(value);
}

void trace_events::arg(std::string_view key, float value) {
    open_arg(key);
    append_number(value);
}

void trace_events::arg_text(std::string_view key, std::string_view json_text) {
    open_arg(key);
    text_ += json_text;
}

void trace_events::arg_triple(std::string_view key, const std::uint32_t (&values)[3]) {
    open_arg(key);
    char separator = '[';
    for (const std::uint32_t value : values) {
        text_ += separator;
        append_number(value);
        separator = ',';
    }
    text_ += ']';
}

void trace_events::end() {
    text_ += has_args_ ? "}}" : "}";
    if (text_.size() >= piece_bytes) flush();
}

void trace_events::flush() {
    sink_.write(text_);
    text_.clear();
}

void trace_events::append_microseconds(std::int64_t ns) {
    // A time before the base cannot be: the base is the earliest of all. Should it, 0 keeps the text well-formed.
    const std::uint64_t value = ns < 0 ? 0 : static_cast<std::uint64_t>(ns);
    append_number(value / 1000);
    const auto rest = static_cast<unsigned>(value % 1000);
    const char digits[4] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                            static_cast<char>('0' + rest % 10)};
    text_.append(digits, sizeof digits);
}

}  // namespace prof
