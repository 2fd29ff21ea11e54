// SPDX-License-Identifier: Apache-2.0
#include "export/report/name_cut.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/display_text.hpp"

namespace prof {
namespace {

constexpr std::string_view ellipsis = "…";
constexpr std::string_view anonymous = "(anonymous namespace)::";

bool is_identifier(char c) noexcept { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

// How much of a C++ name is written.
struct detail {
    bool parameters = true;
    std::size_t template_depth = SIZE_MAX;  // of arguments within arguments, those below are left out
    bool namespaces = true;
};

// Writes a name of C++, with less detail, in one pass.
class name_writer {
public:
    name_writer(std::string_view name, const detail& with) : name_(name), with_(with) {}

    // Empty if the brackets do not match: then it is no name of C++. Ends soon after `most` bytes of text.
    std::string run(std::size_t most) {
        for (at_ = 0; at_ < name_.size() && out_.size() <= most; ++at_) {
            if (name_.substr(at_).starts_with(anonymous)) {
                at_ += anonymous.size() - 1;
                continue;
            }
            if (!step(name_[at_])) return {};
        }
        return open_.empty() || out_.size() > most ? std::move(out_) : std::string();
    }

private:
    bool step(char c) {
        if (c == '(' || (c == '<' && begins_arguments())) {
            put(c);
            const bool hides = c == '(' ? !with_.parameters : templates_ >= with_.template_depth;
            if (hides && is_shown() && !closes_next()) out_ += ellipsis;
            open({c, hides});
            return true;
        }
        if (c == ')' || (c == '>' && !open_.empty() && open_.back().bracket == '<' && name_[at_ - 1] != '-')) {
            if (open_.empty() || (open_.back().bracket == '(') != (c == ')')) return false;
            close();
            if (c == '>' && out_.ends_with("> ")) out_.pop_back();
            put(c);
            return true;
        }
        if (!with_.namespaces && name_.substr(at_).starts_with("::") && ends_namespace()) {
            if (is_shown()) drop_identifier();
            ++at_;
            return true;
        }
        put(c);
        return true;
    }

    bool begins_arguments() const {
        if (at_ == 0 || !is_identifier(name_[at_ - 1])) return false;
        return !name_.substr(0, at_).ends_with("operator");
    }
    bool closes_next() const { return at_ + 1 < name_.size() && name_[at_ + 1] == ')'; }
    bool ends_namespace() const { return at_ > 0 && is_identifier(name_[at_ - 1]); }
    void drop_identifier() {
        while (!out_.empty() && is_identifier(out_.back())) out_.pop_back();
    }

    struct group {
        char bracket;
        bool hides;
    };
    void open(const group& of) {
        open_.push_back(of);
        templates_ += of.bracket == '<' ? 1 : 0;
        hiding_ += of.hides ? 1 : 0;
    }
    void close() {
        templates_ -= open_.back().bracket == '<' ? 1 : 0;
        hiding_ -= open_.back().hides ? 1 : 0;
        open_.pop_back();
    }
    bool is_shown() const noexcept { return hiding_ == 0; }
    void put(char c) {
        if (is_shown()) out_ += c;
    }

    std::string_view name_;
    detail with_;
    std::size_t at_ = 0;
    std::vector<group> open_;
    std::size_t templates_ = 0;  // of these
    std::size_t hiding_ = 0;
    std::string out_;
};

std::string name_with(std::string_view name, const detail& with, std::size_t most = SIZE_MAX) {
    constexpr std::string_view return_type = "void ";
    if (name.starts_with(return_type)) name.remove_prefix(return_type.size());
    std::string out = name_writer(name, with).run(most);
    return out.empty() ? std::string(name) : out;
}

constexpr detail details[] = {{},
                              {.parameters = false},
                              {.parameters = false, .template_depth = 2},
                              {.parameters = false, .template_depth = 1},
                              {.parameters = false, .template_depth = 1, .namespaces = false}};

bool is_cpp(std::string_view name) {
    return name.find("::") != std::string_view::npos || name.find('<') != std::string_view::npos ||
           name.starts_with("void ");
}

std::string least_detail(std::string_view name) {
    return is_cpp(name) ? name_with(name, *std::rbegin(details)) : std::string(name);
}

// Where the argument begins that says what an instance of a template does: a functor, or else the first one that is no
// number. 0 where there is none.
std::size_t telling_argument(std::string_view text) {
    std::size_t first = 0;
    std::size_t depth = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        depth += text[at] == '<' ? 1 : 0;
        const bool begins =
            depth == 1 && at > 0 && (text[at - 1] == '<' || (at > 1 && text[at - 1] == ' ' && text[at - 2] == ','));
        depth -= text[at] == '>' && depth > 0 ? 1 : 0;
        if (!begins || std::isalpha(static_cast<unsigned char>(text[at])) == 0) continue;
        if (first == 0) first = at;
        const std::string_view argument = text.substr(at, text.find_first_of(",<>", at) - at);
        if (argument.find("Functor") != std::string_view::npos) return at;
    }
    return first;
}

bool is_inside_character(std::string_view text, std::size_t at) noexcept {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// Where the texts begin to differ: from the beginning of that word on, unless it is a long one.
std::size_t first_difference(const std::vector<std::string>& texts, std::size_t longest_word) {
    const std::string& first = texts.front();
    std::size_t length = first.size();
    for (const std::string& text : texts) {
        const auto [own, other] = std::mismatch(text.begin(), text.end(), first.begin(), first.end());
        length = std::min(length, static_cast<std::size_t>(own - text.begin()));
    }
    while (length > 0 && is_inside_character(first, length)) --length;
    std::size_t word = length;
    while (word > 0 && is_identifier(first[word - 1])) --word;
    return length - word <= longest_word ? word : length;
}

// The beginning of `text`, and what begins at `from`; of a short rest as much before it as there is room for.
std::string around(std::string_view text, std::size_t from, std::size_t width) {
    if (width == 0) return {};
    const std::size_t head = (width - 1) / 2;
    if (display_width(text.substr(0, from)) <= head) return beginning_of(text, width);
    for (std::size_t more = from; more-- > 0 && display_width(text.substr(more)) < width - head;) {
        if (!is_inside_character(text, more)) from = more;
    }
    return beginning_of(text.substr(0, from), head + 1) + beginning_of(text.substr(from), width - head - 1);
}

using texts_by_name = std::map<std::string, std::string>;

// The names that have one text, of each text that several have.
std::vector<std::vector<std::string>> alike(const texts_by_name& cut) {
    std::map<std::string_view, std::vector<std::string>> names_of;
    for (const auto& [name, text] : cut) names_of[text].push_back(name);
    std::vector<std::vector<std::string>> out;
    for (auto& [text, names] : names_of) {
        if (names.size() > 1) out.push_back(std::move(names));
    }
    return out;
}

// Gives names with one text the beginning and the part from which on they differ.
void tell_apart(const std::vector<std::string>& names, std::size_t width, texts_by_name& cut) {
    std::vector<std::string> texts;
    texts.reserve(names.size());
    for (const std::string& name : names) texts.push_back(least_detail(name));
    const std::set<std::string> distinct(texts.begin(), texts.end());
    if (distinct.size() < names.size()) texts = names;
    const std::size_t from = first_difference(texts, width / 3);
    for (std::size_t i = 0; i < names.size(); ++i) cut[names[i]] = around(texts[i], from, width);
}

// Texts that are still alike get numbers, except for the first of each.
void number_alike(std::size_t width, texts_by_name& cut) {
    std::set<std::string> taken;
    for (const auto& [name, text] : cut) taken.insert(text);
    std::map<std::string, std::size_t> numbers;
    for (const std::vector<std::string>& names : alike(cut)) {
        for (std::size_t i = 1; i < names.size(); ++i) {
            std::string& text = cut[names[i]];
            std::size_t& number = numbers[text];
            std::string out;
            for (number = std::max<std::size_t>(number, 2); out.empty() || taken.contains(out); ++number) {
                const std::string suffix = "#" + std::to_string(number);
                out = beginning_of(text, width > suffix.size() ? width - suffix.size() : 0) + suffix;
            }
            taken.insert(out);
            text = std::move(out);
        }
    }
}

}  // namespace

std::string cut_name(std::string_view name, std::size_t width) {
    if (display_width(name) <= width) return std::string(name);
    if (!is_cpp(name)) return shortened(name, width);
    std::string text;
    constexpr std::size_t bytes_of_a_cell = 4;
    for (const detail& with : details) {
        const bool is_last = &with == std::end(details) - 1;
        const std::size_t most = is_last || width > SIZE_MAX / bytes_of_a_cell ? SIZE_MAX : bytes_of_a_cell * width;
        text = name_with(name, with, most);
        if (text.size() <= most && display_width(text) <= width) return text;
    }
    const std::size_t telling = telling_argument(text);
    return telling == 0 ? shortened(text, width) : around(text, telling, width);
}

std::vector<std::string> cut_names(const std::vector<std::string>& names, std::size_t width) {
    // Names of which the same part was cut out may differ elsewhere, so that these texts differ again.
    constexpr int most_rounds = 8;
    texts_by_name cut;
    for (const std::string& name : names) {
        const auto [place, is_new] = cut.try_emplace(name);
        if (is_new) place->second = cut_name(name, width);
    }
    for (int round = 0; round < most_rounds; ++round) {
        const std::vector<std::vector<std::string>> groups = alike(cut);
        if (groups.empty()) break;
        for (const std::vector<std::string>& group : groups) tell_apart(group, width, cut);
    }
    number_alike(width, cut);
    std::vector<std::string> out;
    out.reserve(names.size());
    for (const std::string& name : names) out.push_back(cut.at(name));
    return out;
}

}  // namespace prof
