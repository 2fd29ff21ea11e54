// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/suggestion.hpp"

namespace prof {

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
    std::string out;
    for (const std::string& word : words) out.append(out.empty() ? "" : separator).append(word);
    return out;
}

namespace {

option_text text_of(const CLI::Option& option, const words_by_option& words) {
    option_text out{option.get_group(), "", option.get_description()};
    for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
    out.needs_value = option.get_items_expected_min() > 0;
    out.value = option.get_type_name();
    out.spelling = joined(out.names, ", ") + (out.needs_value ? " " : "") + out.value;
    out.is_repeated = option.get_expected_max() > 1;
    out.is_list = option.get_delimiter() != '\0' || out.value == "LIST";
    if (const auto found = words.find(&option); found != words.end()) out.words = found->second;
    return out;
}

std::vector<option_text> texts_of(const CLI::App& app, const words_by_option& words) {
    std::vector<option_text> out;
    for (const std::string& group : app.get_groups()) {
        for (const CLI::Option* const option : app.get_options()) {
            if (option->get_group() == group && option->nonpositional()) out.push_back(text_of(*option, words));
        }
    }
    return out;
}

// The word that `value` is one for; "" for none.
std::string known_word(const std::string& value, const std::vector<std::string>& words) {
    const auto found =
        std::find_if(words.begin(), words.end(), [&](const std::string& word) { return is_same_name(word, value); });
    return found == words.end() ? std::string() : *found;
}

// --format, of an option's name with its value: --format=csv.
std::string name_in(const std::string& word) { return word.substr(0, word.find('=')); }

std::vector<std::string> options_of(const CLI::App& app) {
    std::vector<std::string> out;
    for (const CLI::Option* const option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
    }
    return out;
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

// The first other command that has the option; "" for none.
std::string other_command_with(const std::string& name, const CLI::App& app) {
    if (app.get_parent() == nullptr) return {};
    for (const CLI::App* const other : app.get_parent()->get_subcommands([](const CLI::App*) { return true; })) {
        if (other->get_option_no_throw(name) != nullptr) return other->get_name();
    }
    return {};
}

std::string unknown_option(const std::string& word, const CLI::App& app) {
    const std::string name = name_in(word);
    const std::string line = "there is no option " + in_quotes(name);
    const std::string near = nearest_name(name, options_of(app));
    if (!near.empty()) return line + "; did you mean " + near + "?";
    const std::string other = other_command_with(name, app);
    return other.empty() ? line : line + " here, but in prof " + other;
}

// Of CLI11's description of an option's words, which begins with the option's name.
std::string wrong_count(const std::string& description, const CLI::App& app) {
    const std::string name = description.substr(0, description.find(':'));
    const CLI::Option* const option = app.get_option_no_throw(name);
    if (option == nullptr) return description;
    const bool is_missing = description.find("missing") != std::string::npos;
    return is_missing ? name + " needs a value: " + name + " " + option->get_type_name()
                      : name + " is given more than once";
}

// What is wrong: an option that there is not before all else.
std::string description_of(const CLI::ParseError& wrong, const CLI::App& app) {
    const CLI::App& command = app.get_subcommands().empty() ? app : *app.get_subcommands().front();
    const std::vector<std::string> left = command.remaining();
    const auto option = std::find_if(left.begin(), left.end(), is_option);
    if (option != left.end()) return unknown_option(*option, command);
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr) return wrong_count(wrong.what(), command);
    return wrong.what();
}

class manual_formatter final : public CLI::FormatterBase {
public:
    manual_formatter(command_line::manual_maker make, const words_by_option& words)
        : make_(std::move(make)), words_(words) {}
    std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
        return make_(app->get_parent() == nullptr ? "" : app->get_name(), texts_of(*app, words_));
    }

private:
    command_line::manual_maker make_;
    const words_by_option& words_;
};

}  // namespace

std::string lines_of(const std::vector<std::string>& names) {
    constexpr std::size_t line_width = 80;
    constexpr std::string_view line_begin = "\n   ";
    std::string out;
    std::size_t column = line_width;
    for (const std::string& name : names) {
        const std::string part = " " + name + (&name == &names.back() ? "" : ",");
        if (column + part.size() > line_width) {
            out += line_begin;
            column = line_begin.size() - 1;
        }
        out += part;
        column += part.size();
    }
    return out;
}

accepted_values one_of(const std::vector<std::string>& words) {
    std::string in_words = words.front();
    for (std::size_t i = 1; i < words.size(); ++i) in_words += (i + 1 < words.size() ? ", " : " or ") + words[i];
    const auto contains = [words](const std::string& value) { return !known_word(value, words).empty(); };
    return {in_words, contains, words};
}

std::string refusal(const std::string& value, const accepted_values& values) {
    constexpr std::size_t long_list = 100;
    if (values.words.empty() || values.in_words.size() <= long_list) {
        return refusal(value, values.in_words, values.words);
    }
    const std::string near = nearest_name(value, values.words);
    if (!near.empty()) return in_quotes(value) + " is not accepted; did you mean " + near + "?";
    return in_quotes(value) + " is not accepted; it takes" + lines_of(values.words);
}

option_description& option_description::value(const std::string& placeholder) {
    option_.type_name(placeholder);
    return *this;
}

option_description& option_description::group(std::string_view title) {
    option_.group(std::string(title));
    return *this;
}

option_description& option_description::takes(const accepted_values& values) {
    option_.check(CLI::Validator(
        [values](std::string& value) {
            if (!values.contains(value)) return refusal(value, values);
            if (const std::string word = known_word(value, values.words); !word.empty()) value = word;
            return std::string();
        },
        ""));
    return suggests(values.words);
}

option_description& option_description::suggests(const std::vector<std::string>& words) {
    if (!words.empty()) words_[&option_] = words;
    return *this;
}

option_description& option_description::required() {
    option_.required();
    return *this;
}

option_description& option_description::separated_by(char separator) {
    option_.delimiter(separator);
    return *this;
}

option_description& option_description::one_value_each_time() {
    option_.allow_extra_args(false);
    return *this;
}

option_description command_arguments::add(const std::string& name, std::string& target,
                                          const std::string& description) {
    return {*app_.add_option(name, target, description), words_};
}

option_description command_arguments::add(const std::string& name, double& target, const std::string& description) {
    return {*app_.add_option(name, target, description), words_};
}

option_description command_arguments::add(const std::string& name, std::uint32_t& target,
                                          const std::string& description) {
    return {*app_.add_option(name, target, description), words_};
}

option_description command_arguments::add(const std::string& name, std::vector<std::string>& target,
                                          const std::string& description) {
    return {*app_.add_option(name, target, description), words_};
}

option_description command_arguments::add_parsed(const std::string& name, const accepted_values& values,
                                                 const std::string& description) {
    CLI::callback_t parse = [name, values](const CLI::results_t& texts) {
        if (!values.contains(texts.front())) throw CLI::ValidationError(name, refusal(texts.front(), values));
        return true;
    };
    option_description out{*app_.add_option(name, std::move(parse), description), words_};
    return out.suggests(values.words);
}

option_description command_arguments::add_flag(const std::string& name, bool& target, const std::string& description) {
    return {*app_.add_flag(name, target, description), words_};
}

option_description command_arguments::add_flag(const std::string& name, std::string& target, const std::string& alone,
                                               const std::string& description) {
    return {*app_.add_flag(name + '{' + alone + '}', target, description), words_};
}

bool command_arguments::takes_a_value(const std::string& word) const {
    const CLI::Option* const option = app_.get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_min() > 0;
}

command_line::command_line(const std::string& program, const std::string& version, manual_maker manual)
    : app_(std::make_unique<CLI::App>("", program)) {
    app_->formatter(std::make_shared<manual_formatter>(std::move(manual), words_));
    app_->set_help_flag("-h,--help", "Print this page");
    app_->set_version_flag("-V,--version", version, "Print the version");
    app_->require_subcommand(1);
}

command_line::~command_line() = default;

command_arguments command_line::add_command(const std::string& name, const std::string& purpose) {
    return {*app_->add_subcommand(name, purpose), words_};
}

bool command_line::has_command(const std::string& name) const {
    return !app_->get_subcommands([&](const CLI::App* known) { return known->get_name() == name; }).empty();
}

bool command_line::command_has_option(const std::string& command, const std::string& word) const {
    return app_->get_subcommand(command)->get_option_no_throw(name_in(word)) != nullptr;
}

std::string command_line::manual(const std::string& command) const {
    return command.empty() ? app_->help() : app_->get_subcommand(command)->help();
}

std::vector<command_text> command_line::commands() const {
    std::vector<command_text> out = {{"", "", texts_of(*app_, words_)}};
    for (const CLI::App* const command : app_->get_subcommands([](const CLI::App*) { return true; })) {
        out.push_back({command->get_name(), command->get_description(), texts_of(*command, words_)});
    }
    return out;
}

std::optional<std::string> command_line::parse(const std::vector<std::string>& words) {
    try {
        app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the order that CLI11 takes
    } catch (const CLI::Success& wanted) {                                    // --help, --version
        (void)app_->exit(wanted);
        return std::nullopt;
    } catch (const CLI::ParseError& wrong) {
        throw usage_error(description_of(wrong, *app_));
    }
    return app_->get_subcommands().front()->get_name();
}

}  // namespace prof
