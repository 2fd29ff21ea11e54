// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/json_text.hpp"
#include "base/number.hpp"

namespace prof {

void complain(std::string_view line) { fmt::print(stderr, "prof: {}\n", terminal_safe(line)); }

std::size_t output_width(int descriptor) {
    constexpr std::size_t log_width = 150;
    winsize size{};
    if (isatty(descriptor) == 1 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    if (const char* const columns = std::getenv("COLUMNS")) {  // NOLINT(concurrency-mt-unsafe): one thread
        if (const auto width = parse_number<std::size_t>(columns, 1)) return *width;
    }
    return log_width;
}

}  // namespace prof
