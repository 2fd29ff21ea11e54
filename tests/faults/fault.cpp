// SPDX-License-Identifier: Apache-2.0
#include "faults/fault.hpp"

#include <algorithm>
#include <charconv>

namespace prof::test {
namespace {

template <std::size_t count>
std::optional<std::size_t> place_in(const std::array<std::string_view, count>& names, std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
}

template <typename TNumber>
bool read_number(std::string_view text, TNumber& out) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
    return problem == std::errc{} && end == text.data() + text.size();
}

std::optional<fault> fault_of(std::string_view text) {
    const std::size_t at = text.find('@');
    const std::size_t equals = text.find('=');
    if (at == std::string_view::npos || equals == std::string_view::npos || equals < at) return std::nullopt;
    fault out;
    std::string_view number = text.substr(at + 1, equals - at - 1);
    if (const std::size_t plus = number.find('+'); plus != std::string_view::npos) {
        if (!read_number(number.substr(plus + 1), out.times)) return std::nullopt;
        number = number.substr(0, plus);
    }
    std::string_view effect = text.substr(equals + 1);
    if (const std::size_t colon = effect.find(':'); colon != std::string_view::npos) {
        if (!read_number(effect.substr(colon + 1), out.argument)) return std::nullopt;
        effect = effect.substr(0, colon);
    }
    const auto call = place_in(faulty_call_names, text.substr(0, at));
    const auto how = place_in(fault_effect_names, effect);
    if (!call || !how || !read_number(number, out.first)) return std::nullopt;
    out.call = static_cast<faulty_call>(*call);
    out.effect = static_cast<fault_effect>(*how);
    return out;
}

}  // namespace

std::string text_of(const fault& what) {
    std::string out(faulty_call_names[static_cast<std::size_t>(what.call)]);
    out += "@" + std::to_string(what.first);
    if (what.times != 1) out += "+" + std::to_string(what.times);
    out += "=";
    out += fault_effect_names[static_cast<std::size_t>(what.effect)];
    if (what.argument != 0) out += ":" + std::to_string(what.argument);
    return out;
}

std::string text_of(const std::vector<fault>& all) {
    std::string out;
    for (const fault& each : all) out += (out.empty() ? "" : ";") + text_of(each);
    return out;
}

std::optional<std::vector<fault>> faults_of(std::string_view text) {
    std::vector<fault> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(';'), text.size());
        if (end != 0) {
            const auto next = fault_of(text.substr(0, end));
            if (!next) return std::nullopt;
            out.push_back(*next);
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

}  // namespace prof::test
