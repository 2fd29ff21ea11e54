// SPDX-License-Identifier: Apache-2.0
// The words of a command line: each command describes its options here. They are parsed by CLI11, whose headers only
// arguments.cpp includes: they take a compiler longer than all of a command's own code. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
class Option;
}  // namespace CLI

namespace prof {

// A command line that makes no sense. what() is one line; a long list of names follows on lines of its own.
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Which values an option takes: in words, and as a test. `words`: those among them that are one word.
struct accepted_values {
    std::string in_words;
    std::function<bool(const std::string&)> contains;
    std::vector<std::string> words{};
};
// '-' and '_' are the same in a word; the option gets it as it is written here.
accepted_values one_of(const std::vector<std::string>& words);

// How a value is refused that is none of these (base/suggestion.hpp). Of a long list of words only the nearest is
// named; if none is near, all are, on lines of their own.
std::string refusal(const std::string& value, const accepted_values& values);

// Names with commas between, in indented lines, each after a line's end.
std::string lines_of(const std::vector<std::string>& names);

// The words that options take, of those that take any.
using words_by_option = std::map<const CLI::Option*, std::vector<std::string>>;

// One option, to be described further.
class option_description {
public:
    option_description(CLI::Option& option, words_by_option& words) : option_(option), words_(words) {}

    option_description& value(const std::string& placeholder);  // as the manual names the option's value
    option_description& group(std::string_view title);          // of the manual; "Options" unless given
    option_description& takes(const accepted_values& values);
    option_description& suggests(const std::vector<std::string>& words);  // to who completes the command line
    option_description& required();
    option_description& separated_by(char separator);  // several values in one word
    option_description& one_value_each_time();         // a list's option is repeated, and takes one word each time

private:
    CLI::Option& option_;
    words_by_option& words_;
};

// The options of one command. A name is "-o,--output", or has no dash for words that stand by themselves. The targets
// are written when the command line is parsed and must live until then.
class command_arguments {
public:
    command_arguments(CLI::App& app, words_by_option& words) : app_(app), words_(words) {}

    option_description add(const std::string& name, std::string& target, const std::string& description);
    option_description add(const std::string& name, double& target, const std::string& description);
    option_description add(const std::string& name, std::uint32_t& target, const std::string& description);
    option_description add(const std::string& name, std::vector<std::string>& target, const std::string& description);
    // `values.contains` parses the text and keeps the value.
    option_description add_parsed(const std::string& name, const accepted_values& values,
                                  const std::string& description);
    option_description add_flag(const std::string& name, bool& target, const std::string& description);
    // --name or --name=VALUE; without a value it is `alone`.
    option_description add_flag(const std::string& name, std::string& target, const std::string& alone,
                                const std::string& description);

    // Whether `word` ("-o", "--output") is an option whose value is the word after it.
    bool takes_a_value(const std::string& word) const;

private:
    CLI::App& app_;
    words_by_option& words_;
};

// What the manual and the completion of shells have of an option.
struct option_text {
    std::string group;
    std::string spelling;  // "-o, --output FILE"
    std::string description;
    std::vector<std::string> names{};  // "-o", "--output"
    std::string value{};               // "FILE"; "": it takes none
    bool needs_value = false;          // else the value follows a '='
    bool is_repeated = false;
    bool is_list = false;              // several words with commas between
    std::vector<std::string> words{};  // that it takes, if they are known
};

struct command_text {
    std::string name;
    std::string purpose;
    std::vector<option_text> options;
};

std::string joined(const std::vector<std::string>& words, std::string_view separator);

// The whole command line: `program [command [options]]`.
class command_line {
public:
    // `manual` makes the text of --help: of the program for "", else of a command.
    using manual_maker = std::function<std::string(const std::string& command, const std::vector<option_text>&)>;
    command_line(const std::string& program, const std::string& version, manual_maker manual);
    ~command_line();
    command_line(const command_line&) = delete;
    command_line& operator=(const command_line&) = delete;

    command_arguments add_command(const std::string& name, const std::string& purpose);
    bool has_command(const std::string& name) const;
    bool command_has_option(const std::string& command, const std::string& word) const;
    // The page of a command, of the program for "".
    std::string manual(const std::string& command) const;
    // The commands in the order in which they were added, with their options; the first is the program, "".
    std::vector<command_text> commands() const;

    // Returns the command that was given; nullopt if --help or --version was answered. Throws usage_error.
    std::optional<std::string> parse(const std::vector<std::string>& words);

private:
    words_by_option words_;
    std::unique_ptr<CLI::App> app_;
};

}  // namespace prof
