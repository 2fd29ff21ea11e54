// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/display_text.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace prof {
namespace {

// The middle of names that are too long for a file is left out.
std::string without_long_names(std::string_view line) {
    constexpr std::size_t longest_name = 255;  // NAME_MAX
    constexpr std::size_t most_cells = 60;
    std::string out;
    while (!line.empty()) {
        const std::size_t length = std::min(line.find_first_of(" /"), line.size());
        const std::string_view name = line.substr(0, length);
        out += length > longest_name ? shortened(name, most_cells) : std::string(name);
        if (length < line.size()) out += line[length];
        line.remove_prefix(std::min(length + 1, line.size()));
    }
    return out;
}

}  // namespace

void print_error(std::string_view text) noexcept { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

void print(std::string_view text) {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!is_written || std::fflush(stdout) != 0) throw error("cannot write to standard output");
}

void complain(std::string_view line) { print_error("prof: " + without_long_names(message_safe(line)) + "\n"); }

void complain_at_length(std::string_view text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    complain(text.substr(0, end));
    if (end == text.size()) return;
    for (const std::string_view line : split(text.substr(end + 1), '\n')) print_error(message_safe(line) + "\n");
}

void occupy_standard_streams() noexcept {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(descriptor, F_GETFD) >= 0) continue;
        // The lowest free number is this one.
        (void)open("/dev/null", O_CLOEXEC | (descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
}

unsigned compressing_threads() noexcept {
    constexpr int most = 4;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    const int count = CPU_COUNT(&allowed);
    return count < 2 ? 0 : static_cast<unsigned>(std::min(count, most));
}

std::size_t output_width(int descriptor) {
    constexpr std::size_t log_width = 150;
    winsize size{};
    if (isatty(descriptor) == 1 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    if (const char* const columns = std::getenv("COLUMNS")) {  // NOLINT(concurrency-mt-unsafe): one thread
        if (const auto width = parse_number<std::size_t>(columns, 1)) return *width;
    }
    return log_width;
}

std::size_t output_lines(int descriptor) {
    constexpr std::size_t usual = 24;
    if (isatty(descriptor) != 1) return SIZE_MAX;
    winsize size{};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : usual;
}

bool has_utf8_locale() {
    for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
        if (value == nullptr || *value == '\0') continue;
        std::string text(value);
        std::transform(text.begin(), text.end(), text.begin(), [](char letter) {
            return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
        return text.find("utf-8") != std::string::npos || text.find("utf8") != std::string::npos;
    }
    return false;
}

bool has_color(std::string_view choice, int descriptor) {
    if (choice != "auto") return choice == "always";
    const char* const refused = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread
    const char* const term = std::getenv("TERM");         // NOLINT(concurrency-mt-unsafe): one thread
    if (refused != nullptr && *refused != '\0') return false;
    return term != nullptr && std::string_view(term) != "dumb" && isatty(descriptor) == 1;
}

}  // namespace prof
