// SPDX-License-Identifier: Apache-2.0
#include "options/value_kinds.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "options/domain_list.hpp"
#include "options/row_limit.hpp"
#include "plan/slow_steps.hpp"

namespace prof {
namespace {

constexpr std::size_t longest_file_name_text = 128;
constexpr std::size_t most_digits = 9;
constexpr std::uint32_t deepest_module = 100;

struct size_unit {
    std::string_view name;
    int power;
};
constexpr size_unit size_units[] = {{"G", 30}, {"M", 20}, {"K", 10}, {"", 0}};

bool is_control_character(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::optional<std::string> nonempty_text::parse(std::string_view text) {
    if (text.empty()) return std::nullopt;
    return std::string(text);
}

std::optional<std::string> file_name_text::parse(std::string_view text) {
    const bool good =
        std::none_of(text.begin(), text.end(), [](char c) { return c == '/' || is_control_character(c); });
    if (!good || text.size() > longest_file_name_text) return std::nullopt;
    return std::string(text);
}

std::optional<std::string> digits_text::parse(std::string_view text) {
    const bool good = !text.empty() && text.size() <= most_digits && std::all_of(text.begin(), text.end(), is_digit);
    if (!good) return std::nullopt;
    return std::string(text);
}

std::string in_words(const std::vector<std::string_view>& alternatives) {
    std::string out(alternatives.front());
    for (std::size_t i = 1; i < alternatives.size(); ++i) {
        const bool is_last = i + 1 == alternatives.size();
        out += alternatives.size() == 2 ? " or " : is_last ? ", or " : ", ";
        out += alternatives[i];
    }
    return out;
}

std::optional<std::uint64_t> memory_size::parse(std::string_view text) {
    const auto number = take_number<std::uint64_t>(text, 0, most_memory_bytes);
    const auto* const unit = std::find_if(std::begin(size_units), std::end(size_units),
                                          [&](const size_unit& known) { return known.name == text; });
    if (!number || unit == std::end(size_units)) return std::nullopt;
    const std::uint64_t bytes = *number << unit->power;
    if (bytes < least_memory_bytes || bytes > most_memory_bytes || !std::has_single_bit(bytes)) return std::nullopt;
    return bytes;
}

std::string memory_size::print(std::uint64_t bytes) {
    const auto* const unit = std::find_if(std::begin(size_units), std::end(size_units), [&](const size_unit& known) {
        return bytes % (std::uint64_t{1} << known.power) == 0;
    });
    return std::to_string(bytes >> unit->power).append(unit->name);
}

std::optional<export_set> export_words::parse(std::string_view text) {
    export_set out{.trace = false, .summary = false};
    if (text == "none") return out;
    for (const std::string_view part : split(text, ',')) {
        if (part == "trace") {
            out.trace = true;
        } else if (part == "summary") {
            out.summary = true;
        } else if (part == "html") {
            out.html = true;
        } else {
            return std::nullopt;
        }
    }
    return out;
}

std::string export_words::print(const export_set& value) {
    std::string out;
    const auto add = [&](bool is_set, std::string_view word) {
        if (is_set) out.append(out.empty() ? "" : ",").append(word);
    };
    add(value.trace, "trace");
    add(value.summary, "summary");
    add(value.html, "html");
    return out.empty() ? "none" : out;
}

std::optional<std::optional<std::string>> thread_pattern::parse(std::string_view text) {
    if (text.empty()) return std::nullopt;
    if (text == "auto") return std::optional<std::string>();
    return std::optional<std::string>(text == "off" ? std::string_view() : text);
}

std::string thread_pattern::print(const std::optional<std::string>& value) {
    if (!value) return "auto";
    return value->empty() ? "off" : *value;
}

std::optional<std::vector<std::string>> domain_patterns::parse(std::string_view text) {
    std::vector<std::string> out;
    if (!parse_domain_list(text, out)) return std::nullopt;
    return out;
}

std::string domain_patterns::print(const std::vector<std::string>& value) {
    std::string out;
    for (const std::string& pattern : value) out.append(out.empty() ? "" : ",").append(pattern);
    return out;
}

std::optional<std::size_t> row_count::parse(std::string_view text) { return parse_row_limit(text); }

std::string row_count::print(std::size_t value) { return value == SIZE_MAX ? "all" : std::to_string(value); }

std::string row_count::accepts() { return std::string(accepted_row_limit); }

std::optional<std::optional<std::uint32_t>> module_depth::parse(std::string_view text) {
    std::optional<std::optional<std::uint32_t>> out;
    if (text == "off") {
        out.emplace();
    } else if (text == "all") {
        out.emplace(all_modules);
    } else if (const auto depth = parse_number<std::uint32_t>(text, 0, deepest_module)) {
        out.emplace(*depth);
    }
    return out;
}

std::string module_depth::print(const std::optional<std::uint32_t>& value) {
    if (!value) return "off";
    return *value == all_modules ? "all" : std::to_string(*value);
}

std::optional<std::optional<double>> slow_factor::parse(std::string_view text) {
    double factor = 0;
    if (!parse_slow_factor(text, factor)) return std::nullopt;
    return std::optional<double>(factor);
}

std::string slow_factor::print(const std::optional<double>& value) {
    if (!value) return {};
    std::array<char, 32> text{};
    const auto [end, status] = std::to_chars(text.data(), text.data() + text.size(), *value);
    return {text.data(), end};
}

}  // namespace prof
