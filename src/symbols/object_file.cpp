// SPDX-License-Identifier: Apache-2.0
#include "symbols/object_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "symbols/demangle.hpp"

namespace prof {

object_file::object_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat facts {};
    if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
        const auto size = static_cast<std::size_t>(facts.st_size);
        void* const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
        if (memory != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(memory), size};
    }
    close(file);
    Elf64_Ehdr head{};
    const bool is_elf = read(0, head) && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                        head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_shentsize == sizeof(Elf64_Shdr);
    if (is_elf) {
        find_build_id();
        return;
    }
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
    bytes_ = {};
}

object_file::~object_file() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

template <typename TRead>
bool object_file::read(std::uint64_t offset, TRead& out) const noexcept {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof out) return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof out);
    return true;
}

std::string_view object_file::text_at(std::uint64_t offset) const noexcept {
    if (offset >= bytes_.size()) return {};
    const auto* const begin = reinterpret_cast<const char*>(bytes_.data() + offset);
    return {begin, strnlen(begin, bytes_.size() - offset)};
}

template <typename TVisit>
void object_file::for_each_section(TVisit&& visit) const {
    Elf64_Ehdr head{};
    if (!read(0, head)) return;
    for (std::uint64_t i = 0; i < head.e_shnum; ++i) {
        Elf64_Shdr section{};
        if (!read(head.e_shoff + i * sizeof section, section)) return;
        visit(section, head);
    }
}

void object_file::find_build_id() {
    for_each_section([&](const Elf64_Shdr& section, const Elf64_Ehdr&) {
        if (section.sh_type != SHT_NOTE || !build_id_.empty()) return;
        Elf64_Nhdr note{};
        std::uint64_t place = section.sh_offset;
        while (place - section.sh_offset < section.sh_size && read(place, note)) {
            const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
            const std::uint64_t text = place + sizeof note + padded(note.n_namesz);
            constexpr std::uint32_t most_bytes = 64;
            if (note.n_type == NT_GNU_BUILD_ID && text_at(place + sizeof note) == "GNU" &&
                note.n_descsz <= most_bytes) {
                for (std::uint32_t k = 0; k < note.n_descsz; ++k) {
                    unsigned char byte = 0;
                    if (!read(text + k, byte)) return;
                    constexpr std::string_view digits = "0123456789abcdef";
                    build_id_ += digits[byte >> 4];
                    build_id_ += digits[byte & 15U];
                }
                return;
            }
            place = text + padded(note.n_descsz);
        }
    });
}

bool object_file::may_have_lines() const {
    constexpr std::array<std::string_view, 4> names = {".debug_line", ".zdebug_line", ".gnu_debuglink",
                                                       ".gnu_debugaltlink"};
    bool out = false;
    for_each_section([&](const Elf64_Shdr& section, const Elf64_Ehdr& head) {
        Elf64_Shdr texts{};
        if (head.e_shstrndx >= head.e_shnum || !read(head.e_shoff + head.e_shstrndx * sizeof texts, texts)) return;
        const std::string_view name = text_at(texts.sh_offset + section.sh_name);
        out = out || std::find(names.begin(), names.end(), name) != names.end();
    });
    return out;
}

std::string object_file::function_at(std::uint64_t address) const {
    std::string_view best;
    std::uint64_t begin = 0;
    for_each_section([&](const Elf64_Shdr& section, const Elf64_Ehdr& head) {
        if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) return;
        Elf64_Shdr texts{};
        if (section.sh_link >= head.e_shnum || !read(head.e_shoff + section.sh_link * sizeof texts, texts)) return;
        for (std::uint64_t place = 0; place + sizeof(Elf64_Sym) <= section.sh_size; place += sizeof(Elf64_Sym)) {
            Elf64_Sym symbol{};
            if (!read(section.sh_offset + place, symbol)) return;
            const auto type = symbol.st_info & 0xFU;
            if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF) continue;
            if (address < symbol.st_value || address - symbol.st_value >= symbol.st_size) continue;
            if (!best.empty() && symbol.st_value <= begin) continue;
            best = text_at(texts.sh_offset + symbol.st_name);
            begin = symbol.st_value;
        }
    });
    if (auto made = demangle(best); made.has_value()) return std::move(made->full);
    return std::string(best);
}

}  // namespace prof
