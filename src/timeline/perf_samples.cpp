// SPDX-License-Identifier: Apache-2.0
#include "timeline/perf_samples.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

namespace prof {
namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(" \t\r") + 1);
}

// The next word of `text`, which is shortened by it.
std::string_view next_word(std::string_view& text) noexcept {
    text = trimmed(text);
    const std::string_view out = text.substr(0, std::min(text.find_first_of(blanks), text.size()));
    text.remove_prefix(out.size());
    return out;
}

template <typename TNumber>
std::optional<TNumber> whole_number(std::string_view text, int base = 10) noexcept {
    TNumber out = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return {};
    return out;
}

// "5678.123456789:" in nanoseconds, whatever the number of digits.
std::optional<std::int64_t> time_of(std::string_view word) noexcept {
    if (!word.ends_with(':')) return {};
    word.remove_suffix(1);
    const std::size_t point = word.find('.');
    if (point == std::string_view::npos) return {};
    const auto seconds = whole_number<std::uint32_t>(word.substr(0, point));
    std::array<char, 9> digits{};
    digits.fill('0');
    const std::string_view fraction = word.substr(point + 1);
    if (!seconds || fraction.empty() || fraction.size() > digits.size()) return {};
    std::copy(fraction.begin(), fraction.end(), digits.begin());
    const auto ns = whole_number<std::int64_t>({digits.data(), digits.size()});
    if (!ns) return {};
    return std::int64_t{*seconds} * 1'000'000'000 + *ns;
}

// Where the parenthesis begins that ends the text; npos: none does.
std::size_t last_parenthesis(std::string_view text) noexcept {
    std::size_t depth = 0;
    for (std::size_t at = text.size(); text.ends_with(')') && at-- > 0;) {
        if (text[at] == ')') ++depth;
        if (text[at] == '(' && --depth == 0) return at;
    }
    return std::string_view::npos;
}

struct frame {
    std::string_view function;
    std::string_view file;
};

// "7f12ab forward(Tensor const&)+0x1f (/usr/lib/libtorch.so)"
std::optional<frame> frame_of(std::string_view text) noexcept {
    if (!whole_number<std::uint64_t>(next_word(text), 16)) return {};
    text = trimmed(text);
    frame out{text, {}};
    if (const std::size_t open = last_parenthesis(text); open != std::string_view::npos) {
        out = {trimmed(text.substr(0, open)), text.substr(open + 1, text.size() - open - 2)};
    }
    const std::size_t plus = out.function.rfind("+0x");
    if (plus != std::string_view::npos && whole_number<std::uint64_t>(out.function.substr(plus + 3), 16)) {
        out.function = out.function.substr(0, plus);
    }
    if (out.function.empty()) out.function = "[unknown]";
    if (out.file == "[unknown]") out.file = {};
    return out;
}

struct heading {
    std::uint32_t tid = 0;
    std::int64_t ns = 0;
    std::string_view rest;  // after the time
};

// "python 4242/4250 [003] 5678.123456789:", of which the command and the processor may be absent.
std::optional<heading> heading_of_sample(std::string_view line) noexcept {
    std::string_view before;
    for (std::string_view rest = line;;) {
        const std::string_view word = next_word(rest);
        if (word.empty()) return {};
        const bool is_processor = word.starts_with('[') && word.ends_with(']');
        if (const std::optional<std::int64_t> ns = time_of(word)) {
            const auto tid = whole_number<std::uint32_t>(before.substr(before.rfind('/') + 1));  // npos + 1 is 0
            if (!tid) return {};
            return heading{*tid, *ns, rest};
        }
        if (!is_processor) before = word;
    }
}

// Without the period and the event, "250000 cpu-clock:u:".
std::string_view after_event(std::string_view rest) noexcept {
    std::string_view left = rest;
    if (next_word(left).ends_with(':')) return left;
    if (next_word(left).ends_with(':')) return left;
    return rest;
}

class reader {
public:
    void read(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            add(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
    }
    perf_samples take() { return std::move(out_); }

private:
    void add(std::string_view line) {
        if (trimmed(line).empty()) {
            waiting_.reset();
            return;
        }
        if (line.front() == '#') return;
        if (const std::optional<heading> found = heading_of_sample(line)) {
            waiting_.reset();
            is_in_sample_ = true;
            const std::string_view rest = trimmed(after_event(found->rest));
            if (const std::optional<frame> own = rest.empty() ? std::nullopt : frame_of(rest)) {
                add_sample(*found, *own);
            } else {
                waiting_ = *found;
            }
            return;
        }
        const std::optional<frame> next = frame_of(line);
        if (!next || !is_in_sample_) {
            ++out_.not_read;
        } else if (waiting_) {
            add_sample(*waiting_, *next);
            waiting_.reset();
        }
    }

    void add_sample(const heading& of, const frame& in) {
        std::string key(in.function);
        key.append("\n").append(in.file);
        const auto index = static_cast<std::uint32_t>(out_.functions.size());
        const auto [known, is_new] = numbers_.try_emplace(std::move(key), index);
        if (is_new) out_.functions.push_back({std::string(in.function), std::string(in.file)});
        out_.samples.push_back({of.tid, of.ns, known->second});
    }

    perf_samples out_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::optional<heading> waiting_;  // of a sample whose first frame is on the next line
    bool is_in_sample_ = false;
};

}  // namespace

perf_samples read_perf_script(std::string_view text) {
    reader out;
    out.read(text);
    return out.take();
}

}  // namespace prof
