// SPDX-License-Identifier: Apache-2.0
#include "cli/installed_files.hpp"

#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/version.hpp"
#include "cli/completion/completion.hpp"
#include "cli/roff.hpp"
#include "export/atomic_file.hpp"

namespace prof {
namespace {

void write_file(const std::filesystem::path& path, const std::string& text) {
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    if (failed) throw error("cannot make the directory " + path.parent_path().string() + ": " + failed.message());
    atomic_file file(path.string());
    file.write(text);
    file.commit();
}

}  // namespace

void write_installed_files(const command_line& line, const std::string& share) {
    const std::filesystem::path folder(share);
    const std::string program = "prof";
    for (const command_text& command : line.commands()) {
        const std::string name = command.name.empty() ? program : program + "-" + command.name;
        write_file(folder / "man/man1" / (name + ".1"),
                   roff_page(line.manual(command.name), command.name, library_version));
    }
    for (const shell& known : shells()) {
        write_file(folder / known.installed_as, std::string(known.script));
    }
}

}  // namespace prof
