// SPDX-License-Identifier: Apache-2.0
// The kinds of value that an option may have. A kind is a struct of three static functions:
//
//   parse(text)   the value, or none for a text that is not accepted
//   print(value)  a text from which parse() makes the same value; "" for an option that is not set
//   accepts()     what a text may be, for a user whose text was refused; "" where each option has words of its own
//
// Only options.cpp includes this. Pure functions.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.hpp"
#include "options/values.hpp"
#include "record/fold_rule.hpp"
#include "record/range_name.hpp"

namespace prof {

struct any_text {
    static std::optional<std::string> parse(std::string_view text) { return std::string(text); }
    static std::string print(const std::string& value) { return value; }
    static std::string accepts() { return {}; }
};

struct nonempty_text : any_text {
    static std::optional<std::string> parse(std::string_view text);
};

// A part of a file's name: no folder in it, no control character, at most 128 bytes.
struct file_name_text : any_text {
    static std::optional<std::string> parse(std::string_view text);
};

// At most nine digits, which stay as they were written.
struct digits_text : any_text {
    static std::optional<std::string> parse(std::string_view text);
};

// A text that `parser` also accepts; it has the form bool(std::string_view, TValue& out).
template <typename TValue, auto parser>
struct parsed_text {
    static std::optional<as_written<TValue>> parse(std::string_view text) {
        as_written<TValue> out{std::string(text)};
        if (!parser(text, out.value)) return std::nullopt;
        return out;
    }
    static std::string print(const as_written<TValue>& value) { return value.text; }
    static std::string accepts() { return {}; }
};

template <typename TValue>
struct word {
    std::string_view text;
    TValue value;
};

// "a or b"; "a, b, or c".
std::string in_words(const std::vector<std::string_view>& alternatives);

// One of the words of an array.
template <const auto& words>
struct one_word {
    using value_type = decltype(words.front().value);

    static std::optional<value_type> parse(std::string_view text) {
        for (const auto& known : words) {
            if (known.text == text) return known.value;
        }
        return std::nullopt;
    }
    static std::string print(const value_type& value) {
        for (const auto& known : words) {
            if (known.value == value) return std::string(known.text);
        }
        return {};
    }
    static std::string accepts() {
        std::vector<std::string_view> texts;
        for (const auto& known : words) texts.push_back(known.text);
        return in_words(texts);
    }
    static std::vector<std::string> alternatives() {
        std::vector<std::string> out;
        for (const auto& known : words) out.emplace_back(known.text);
        return out;
    }
};

inline constexpr std::array zero_or_one_words = {word<bool>{"0", false}, word<bool>{"1", true}};
inline constexpr std::array on_or_off_words = {word<bool>{"on", true}, word<bool>{"off", false}};
inline constexpr std::array graph_detail_words = {word<graph_detail>{"nodes", graph_detail::nodes},
                                                  word<graph_detail>{"graphs", graph_detail::graphs}};
inline constexpr std::array call_level_words = {word<call_level>{"driver", call_level::driver},
                                                word<call_level>{"runtime", call_level::runtime}};
inline constexpr std::array pytorch_detail_words = {word<pytorch_detail>{"ranges", pytorch_detail::ranges},
                                                    word<pytorch_detail>{"ops", pytorch_detail::ops},
                                                    word<pytorch_detail>{"off", pytorch_detail::off}};
inline constexpr std::array window_trigger_words = {
    word<window_trigger>{"none", window_trigger::none},
    word<window_trigger>{"cudaProfilerApi", window_trigger::profiler_calls},
    word<window_trigger>{"nvtx", window_trigger::nvtx_range}, word<window_trigger>{"steps", window_trigger::steps}};
inline constexpr std::array capture_unit_words = {word<capture_unit>{"run", capture_unit::run},
                                                  word<capture_unit>{"window", capture_unit::window}};
inline constexpr std::array control_use_words = {word<control_use>{"auto", control_use::automatic},
                                                 word<control_use>{"on", control_use::on},
                                                 word<control_use>{"off", control_use::off}};
// Signals that a program has no other use for unless it installs a handler.
inline constexpr std::array control_signal_words = {word<int>{"none", 0}, word<int>{"USR1", SIGUSR1},
                                                    word<int>{"USR2", SIGUSR2}, word<int>{"HUP", SIGHUP},
                                                    word<int>{"WINCH", SIGWINCH}};

using zero_or_one = one_word<zero_or_one_words>;
using on_or_off = one_word<on_or_off_words>;

template <std::uint64_t least, std::uint64_t most>
struct whole_number {
    static std::optional<std::uint64_t> parse(std::string_view text) {
        return parse_number<std::uint64_t>(text, least, most);
    }
    static std::string print(std::uint64_t value) { return std::to_string(value); }
    static std::string accepts() {
        return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    }
};

// A number of bytes, with K, M or G for powers of 1024.
struct memory_size {
    static std::optional<std::uint64_t> parse(std::string_view text);
    static std::string print(std::uint64_t bytes);
    static std::string accepts() { return "a power of two from 16M to 4G"; }
};

struct export_words {
    static std::optional<export_set> parse(std::string_view text);
    static std::string print(const export_set& value);
    static std::string accepts() { return "trace, summary, html, some of these with commas between, or none"; }
    static std::vector<std::string> alternatives() { return {"trace", "summary", "html", "none"}; }
};

// A shell pattern of threads' names. "auto" is no value: the reader of the option has a pattern of its own. "off" is
// the pattern "", which matches no thread.
struct thread_pattern {
    static std::optional<std::optional<std::string>> parse(std::string_view text);
    static std::string print(const std::optional<std::string>& value);
    static std::string accepts() { return "auto, off, or a pattern of thread names"; }
    static std::vector<std::string> alternatives() { return {"auto", "off"}; }
};

struct domain_patterns {
    static std::optional<std::vector<std::string>> parse(std::string_view text);
    static std::string print(const std::vector<std::string>& value);
    static std::string accepts() { return "domain names or patterns with commas between"; }
};

struct kernel_patterns : domain_patterns {
    static std::string accepts() { return "kernel names or patterns with commas between"; }
};

struct fold_words {
    static std::optional<fold_rule> parse(std::string_view text) { return parse_fold_rule(text); }
    static std::string print(const fold_rule& value) { return value.text(); }
    static std::string accepts() { return std::string(accepted_fold_rules); }
    static std::vector<std::string> alternatives() { return {"counters", "all", "none"}; }
};

struct row_count {
    static std::optional<std::size_t> parse(std::string_view text);
    static std::string print(std::size_t value);
    static std::string accepts();
};

// A depth of the tree of modules; none is "off".
struct module_depth {
    static std::optional<std::optional<std::uint32_t>> parse(std::string_view text);
    static std::string print(const std::optional<std::uint32_t>& value);
    static std::string accepts() { return "off, all, or a depth from 0 to 100"; }
    static std::vector<std::string> alternatives() { return {"off", "all"}; }
};

struct slow_factor {
    static std::optional<std::optional<double>> parse(std::string_view text);
    static std::string print(const std::optional<double>& value);
    static std::string accepts() { return "a number from 1.1 to 1000"; }
};

struct chosen_range {
    static std::optional<range_name> parse(std::string_view text) { return parse_range_name(text); }
    static std::string print(const range_name& value) { return value.text(); }
    static std::string accepts() { return "the name of a range, or name@domain"; }
};

}  // namespace prof
