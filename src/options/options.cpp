// SPDX-License-Identifier: Apache-2.0
#include "options/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <iterator>
#include <utility>

#include "base/display_text.hpp"
#include "base/json_text.hpp"
#include "base/suggestion.hpp"
#include "options/keep.hpp"
#include "options/value_kinds.hpp"
#include "plan/budget_plan.hpp"

namespace prof {
namespace {

template <auto member, typename TKind>
consteval option make_row(std::string_view name, TKind, option row) {
    row.name = name;
    row.parse = [](session_options& out, std::string_view text) {
        auto value = TKind::parse(text);
        if (!value) return false;
        out.*member = *std::move(value);
        return true;
    };
    row.print = [](const session_options& options) { return TKind::print(options.*member); };
    row.copy = [](session_options& target, const session_options& source) { target.*member = source.*member; };
    row.kind_accepts = TKind::accepts;
    if constexpr (requires { TKind::alternatives(); }) row.kind_words = TKind::alternatives;
    return row;
}

constexpr option all_options[] = {
#define PROF_OPTION_AS(name, member, type, standard, ...) make_row<&session_options::member>(#name, __VA_ARGS__),
#include "options/option_rows.inl"
};

constexpr std::string_view variable_prefix = "PROF_";

// The locale does not matter: names are ASCII.
char as_upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }
char as_lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// What libprof and its command set in the environment of programs, or read there, beside options.
constexpr std::string_view own_variables[] = {"PROF_IMAGE", "PROF_LOG",       "PROF_NCCL_REPLACED",
                                              "PROF_RUN_",  "PROF_PROGRESS_", "PROF_PAGER"};

constexpr std::size_t longest_shown_variable = 60;

// A variable of the environment that begins with PROF_.
struct prefixed_variable {
    std::string_view variable;  // PROF_OUTPUT_DIR
    std::string name;           // output_dir
    std::string_view text;
};

std::vector<prefixed_variable> prefixed_variables() {
    std::vector<prefixed_variable> out;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view line = *variable;
        const std::size_t equals = line.find('=');
        if (!line.starts_with(variable_prefix) || equals == std::string_view::npos) continue;
        const std::string_view shown_as = line.substr(0, equals);
        std::string name(shown_as.substr(variable_prefix.size()));
        std::transform(name.begin(), name.end(), name.begin(), as_lower);
        out.push_back({shown_as, std::move(name), line.substr(equals + 1)});
    }
    return out;
}

}  // namespace

std::string_view title_of(option_group group) noexcept {
    switch (group) {
        case option_group::recorded:
            return "What is recorded";
        case option_group::time:
            return "When it is recorded";
        case option_group::output:
            return "Where it goes";
    }
    return {};
}

std::span<const option> option_table() noexcept { return all_options; }

const option* find_option(std::string_view name) noexcept {
    const auto* const found = std::find_if(std::begin(all_options), std::end(all_options),
                                           [&](const option& known) { return known.name == name; });
    return found == std::end(all_options) ? nullptr : found;
}

std::string accepts_of(const option& row) {
    return row.accepts.empty() ? row.kind_accepts() : std::string(row.accepts);
}

std::vector<std::string> accepted_words(const option& row) {
    return row.kind_words == nullptr ? std::vector<std::string>() : row.kind_words();
}

std::string variable_of(const option& row) {
    std::string out(variable_prefix);
    std::transform(row.name.begin(), row.name.end(), std::back_inserter(out), as_upper);
    return out;
}

std::string flag_of(const option& row) {
    std::string out = "--" + std::string(row.name);
    std::replace(out.begin(), out.end(), '_', '-');
    return out;
}

outcome set_option(session_options& out, const option& which, std::string_view text, std::string_view shown_as) {
    if (which.parse(out, text)) return {};
    return outcome::failed(std::string(shown_as) + ": " + refusal(text, accepts_of(which), accepted_words(which)));
}

outcome set_option(session_options& out, std::string_view name, std::string_view text) {
    if (const option* const known = find_option(name)) return set_option(out, *known, text, name);
    return outcome::failed(unknown_name("option", name, names_of(all_options)));
}

outcome set_from_text(session_options& out, std::string_view setting) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos) {
        return outcome::failed(in_quotes(setting) + " is no name=value");
    }
    return set_option(out, setting.substr(0, equals), setting.substr(equals + 1));
}

std::string text_of(const session_options& options, std::string_view name) {
    const option* const known = find_option(name);
    assert(known != nullptr);
    return known->print(options);
}

environment_settings options_from_environment() {
    environment_settings out;
    for (const prefixed_variable& given : prefixed_variables()) {
        const option* const known = find_option(given.name);
        if (known == nullptr || given.text.empty()) continue;
        outcome problem = set_option(out.options, *known, given.text, given.variable);
        if (out.problem.ok()) out.problem = std::move(problem);
    }
    return out;
}

std::vector<std::string> unknown_variables() {
    std::vector<std::string> out;
    std::string others;
    std::size_t other_count = 0;
    for (const prefixed_variable& given : prefixed_variables()) {
        const bool is_own = std::any_of(std::begin(own_variables), std::end(own_variables),
                                        [&](std::string_view own) { return given.variable.starts_with(own); });
        if (is_own || given.text.empty() || find_option(given.name) != nullptr) continue;
        const std::string near = nearest_name(given.name, names_of(all_options));
        const std::string shown = shortened(message_safe(given.variable), longest_shown_variable);
        if (!near.empty()) {
            out.push_back(shown + " is not an option of libprof; did you mean " + variable_of(*find_option(near)) +
                          "?");
        } else {
            others += (others.empty() ? "" : ", ") + shown;
            ++other_count;
        }
    }
    if (other_count == 1) out.push_back(others + " is not an option of libprof, and is ignored");
    if (other_count > 1) out.push_back(others + " are not options of libprof, and are ignored");
    return out;
}

}  // namespace prof
