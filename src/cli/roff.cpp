// SPDX-License-Identifier: Apache-2.0
#include "cli/roff.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace prof {
namespace {

constexpr std::size_t body_indent = 4;   // of a section's lines
constexpr std::size_t under_indent = 8;  // of what explains the line above

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// Every '-' is the one that a command line has, which a reader may copy.
std::string escaped(std::string_view text) {
    std::string out;
    if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
    for (const char c : text) {
        switch (c) {
            case '\\':
                out += "\\e";
                break;
            case '-':
                out += "\\-";
                break;
            case '~':
                out += "\\(ti";
                break;
            case '^':
                out += "\\(ha";
                break;
            case '`':
                out += "\\(ga";
                break;
            case '\'':
                out += "\\(aq";
                break;
            default:
                out += c;
        }
    }
    return out;
}

using lines = std::vector<std::string_view>;

std::string filled(const lines& body) {
    std::string out;
    for (const std::string_view line : body) out += escaped(line.substr(indent_of(line))) + "\n";
    return out;
}

std::string as_it_is(const lines& body) {
    std::string out = ".nf\n";
    for (const std::string_view line : body) {
        out += escaped(line.substr(std::min(body_indent, indent_of(line)))) + "\n";
    }
    return out + ".fi\n";
}

// Terms with an explanation below each, and at the end perhaps a line without one.
std::string terms(const lines& body) {
    std::string out;
    for (std::size_t i = 0; i < body.size(); ++i) {
        const std::string text = escaped(body[i].substr(indent_of(body[i])));
        const bool is_term = indent_of(body[i]) < under_indent;
        if (is_term) out += i + 1 < body.size() ? ".TP\n.B " : ".PP\n";
        out.append(text).append("\n");
    }
    return out;
}

// A section is a list of terms if what stands below its first line explains that.
bool is_terms(const lines& body) {
    return body.size() > 1 && indent_of(body[0]) == body_indent && indent_of(body[1]) == under_indent;
}

std::string section(std::string_view title, const lines& body) {
    const std::string head = ".SH " + std::string(title) + "\n";
    if (title == "NAME") {
        const std::string_view line = body.front().substr(body_indent);
        const std::size_t dash = line.find(" - ");
        return head + escaped(line.substr(0, dash)) + " \\- " + escaped(line.substr(dash + 3)) + "\n";
    }
    if (title == "DESCRIPTION") return head + filled(body);
    return head + (is_terms(body) ? terms(body) : as_it_is(body));
}

}  // namespace

std::string roff_page(const std::string& page, const std::string& command, const std::string& version) {
    std::string out = ".TH PROF" + upper(command.empty() ? "" : "\\-" + command) + " 1 \"\" \"libprof " + version +
                      "\" \"User Commands\"\n.ad l\n.nh\n";
    std::string_view title;
    lines body;
    const auto end_section = [&] {
        while (!body.empty() && body.back().empty()) body.pop_back();
        if (!body.empty()) out += section(title, body);
        body.clear();
    };
    for (const std::string_view line : split(page, '\n')) {
        if (line.empty() || line.front() == ' ') {
            body.push_back(line);
            continue;
        }
        end_section();
        title = line;
    }
    end_section();
    return command.empty() ? out : out + ".SH SEE ALSO\n.BR prof (1)\n";
}

}  // namespace prof
