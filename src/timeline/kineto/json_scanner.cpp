// SPDX-License-Identifier: Apache-2.0
#include "timeline/kineto/json_scanner.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace prof {
namespace {

constexpr std::size_t first_capacity = 1U << 20;
constexpr std::size_t longest_string = 64U << 20;
constexpr unsigned deepest_skipped = 64;

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
constexpr bool ends_word(char c) noexcept {
    return is_blank(c) || c == ',' || c == '}' || c == ']' || c == ':' || c == '"' || c == '{' || c == '[';
}

// The value of `text`'s first four characters as hexadecimal digits; -1 if they are none.
int hex4(std::string_view text) noexcept {
    if (text.size() < 4) return -1;
    int value = 0;
    for (const char c : text.substr(0, 4)) {
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

void append_utf8(std::string& out, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xC0 | code >> 6);
        put(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        put(0xE0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
    } else {
        put(0xF0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3F));
        put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
    }
}

// Appends the character of an escape \uXXXX, whose digits `text` begins with, and returns how many of its characters
// that took; 0 if they are no such digits. Two escapes may make one character (a surrogate pair).
std::size_t append_code(std::string& out, std::string_view text) {
    const int first = hex4(text);
    if (first < 0) return 0;
    auto code = static_cast<std::uint32_t>(first);
    const bool is_high = code >= 0xD800 && code < 0xDC00;
    if (is_high && text.substr(4, 2) == "\\u") {
        const int second = hex4(text.substr(6));
        if (second >= 0xDC00 && second < 0xE000) {
            append_utf8(out, 0x10000 + ((code - 0xD800) << 10) + (static_cast<std::uint32_t>(second) - 0xDC00));
            return 10;
        }
    }
    append_utf8(out, code);
    return 4;
}

char escaped(char c) noexcept {
    switch (c) {
        case 'n':
            return '\n';
        case 't':
            return '\t';
        case 'r':
            return '\r';
        case 'b':
            return '\b';
        case 'f':
            return '\f';
        case '"':
        case '\\':
        case '/':
            return c;
        default:
            return '\0';
    }
}

}  // namespace

json_scanner::json_scanner(trace_text& text)
    : text_(text), buffer_(std::make_unique_for_overwrite<char[]>(first_capacity)), capacity_(first_capacity) {}

void json_scanner::fail(const char* what) const { throw json_damage{what, offset()}; }
void json_scanner::fail_at_end() const { throw json_damage{"the text ends inside a value", offset(), true}; }

// Reads on, and keeps what is in the buffer from keep_ on. Returns false at the end of the text.
bool json_scanner::more() {
    if (keep_ != 0) {
        std::memmove(buffer_.get(), buffer_.get() + keep_, end_ - keep_);
        base_ += keep_;
        at_ -= keep_;
        end_ -= keep_;
        keep_ = 0;
    }
    if (end_ == capacity_) {
        if (capacity_ >= longest_string) fail("a string is longer than 64 MB");
        auto larger = std::make_unique_for_overwrite<char[]>(capacity_ * 2);
        std::memcpy(larger.get(), buffer_.get(), end_);
        buffer_ = std::move(larger);
        capacity_ *= 2;
    }
    const std::size_t got = text_.read({buffer_.get() + end_, capacity_ - end_});
    end_ += got;
    return got != 0;
}

char json_scanner::peek() {
    for (;;) {
        while (at_ != end_ && is_blank(buffer_[at_])) ++at_;
        if (at_ != end_) return buffer_[at_];
        keep_ = at_;
        if (!more()) return '\0';
    }
}

void json_scanner::begin(char bracket) {
    const char found = peek();
    if (found == '\0') fail_at_end();
    if (found != bracket) fail(bracket == '{' ? "an object is expected" : "an array is expected");
    ++at_;
    is_first_ = true;
}

// Moves to the next member or element; returns false, and takes the closing bracket, if there is none.
bool json_scanner::next(char closing) {
    char found = peek();
    const bool is_first = std::exchange(is_first_, false);
    if (found == ',' && !is_first) {
        ++at_;
        found = peek();
    } else if (!is_first && found != closing && found != '\0') {
        fail("a comma or a closing bracket is missing");
    }
    if (found == '\0') fail_at_end();
    if (found != closing) return true;
    ++at_;
    return false;
}

bool json_scanner::take_key(std::string_view& key) {
    if (peek() != '"') fail("a key is missing");
    key = string();
    // The colon is almost always the next character; reading on would end the validity of `key`.
    if (at_ == end_ || buffer_[at_] != ':') {
        if (key.data() != decoded_.data()) {
            decoded_ = key;
            key = decoded_;
        }
        const char found = peek();
        if (found == '\0') fail_at_end();
        if (found != ':') fail("a colon is missing");
    }
    ++at_;
    return true;
}

std::string_view json_scanner::string() {
    const char found = peek();
    if (found == '\0') fail_at_end();
    if (found != '"') fail("a string is expected");
    keep_ = at_;
    std::size_t searched = 1;  // characters since the opening quote that are known not to end it
    bool has_escapes = false;
    for (;;) {
        const char* const from = buffer_.get() + keep_ + searched;
        const std::size_t rest = end_ - keep_ - searched;
        const auto* const quote = static_cast<const char*>(std::memchr(from, '"', rest));
        const std::size_t length = quote == nullptr ? rest : static_cast<std::size_t>(quote - from);
        const auto* const backslash = static_cast<const char*>(std::memchr(from, '\\', length));
        if (backslash != nullptr && backslash + 1 < buffer_.get() + end_) {
            has_escapes = true;
            searched += static_cast<std::size_t>(backslash - from) + 2;
        } else if (backslash == nullptr && quote != nullptr) {
            const std::string_view raw(buffer_.get() + keep_ + 1, searched + length - 1);
            at_ = keep_ + searched + length + 1;
            return has_escapes ? decoded(raw) : raw;
        } else {
            searched += backslash == nullptr ? length : static_cast<std::size_t>(backslash - from);
            at_ = end_;
            if (!more()) fail_at_end();
        }
    }
}

std::string_view json_scanner::decoded(std::string_view raw) {
    decoded_.clear();
    while (!raw.empty()) {
        const std::size_t plain = std::min(raw.find('\\'), raw.size());
        decoded_.append(raw.substr(0, plain));
        raw.remove_prefix(plain);
        if (raw.size() < 2) break;
        std::size_t taken = 2;
        if (const char c = escaped(raw[1]); c != '\0') {
            decoded_ += c;
        } else if (const std::size_t digits = raw[1] == 'u' ? append_code(decoded_, raw.substr(2)) : 0; digits != 0) {
            taken += digits;
        } else {
            decoded_.append(raw.substr(0, 2));  // no escape of JSON's: a backslash that was not escaped
        }
        raw.remove_prefix(taken);
    }
    return decoded_;
}

std::string_view json_scanner::word() {
    if (peek() == '\0') fail_at_end();
    keep_ = at_;
    for (std::size_t length = 0;;) {
        while (keep_ + length != end_ && !ends_word(buffer_[keep_ + length])) ++length;
        if (keep_ + length == end_) {
            at_ = end_;
            if (more()) continue;
        }
        if (length == 0) fail("a value is missing");
        at_ = keep_ + length;
        return {buffer_.get() + keep_, length};
    }
}

// As string(), but without keeping it.
void json_scanner::skip_string() {
    ++at_;
    for (;;) {
        const char* const from = buffer_.get() + at_;
        const auto* const quote = static_cast<const char*>(std::memchr(from, '"', end_ - at_));
        const std::size_t length = quote == nullptr ? end_ - at_ : static_cast<std::size_t>(quote - from);
        const auto* const backslash = static_cast<const char*>(std::memchr(from, '\\', length));
        if (backslash == nullptr && quote != nullptr) {
            at_ += length + 1;
            return;
        }
        at_ += backslash == nullptr ? length : static_cast<std::size_t>(backslash - from) + 1;
        if (at_ == end_) {
            keep_ = at_;
            if (!more()) fail_at_end();
        }
        if (backslash != nullptr) ++at_;  // what it escapes
    }
}

void json_scanner::skip() {
    const char found = peek();
    if (found == '"') return skip_string();
    if (found != '{' && found != '[') {
        word();
        return;
    }
    std::uint64_t objects = 0;  // a bit for each open bracket, the innermost lowest: whether it is an object's
    unsigned depth = 0;
    do {
        const char c = peek();
        switch (c) {
            case '\0':
                fail_at_end();
            case '"':
                skip_string();
                continue;
            case '{':
            case '[':
                if (++depth > deepest_skipped) fail("values are nested too deeply");
                objects = objects << 1 | (c == '{' ? 1U : 0U);
                break;
            case '}':
            case ']':
                if ((objects & 1) != (c == '}' ? 1U : 0U)) fail("brackets do not match");
                objects >>= 1;
                --depth;
                break;
            default:
                break;
        }
        ++at_;
    } while (depth != 0);
}

// REQUIRES: the next character is an opening brace.
bool json_scanner::begins_event() {
    constexpr std::array<std::string_view, 4> first_keys = {"\"ph\"", "\"name\"", "\"cat\"", "\"ts\""};
    constexpr std::size_t farthest = 64;  // blanks between the brace and the key, and the key
    keep_ = at_;
    while (end_ - keep_ < farthest && more()) {
    }
    std::string_view ahead(buffer_.get() + keep_ + 1, end_ - keep_ - 1);
    while (!ahead.empty() && is_blank(ahead.front())) ahead.remove_prefix(1);
    for (const std::string_view key : first_keys) {
        if (ahead.starts_with(key)) return true;
    }
    return false;
}

bool json_scanner::resume() {
    for (;;) {
        const auto* const brace = static_cast<const char*>(std::memchr(buffer_.get() + at_, '{', end_ - at_));
        if (brace == nullptr) {
            keep_ = at_ = end_;
            if (!more()) return false;
            continue;
        }
        at_ = static_cast<std::size_t>(brace - buffer_.get());
        if (begins_event()) return true;
        ++at_;
    }
}

}  // namespace prof
