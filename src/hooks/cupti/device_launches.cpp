// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/device_launches.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string_view>

namespace prof {
namespace {

// The names since CUDA 12, and before.
constexpr std::string_view launching_functions[] = {"__cudaCDP2LaunchDevice", "cudaLaunchDevice"};

bool names_one(std::string_view symbols) noexcept {
    for (const std::string_view function : launching_functions) {
        if (memmem(symbols.data(), symbols.size(), function.data(), function.size()) != nullptr) return true;
    }
    return false;
}

}  // namespace

bool can_launch_kernels(const char* image, std::size_t bytes) noexcept {
    Elf64_Ehdr file{};
    if (image == nullptr || bytes < sizeof file) return false;
    std::memcpy(&file, image, sizeof file);
    if (std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64) return false;
    for (std::uint64_t i = 0; i < file.e_shnum; ++i) {
        Elf64_Shdr section{};
        const std::uint64_t offset = i * sizeof section;
        if (file.e_shoff > bytes || bytes - file.e_shoff < offset + sizeof section) return false;
        std::memcpy(&section, image + file.e_shoff + offset, sizeof section);
        if (section.sh_type != SHT_STRTAB) continue;
        if (section.sh_offset > bytes || section.sh_size > bytes - section.sh_offset) continue;
        if (names_one({image + section.sh_offset, section.sh_size})) return true;
    }
    return false;
}

}  // namespace prof
