// SPDX-License-Identifier: Apache-2.0
#include "cli/shell_words.hpp"

#include <wordexp.h>

#include "base/suggestion.hpp"
#include "cli/arguments.hpp"

namespace prof {
namespace {

const char* reason_of(int failed) noexcept {
    switch (failed) {
        case WRDE_BADCHAR:
            return "it has |, &, ;, <, >, parentheses, braces or a line's end outside quotes; sh -c '...' runs such a "
                   "line";
        case WRDE_BADVAL:
            return "it has a variable that is not set";
        case WRDE_CMDSUB:
            return "it has a command in a command; sh -c '...' runs such a line";
        case WRDE_SYNTAX:
            return "a quote or a bracket is not closed";
        default:
            return "there is not enough memory";
    }
}

}  // namespace

std::vector<std::string> shell_words(const std::string& text, const std::string& option) {
    wordexp_t found{};
    const int failed = wordexp(text.c_str(), &found, WRDE_NOCMD | WRDE_UNDEF);  // NOLINT(concurrency-mt-unsafe)
    if (failed != 0) {
        if (failed == WRDE_NOSPACE) wordfree(&found);
        throw usage_error(option + ": " + in_quotes(text) + " is no command line: " + reason_of(failed));
    }
    std::vector<std::string> out(found.we_wordv, found.we_wordv + found.we_wordc);
    wordfree(&found);
    if (out.empty()) throw usage_error(option + ": there is no command in " + in_quotes(text));
    return out;
}

}  // namespace prof
