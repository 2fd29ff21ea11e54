// SPDX-License-Identifier: Apache-2.0
// Reads JSON from a stream of text, value by value and without keeping any: the caller decides at each value whether to
// read or to skip it. Memory is that of the longest string; nesting costs none.
//
// Reason for an own scanner: traces are not always valid JSON, and one bad byte must not lose the rest. Accepted beyond
// the standard (RFC 8259): control characters and invalid UTF-8 in strings, unknown escapes, NaN and Infinity, a comma
// before a closing bracket. At anything else a json_damage is thrown, and resume() finds the place from which reading
// may go on. One thread; about 2 ns a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "timeline/kineto/trace_text.hpp"

namespace prof {

// Not an error for the user: the reader of a trace counts it and goes on.
struct json_damage {
    const char* what = "";
    std::uint64_t offset = 0;  // in the text
    bool is_end = false;       // the text ended inside a value
};

class json_scanner {
public:
    explicit json_scanner(trace_text& text);

    // The next character that is not blank, which stays next; '\0' at the end of the text.
    char peek();
    // For objects and arrays: take their opening bracket by begin(), then call next_member() or next_element() until
    // it returns false, and read or skip the value each time.
    void begin(char bracket);
    bool next_member(std::string_view& key) { return next('}') && take_key(key); }
    bool next_element() { return next(']'); }

    // Results are valid until the next call.
    std::string_view string();
    // A number or a word (true, null, NaN), as it is written.
    std::string_view word();
    void skip();  // any value

    // The place of the next character in the text.
    std::uint64_t offset() const noexcept { return base_ + at_; }

    // Skips to the next place that looks like the beginning of an event: an object whose first key is "ph", "name",
    // "cat" or "ts". Returns false at the end of the text.
    bool resume();

private:
    bool next(char closing);
    bool take_key(std::string_view& key);
    std::string_view decoded(std::string_view raw);
    void skip_string();
    bool more();
    [[noreturn]] void fail(const char* what) const;
    [[noreturn]] void fail_at_end() const;
    bool begins_event();

    trace_text& text_;
    std::unique_ptr<char[]> buffer_;
    std::size_t capacity_;
    std::size_t at_ = 0;    // the next character
    std::size_t keep_ = 0;  // characters from here on must stay in the buffer
    std::size_t end_ = 0;
    std::uint64_t base_ = 0;  // offset of the buffer's beginning in the text
    bool is_first_ = false;   // just after an opening bracket
    std::string decoded_;
};

}  // namespace prof
