#include "cli/cli.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "export/json_text.hpp"

namespace prof {

void complain(std::string_view line) { fmt::print(stderr, "prof: {}\n", terminal_safe(line)); }

std::size_t output_width(int descriptor) {
    constexpr std::size_t log_width = 150;
    winsize size{};
    if (isatty(descriptor) == 1 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    if (const char* const columns = std::getenv("COLUMNS")) {  // NOLINT(concurrency-mt-unsafe): one thread
        const std::string_view text = columns;
        std::size_t width = 0;
        const auto result = std::from_chars(text.data(), text.data() + text.size(), width);
        if (result.ec == std::errc() && width > 0) return width;
    }
    return log_width;
}

}  // namespace prof
