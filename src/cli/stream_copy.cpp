// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.hpp"

namespace prof {
namespace {

[[noreturn]] void fail(const std::string& action) {
    throw error("cannot " + action + ": " + std::generic_category().message(errno));
}

int open_stream(const std::string& name) {
    if (name != standard_input) return open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (isatty(STDIN_FILENO) == 1) {
        throw error("cannot read a capture from standard input, which is a terminal; give a file, or a pipe");
    }
    return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

// The descriptor of a new file without a name.
int open_nameless(const std::string& folder) {
    std::string path = folder + "/prof-XXXXXX";
    const int file = mkostemp(path.data(), O_CLOEXEC);
    if (file < 0) fail("make a temporary file in " + folder + " (TMPDIR)");
    unlink(path.c_str());
    return file;
}

void write_all(int file, std::string_view bytes, const std::string& folder) {
    while (!bytes.empty()) {
        const ssize_t written = write(file, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR) fail("copy the input to " + folder + " (TMPDIR)");
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

void copy_all(int source, int destination, const std::string& name, const std::string& folder) {
    std::vector<char> part(1U << 20);
    for (;;) {
        const ssize_t got = read(source, part.data(), part.size());
        if (got == 0) return;
        if (got < 0 && errno != EINTR) fail("read " + name);
        if (got > 0) write_all(destination, {part.data(), static_cast<std::size_t>(got)}, folder);
    }
}

}  // namespace

stream_copy::stream_copy(const std::string& name) {
    const int source = open_stream(name);
    if (source < 0) fail("open " + name);
    const char* const chosen = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): one thread
    const std::string folder = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
    try {
        copy_ = open_nameless(folder);
        copy_all(source, copy_, name, folder);
    } catch (...) {
        close(source);
        if (copy_ >= 0) close(copy_);
        throw;
    }
    close(source);
}

stream_copy::~stream_copy() { close(copy_); }

std::string stream_copy::path() const { return "/proc/self/fd/" + std::to_string(copy_); }

}  // namespace prof
