// SPDX-License-Identifier: Apache-2.0
#include "report/jax_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "analysis/projection/code_line_text.hpp"
#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"

namespace prof {
namespace {

constexpr std::size_t most_holders_named = 3;

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t out = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return {};
    return out;
}

// Calls take(fields) for each line with at least so many fields between tabs.
template <typename TTake>
void for_each_line(std::string_view text, std::size_t least, TTake&& take) {
    for (const std::string_view line : split(text, '\n')) {
        std::vector<std::string_view> fields;
        for (const std::string_view field : split(line, '\t')) fields.push_back(field);
        if (fields.size() >= least) take(fields);
    }
}

}  // namespace

jax_memory jax_memory_of(const timeline& data) {
    jax_memory out;
    for_each_line(data.property("text.jax_devices"), 5, [&](const std::vector<std::string_view>& fields) {
        out.devices.push_back({.device = std::string(fields[0]),
                               .in_use = number_in(fields[1]),
                               .peak = number_in(fields[2]),
                               .limit = number_in(fields[3]),
                               .reserved = number_in(fields[4])});
    });
    for_each_line(data.property("text.jax_memory"), 7, [&](const std::vector<std::string_view>& fields) {
        const std::uint64_t line = number_in(fields[5]).value_or(0);
        out.holders.push_back({.bytes = number_in(fields[0]).value_or(0),
                               .count = number_in(fields[1]).value_or(0),
                               .kind = std::string(fields[2]),
                               .device = std::string(fields[3]),
                               .file = std::string(fields[4]),
                               .line = static_cast<std::uint32_t>(std::min<std::uint64_t>(line, UINT32_MAX)),
                               .function = std::string(fields[6])});
    });
    for_each_line(data.property("text.jax_memory_error"), 4, [&](const std::vector<std::string_view>& fields) {
        const std::uint64_t line = number_in(fields[2]).value_or(0);
        out.error = {.message = std::string(fields[0]),
                     .file = std::string(fields[1]),
                     .line = static_cast<std::uint32_t>(std::min<std::uint64_t>(line, UINT32_MAX)),
                     .function = std::string(fields[3])};
    });
    // An array whose allocation failed is in JAX's profile, too.
    const auto fullest = std::max_element(out.devices.begin(), out.devices.end(),
                                          [](const auto& a, const auto& b) { return a.in_use < b.in_use; });
    if (fullest != out.devices.end() && fullest->in_use) {
        for (jax_holder& each : out.holders) each.has_memory = each.bytes <= *fullest->in_use;
    }
    std::stable_sort(out.holders.begin(), out.holders.end(),
                     [](const jax_holder& a, const jax_holder& b) { return a.bytes > b.bytes; });
    return out;
}

std::vector<std::string> jax_memory_lines(const jax_memory& of) {
    std::vector<std::string> out;
    std::string without;
    for (const jax_device_memory& each : of.devices) {
        if (!each.in_use) {
            without += (without.empty() ? "" : ", ") + each.device;
            continue;
        }
        std::string line = fmt::format("JAX's allocator on {} had {} in use at the end of the recording", each.device,
                                       bytes_text(*each.in_use));
        if (each.peak) line += fmt::format(", and {} at most in the process", bytes_text(*each.peak));
        if (each.limit) line += fmt::format(", of {} that it may have", bytes_text(*each.limit));
        out.push_back(terminal_safe(line));
    }
    if (!without.empty()) {
        out.push_back(terminal_safe("JAX has no figures of its memory on " + without));
    }
    return out;
}

std::string jax_error_text(const jax_memory& of, const timeline& data) {
    if (of.error.message.empty()) return {};
    std::string out = "out of memory in JAX";
    if (!of.error.file.empty()) {
        out += fmt::format(" at {}:{} ({})", short_file(data, of.error.file), of.error.line, of.error.function);
    }
    out += ": " + of.error.message;
    if (out.back() == '.') out.pop_back();
    if (const std::string peak = jax_peak_text(of); !peak.empty()) out += "; " + peak;
    std::string held;
    std::size_t named = 0;
    for (const jax_holder& each : of.holders) {
        if (!each.has_memory || each.bytes == 0) continue;
        if (named++ == most_holders_named) break;
        held += fmt::format("{}{} by {}", held.empty() ? "" : ", ", bytes_text(each.bytes), each.kind);
        if (!each.file.empty()) held += fmt::format(" of {}:{}", short_file(data, each.file), each.line);
    }
    if (!held.empty()) out += "; held were " + held;
    return terminal_safe(out + " (--report jax_memory has all)");
}

std::string jax_peak_text(const jax_memory& of) {
    const jax_device_memory* fullest = nullptr;
    for (const jax_device_memory& each : of.devices) {
        if (each.in_use && each.peak && (fullest == nullptr || *each.peak > *fullest->peak)) fullest = &each;
    }
    if (fullest == nullptr) return {};
    std::string out = bytes_text(*fullest->peak);
    if (fullest->limit) out += " of " + bytes_text(*fullest->limit);
    return out + " in JAX's allocator at most, " + bytes_text(*fullest->in_use) + " at the end";
}

}  // namespace prof
