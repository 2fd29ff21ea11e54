// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.hpp"

#include <algorithm>

#include "base/suggestion.hpp"
#include "options/plans.hpp"

namespace prof {
namespace {

bool has_flag(const option& row) { return !row.value_name.empty(); }

const option* option_of_variable(const std::string& variable) {
    for (const option& known : option_table()) {
        if (has_flag(known) && variable_of(known) == variable) return &known;
    }
    return nullptr;
}

std::string unknown_variable(const std::string& variable) {
    constexpr std::string_view prefix = "PROF_";
    std::vector<std::string> names;
    for (const option& known : option_table()) {
        if (has_flag(known)) names.push_back(variable_of(known).substr(prefix.size()));
    }
    std::string line = "--set: there is no option " + in_quotes(variable);
    const std::string near =
        nearest_name(variable.starts_with(prefix) ? variable.substr(prefix.size()) : variable, names);
    if (!near.empty()) return line.append("; did you mean ").append(prefix).append(near).append("?");
    for (std::string& name : names) name.insert(0, prefix);
    return line + "; there are" + lines_of(names);
}

void throw_if_failed(const outcome& done) {
    if (!done.ok()) throw usage_error(done.message());
}

}  // namespace

run_options::run_options(command_arguments& arguments) {
    for (const option& row : option_table()) {
        if (!has_flag(row)) continue;
        std::string& target = flags_[std::string(row.name)];
        const std::string help(row.help);
        std::string names(row.short_flag);
        names.append(names.empty() ? "" : ",").append(flag_of(row));
        (row.alone.empty() ? arguments.add(names, target, help)
                           : arguments.add_flag(names, target, std::string(row.alone), help))
            .value(std::string(row.value_name))
            .group(title_of(row.group))
            .suggests(accepted_words(row));
    }
    for (const option& row : option_table()) {
        if (row.negated.empty()) continue;
        const std::string flag = flag_of(row);
        arguments
            .add_flag("--no-" + flag.substr(2), negated_[std::string(row.name)],
                      "The same as " + flag + " " + std::string(row.negated))
            .group(title_of(row.group));
    }
    arguments.add("--set", assignments_, "Any of these by its variable's name, as in --set PROF_MEMORY=256M")
        .value("PROF_X=VALUE")
        .one_value_each_time()
        .group(title_of(option_group::recorded));
}

std::map<std::string, std::string> run_options::given() const {
    std::map<std::string, std::string> out;
    for (const std::string& assignment : assignments_) {
        const std::size_t equals = assignment.find('=');
        if (equals == std::string::npos) {
            throw usage_error("--set: " + refusal(assignment, "PROF_X=VALUE"));
        }
        const std::string variable = assignment.substr(0, equals);
        const option* const known = option_of_variable(variable);
        if (known == nullptr) throw usage_error(unknown_variable(variable));
        out[std::string(known->name)] = assignment.substr(equals + 1);
    }
    for (const auto& [name, is_given] : negated_) {
        if (is_given) out[name] = find_option(name)->negated;
    }
    for (const auto& [name, text] : flags_) {
        if (!text.empty()) out[name] = text;
    }
    return out;
}

session_options run_options::resolve() const {
    auto [out, problem] = options_from_environment();
    throw_if_failed(problem);
    for (const auto& [name, text] : given()) {
        const option& row = *find_option(name);
        throw_if_failed(set_option(out, row, text, flag_of(row)));
    }
    throw_if_failed(plan_problem(out));
    if (out.modules && (!out.phases || out.pytorch == pytorch_detail::off)) {
        throw usage_error("--modules: goes with --phases on and --pytorch ranges or ops, not without them");
    }
    return out;
}

std::map<std::string, std::string> run_options::variables() const {
    std::map<std::string, std::string> out;
    for (const auto& [name, text] : given()) out[variable_of(*find_option(name))] = text;
    return out;
}

}  // namespace prof
