// SPDX-License-Identifier: Apache-2.0
// A module of kernels, as far as it matters whether they can launch others.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

namespace prof::test {

// A cubin's header, its table of strings, and the headers of its two sections.
inline std::vector<char> module_with(const std::string& symbols) {
    Elf64_Ehdr file{};
    std::memcpy(file.e_ident, ELFMAG, SELFMAG);
    file.e_ident[EI_CLASS] = ELFCLASS64;
    file.e_shoff = sizeof file + symbols.size();
    file.e_shentsize = sizeof(Elf64_Shdr);
    file.e_shnum = 2;
    Elf64_Shdr sections[2]{};
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = sizeof file;
    sections[1].sh_size = symbols.size();
    std::vector<char> image(file.e_shoff + sizeof sections);
    std::memcpy(image.data(), &file, sizeof file);
    std::memcpy(image.data() + sizeof file, symbols.data(), symbols.size());
    std::memcpy(image.data() + file.e_shoff, sections, sizeof sections);
    return image;
}

inline const std::string symbols_without("\0plain\0__cudaCDP2GetErrorString\0", 33);
inline const std::string symbols_with_launches("\0parent\0__cudaCDP2LaunchDeviceV2\0", 34);

}  // namespace prof::test
