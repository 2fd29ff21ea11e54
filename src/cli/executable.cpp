// SPDX-License-Identifier: Apache-2.0
#include "cli/executable.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/text.hpp"

namespace prof {
namespace {

std::string path_of(const std::string& command) {
    if (command.find('/') != std::string::npos) return command;
    const char* const set = std::getenv("PATH");
    const std::string folders = set == nullptr ? "/bin:/usr/bin" : set;
    for (const std::string_view folder : split(folders, ':')) {
        std::string path = folder.empty() ? "." : std::string(folder);
        path.append("/").append(command);
        struct stat status {};
        if (access(path.c_str(), X_OK) == 0 && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return path;
    }
    return command;
}

class open_file {
public:
    explicit open_file(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
    ~open_file() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;

    bool read(void* destination, std::size_t bytes, std::uint64_t offset) const {
        return pread(descriptor_, destination, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
    }
    // The first line, without its "#!"; "" if it has none.
    std::string interpreter() const {
        std::array<char, 256> line{};
        const ssize_t bytes = pread(descriptor_, line.data(), line.size() - 1, 0);
        if (bytes < 3 || line[0] != '#' || line[1] != '!') return {};
        const char* const begin = line.data() + 2 + std::strspn(line.data() + 2, " \t");
        return {begin, std::strcspn(begin, " \t\n")};
    }

private:
    int descriptor_;
};

bool has_more_rights(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return false;
    const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != geteuid();
    const bool changes_group =
        (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != getegid();
    const bool has_capabilities = geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
    return changes_user || changes_group || has_capabilities;
}

executable_kind kind_of(const open_file& file) {
    constexpr std::size_t most_parts = 1000;
    Elf64_Ehdr header{};
    if (!file.read(&header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return executable_kind::dynamic;
    }
#if defined(__x86_64__)
    constexpr auto own_machine = EM_X86_64;
#else
    constexpr auto own_machine = EM_AARCH64;
#endif
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != own_machine)
        return executable_kind::other_machine;
    for (std::size_t i = 0; i < header.e_phnum && i < most_parts; ++i) {
        Elf64_Phdr part{};
        if (!file.read(&part, sizeof part, header.e_phoff + i * sizeof part)) return executable_kind::dynamic;
        if (part.p_type == PT_INTERP) return executable_kind::dynamic;
    }
    return executable_kind::statically_linked;
}

}  // namespace

executable executable_of(const std::string& command) {
    executable out{path_of(command)};
    if (const std::string interpreter = open_file(out.path).interpreter(); !interpreter.empty()) {
        out.path = interpreter;  // the system ignores the rights of a script
    }
    out.kind = has_more_rights(out.path) ? executable_kind::more_rights : kind_of(open_file(out.path));
    return out;
}

}  // namespace prof
