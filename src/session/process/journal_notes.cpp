// SPDX-License-Identifier: Apache-2.0
#include "session/process/journal_notes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include "base/file_size_signal.hpp"
#include "base/own_descriptor.hpp"

namespace prof {
namespace {

void append_line(const std::string& journal, const char* word, std::string_view reason) noexcept {
    constexpr std::size_t longest = 1000;
    if (journal.empty()) return;
    std::array<char, longest + 64> line{};
    const int bytes = std::snprintf(line.data(), line.size(), "%s %d %.*s", word, static_cast<int>(getpid()),
                                    static_cast<int>(std::min(reason.size(), longest)), reason.data());
    if (bytes <= 0) return;
    const auto length = std::min(static_cast<std::size_t>(bytes), line.size() - 1);
    std::replace(line.begin(), line.begin() + length, '\n', ' ');
    line[length] = '\n';
    own_descriptor file;
    file.take(open(journal.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    const int number = file.get();
    const bool is_journal =
        number >= 0 && fstat(number, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    const file_size_signal_guard guard;
    if (is_journal) (void)!write(number, line.data(), length + 1);
    file.close();
}

}  // namespace

void note_loss(const std::string& journal, std::string_view reason) noexcept { append_line(journal, "lost", reason); }

void note_gpu_tool(const std::string& journal, std::string_view tool) noexcept { append_line(journal, "beside", tool); }

}  // namespace prof
