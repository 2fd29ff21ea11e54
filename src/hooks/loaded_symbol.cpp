// SPDX-License-Identifier: Apache-2.0
#include "hooks/loaded_symbol.hpp"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace prof {
namespace {

struct symbol_tables {
    const char* texts = nullptr;
    const ElfW(Sym) * symbols = nullptr;
    const std::uint32_t* gnu_hash = nullptr;  // at least one of the two is there
    const std::uint32_t* sysv_hash = nullptr;
};

const ElfW(Dyn) * dynamic_section(const dl_phdr_info& object) noexcept {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object.dlpi_phdr[i];
        if (part.p_type == PT_DYNAMIC) return reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + part.p_vaddr);
    }
    return nullptr;
}

// glibc adds the object's address to most of these values in memory, but not in every object.
template <typename TTable>
void set(const TTable*& table, const dl_phdr_info& object, ElfW(Addr) value) noexcept {
    table = reinterpret_cast<const TTable*>(value < object.dlpi_addr ? object.dlpi_addr + value : value);
}

symbol_tables tables_of(const dl_phdr_info& object) noexcept {
    symbol_tables out;
    const ElfW(Dyn)* entry = dynamic_section(object);
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_STRTAB) set(out.texts, object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB) set(out.symbols, object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_GNU_HASH) set(out.gnu_hash, object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_HASH) set(out.sysv_hash, object, entry->d_un.d_ptr);
    }
    return out;
}

bool is_function(const symbol_tables& in, std::uint32_t index, const char* name) noexcept {
    const ElfW(Sym)& symbol = in.symbols[index];
    return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
           std::strcmp(in.texts + symbol.st_name, name) == 0;
}

// 0: none. Of the hash table there are the buckets, which hold the first symbol of each chain, and the chains' hashes,
// in the order of the symbols. The lowest bit of a hash marks the last symbol of its chain.
std::uint32_t find_by_gnu_hash(const symbol_tables& in, const char* name) noexcept {
    std::uint32_t hash = 5381;
    for (const char* c = name; *c != 0; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
    const std::uint32_t buckets_count = in.gnu_hash[0];
    const std::uint32_t first_symbol = in.gnu_hash[1];
    const std::uint32_t filter_words = in.gnu_hash[2];
    const std::uint32_t* const buckets = in.gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    const std::uint32_t* const hashes = buckets + buckets_count;
    if (buckets_count == 0) return 0;
    std::uint32_t index = buckets[hash % buckets_count];
    if (index < first_symbol) return 0;
    for (;; ++index) {
        const std::uint32_t entry_hash = hashes[index - first_symbol];
        if ((entry_hash | 1) == (hash | 1) && is_function(in, index, name)) return index;
        if ((entry_hash & 1) != 0) return 0;
    }
}

// As above: the buckets, then for each symbol the next of its chain.
std::uint32_t find_by_sysv_hash(const symbol_tables& in, const char* name) noexcept {
    std::uint32_t hash = 0;
    for (const char* c = name; *c != 0; ++c) {
        hash = (hash << 4) + static_cast<unsigned char>(*c);
        const std::uint32_t high = hash & 0xF0000000;
        hash = (hash ^ (high >> 24)) & ~high;
    }
    const std::uint32_t buckets_count = in.sysv_hash[0];
    const std::uint32_t* const buckets = in.sysv_hash + 2;
    const std::uint32_t* const next = buckets + buckets_count;
    if (buckets_count == 0) return 0;
    for (std::uint32_t index = buckets[hash % buckets_count]; index != 0; index = next[index]) {
        if (is_function(in, index, name)) return index;
    }
    return 0;
}

void* find(const dl_phdr_info& object, const char* name) noexcept {
    const symbol_tables in = tables_of(object);
    if (in.texts == nullptr || in.symbols == nullptr) return nullptr;
    std::uint32_t index = 0;
    if (in.gnu_hash != nullptr) {
        index = find_by_gnu_hash(in, name);
    } else if (in.sysv_hash != nullptr) {
        index = find_by_sysv_hash(in, name);
    }
    return index == 0 ? nullptr : reinterpret_cast<void*>(object.dlpi_addr + in.symbols[index].st_value);
}

const char* file_name(const dl_phdr_info& object) noexcept {
    const char* const path = object.dlpi_name;
    if (path == nullptr) return "";
    const char* const slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

bool is_called(const dl_phdr_info& object, const char* file) noexcept {
    return std::strcmp(file_name(object), file) == 0;
}

struct relocation_list {
    const ElfW(Rela) * first = nullptr;
    std::size_t bytes = 0;
};

constexpr bool is_import(std::uint32_t type) noexcept {
#if defined(__x86_64__)
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
#else
    return type != type;
#endif
}

// Calls visit(address) for each entry that is bound to the function `name` of another object.
template <typename TVisit>
void for_each_import(const dl_phdr_info& object, const char* name, TVisit&& visit) noexcept {
    const symbol_tables tables = tables_of(object);
    if (tables.texts == nullptr || tables.symbols == nullptr) return;
    relocation_list calls;
    relocation_list data;
    for (const ElfW(Dyn)* entry = dynamic_section(object); entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_JMPREL) set(calls.first, object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_PLTRELSZ) calls.bytes = entry->d_un.d_val;
        if (entry->d_tag == DT_RELA) set(data.first, object, entry->d_un.d_ptr);
        if (entry->d_tag == DT_RELASZ) data.bytes = entry->d_un.d_val;
    }
    for (const relocation_list& list : {calls, data}) {
        if (list.first == nullptr) continue;
        for (std::size_t i = 0; i < list.bytes / sizeof(ElfW(Rela)); ++i) {
            const ElfW(Rela)& relocation = list.first[i];
            if (!is_import(static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info)))) continue;
            const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(relocation.r_info)];
            if (symbol.st_shndx == SHN_UNDEF && std::strcmp(tables.texts + symbol.st_name, name) == 0) {
                visit(object.dlpi_addr + relocation.r_offset);
            }
        }
    }
}

import_entry entry_at(const dl_phdr_info& object, ElfW(Addr) address) noexcept {
    import_entry out{.place = reinterpret_cast<void**>(address)};
    ElfW(Addr) end = object.dlpi_addr;
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object.dlpi_phdr[i];
        const ElfW(Addr) begins = object.dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_LOAD && begins + part.p_memsz > end) end = begins + part.p_memsz;
        if (part.p_type == PT_GNU_RELRO && address >= begins && address < begins + part.p_memsz) {
            out.is_protected = true;
        }
    }
    out.object_begin = reinterpret_cast<const void*>(object.dlpi_addr);
    out.object_end = reinterpret_cast<const void*>(end);
    return out;
}

}  // namespace

void* loaded_symbol(const char* file, const char* name) noexcept {
    struct search {
        const char* file;
        const char* name;
        void* found;
    } wanted{file, name, nullptr};
    // Its lock is held while the list of objects is changed, and not while an initialiser runs.
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
            auto& in = *static_cast<search*>(data);
            if (!is_called(*object, in.file)) return 0;
            in.found = find(*object, in.name);
            return 1;
        },
        &wanted);
    return wanted.found;
}

void* first_loaded_symbol(const char* name) noexcept {
    struct search {
        const char* name;
        void* found;
    } wanted{name, nullptr};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
            auto& in = *static_cast<search*>(data);
            in.found = find(*object, in.name);
            return in.found != nullptr ? 1 : 0;
        },
        &wanted);
    return wanted.found;
}

std::size_t find_imports(const char* file_prefix, const char* name, std::span<import_entry> out) noexcept {
    struct search {
        const char* prefix;
        const char* name;
        std::span<import_entry> out;
        std::size_t count;
    } wanted{file_prefix, name, out, 0};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* data) {
            auto& in = *static_cast<search*>(data);
            if (std::strncmp(file_name(*object), in.prefix, std::strlen(in.prefix)) != 0) return 0;
            for_each_import(*object, in.name, [&](ElfW(Addr) address) {
                if (in.count < in.out.size()) in.out[in.count] = entry_at(*object, address);
                ++in.count;
            });
            return 0;
        },
        &wanted);
    return wanted.count;
}

}  // namespace prof
