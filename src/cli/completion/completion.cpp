// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/completion.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "control/client.hpp"
#include "control/protocol.hpp"
#include "options/options.hpp"

namespace prof {
namespace {

// The description's first words, for a list.
std::string brief(const std::string& description) {
    constexpr std::size_t least = 20;
    constexpr std::size_t most = 72;
    std::size_t end = description.size();
    for (const std::string_view mark : {"; ", " (", ". ", ": "}) end = std::min(end, description.find(mark, least));
    if (end <= most) return description.substr(0, end);
    return description.substr(0, description.rfind(' ', most)) + " ...";
}

class completer {
public:
    completer(const std::vector<command_text>& commands, const std::vector<std::string>& words)
        : commands_(commands), words_(words), current_(words_.back()), command_(find_command(words_.front())) {}

    std::string answer() && {
        if (words_.size() == 1) {
            offer_commands();
            if (is_option(current_)) offer_options(commands_.front());
        } else if (command_ != nullptr) {
            offer_words_of_command();
        }
        return std::move(out_);
    }

private:
    static bool is_option(const std::string& word) { return word.starts_with('-'); }

    const command_text* find_command(const std::string& name) const {
        const auto found = std::find_if(commands_.begin(), commands_.end(), [&](const command_text& known) {
            return !known.name.empty() && known.name == name;
        });
        return found == commands_.end() ? nullptr : &*found;
    }

    // The option of the command whose value follows it. Null: there is none of that name, or it takes none.
    const option_text* option_with_value(std::string_view name) const {
        for (const option_text& option : command_->options) {
            const bool is_named = std::find(option.names.begin(), option.names.end(), name) != option.names.end();
            if (is_named) return option.needs_value ? &option : nullptr;
        }
        return nullptr;
    }

    void offer(std::string_view word, const std::string& about = {}) {
        if (word.starts_with(current_)) out_.append(word).append(about.empty() ? "" : "\t").append(about) += '\n';
    }

    void offer_commands() {
        for (const command_text& known : commands_) {
            if (!known.name.empty()) offer(known.name, known.purpose);
        }
    }

    void offer_options(const command_text& command) {
        for (const option_text& option : command.options) {
            for (const std::string& name : option.names) offer(name, brief(option.description));
        }
    }

    void offer_values(const option_text& option) {
        if (!option.words.empty()) {
            std::string before;
            if (option.is_list) before = current_.substr(0, current_.rfind(',') + 1);
            for (const std::string& word : option.words) offer(before + word);
        } else if (option.value == "DIR") {
            out_ += ":directories\n";
        } else if (option.value == "FILE" || option.value == "TRACE") {
            out_ += ":files\n";
        }
    }

    // How many words there are before those of the command that `prof run` starts; all, and so more than are before the
    // cursor, if this is at an option's value.
    std::size_t command_begin() const {
        std::size_t i = 1;
        while (i + 1 < words_.size()) {
            const std::string& word = words_[i];
            if (word == "--") return i + 1;
            if (!is_option(word)) return i;
            i += option_with_value(word) != nullptr ? 2 : 1;
        }
        return i;
    }

    void offer_words_of_command() {
        const bool is_run = command_->name == "run";
        const std::size_t last = words_.size() - 1;
        const std::size_t begin = is_run ? command_begin() : last + 1;
        const bool is_own_option = begin >= last && is_option(current_) && words_[last - 1] != "--";
        if (is_run && begin <= last && !is_own_option) {
            out_ += ":command " + std::to_string(begin) + "\n";
            return;
        }
        const std::size_t equal = current_.find('=');
        if (is_option(current_) && equal != std::string::npos) {
            const option_text* const option = option_with_value(current_.substr(0, equal));
            current_.erase(0, equal + 1);
            if (option != nullptr) offer_values(*option);
        } else if (const option_text* const option = option_with_value(words_[last - 1])) {
            offer_values(*option);
        } else if (is_option(current_)) {
            offer_options(*command_);
        } else {
            offer_operands();
        }
    }

    void offer_operands() {
        const auto before = static_cast<std::size_t>(std::count_if(
            words_.begin() + 1, words_.end() - 1, [](const std::string& word) { return !is_option(word); }));
        if (command_->name == "ctl") {
            offer_control(before);
        } else if (command_->name == "help") {
            if (before == 0) offer_commands();
        } else if (command_->name == "completion") {
            for (const shell& known : shells()) {
                if (before == 0) offer(known.name);
            }
        } else {
            out_ += ":captures\n";
        }
    }

    void offer_control(std::size_t operands_before) {
        if (operands_before == 0) {
            for (const pid_t pid : controlled_processes()) offer(std::to_string(pid));
        } else if (operands_before == 1) {
            for (const control_command& known : control_commands()) offer(known.name, std::string(known.purpose));
        } else {
            for (const option& row : option_table()) offer(std::string(row.name) + "=");
        }
    }

    const std::vector<command_text>& commands_;
    const std::vector<std::string>& words_;
    std::string current_;
    const command_text* command_;
    std::string out_;
};

}  // namespace

std::string completions(const std::vector<command_text>& commands, const std::vector<std::string>& words) {
    return words.empty() ? std::string() : completer(commands, words).answer();
}

}  // namespace prof
