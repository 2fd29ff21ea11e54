// SPDX-License-Identifier: Apache-2.0
#include "hooks/nvtx/earlier_instances.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/own_descriptor.hpp"
#include "hooks/nvtx/nvtx_hooks.hpp"

namespace prof {
namespace {

// How nvtxGlobals_t begins (nvtxDetail/nvtxImpl.h), by words of eight bytes.
constexpr std::uint32_t init_state_complete = 2;
enum word : std::size_t {
    init_state,
    callbacks_size,
    get_module_function_table,
    version_size,
    version,
    set_injection_version,
    first_function,  // nvtxMarkEx's, which is the first entry of the table CORE
};
constexpr std::size_t functions_checked = 11;  // up to nvtxRangePop's
constexpr std::size_t words_checked = first_function + functions_checked;

using words = std::array<std::uint64_t, words_checked>;

bool has_address(const dl_phdr_info& object, std::uintptr_t address, std::uint32_t flags) noexcept {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object.dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & flags) != flags) continue;
        const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
        if (address >= begin && address - begin < segment.p_memsz) return true;
    }
    return false;
}

// The part of a segment from `begin` to `end` that the dynamic linker has made read-only after relocation; (end, end)
// if there is none.
std::pair<std::uintptr_t, std::uintptr_t> read_only_part(const dl_phdr_info& object, std::uintptr_t begin,
                                                         std::uintptr_t end) noexcept {
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object.dlpi_phdr[i];
        const std::uintptr_t first_address = object.dlpi_addr + part.p_vaddr;
        if (part.p_type != PT_GNU_RELRO || first_address < begin || first_address >= end) continue;
        return {first_address, std::min<std::uintptr_t>(first_address + part.p_memsz, end)};
    }
    return {end, end};
}

// The instance looked for a tool, and none of its functions leads to one.
bool is_without_tool(const words& table, const dl_phdr_info& object) noexcept {
    return static_cast<std::uint32_t>(table[init_state]) == init_state_complete &&
           has_address(object, table[get_module_function_table], PF_X) &&
           has_address(object, table[set_injection_version], PF_X) &&
           std::all_of(table.begin() + first_function, table.end(),
                       [](std::uint64_t function) { return function == 0; });
}

// Once more, by what the instance itself says: the table's first entry is where the function was found.
bool attach(std::uintptr_t address, std::uint64_t get_table) noexcept {
    const auto& callbacks =
        *reinterpret_cast<const NvtxExportTableCallbacks*>(address + callbacks_size * sizeof(std::uint64_t));
    if (reinterpret_cast<std::uint64_t>(callbacks.GetModuleFunctionTable) != get_table) return false;
    NvtxFunctionTable table = nullptr;
    unsigned count = 0;
    if (callbacks.GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &count) == 0 || table == nullptr ||
        count <= NVTX_CBID_CORE_MarkEx) {
        return false;
    }
    const auto first = reinterpret_cast<std::uintptr_t>(table[NVTX_CBID_CORE_MarkEx]);
    return first == address + first_function * sizeof(std::uint64_t) && install_nvtx_hooks(callbacks);
}

std::string name_of(const dl_phdr_info& object) {
    const char* const path = object.dlpi_name;
    if (path == nullptr || *path == 0) return "the program";
    const char* const slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

class search {
public:
    search() { page_states_.take(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)); }
    ~search() { page_states_.close(); }
    search(const search&) = delete;
    search& operator=(const search&) = delete;

    static int look_at(dl_phdr_info* object, std::size_t, void* self) {
        static_cast<search*>(self)->look_at(*object);
        return 0;
    }
    std::vector<earlier_instance> found;

private:
    void look_at(const dl_phdr_info& object) {
        if (has_address(object, reinterpret_cast<std::uintptr_t>(&is_loaded_late), 0)) return;  // libprof itself
        for (int i = 0; i < object.dlpi_phnum; ++i) {
            const ElfW(Phdr)& segment = object.dlpi_phdr[i];
            if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
            const std::uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
            const std::uintptr_t end = begin + segment.p_filesz;
            // Most of it is read-only by now, in front or, from some linkers, behind.
            const auto [first, last] = read_only_part(object, begin, end);
            look_at_written(object, begin, first);
            look_at_written(object, last, end);
        }
    }

    // An instance was written to, at least when it looked for a tool. So pages that are still those of the file are
    // passed over, and not read from the disk.
    void look_at_written(const dl_phdr_info& object, std::uintptr_t begin, std::uintptr_t end) {
        constexpr std::size_t most_pages = 4096;
        std::vector<std::uint64_t> states;
        for (std::uintptr_t address = begin; address < end;) {
            const std::uintptr_t first = address / page_;
            const std::size_t count = std::min((end - 1) / page_ - first + 1, most_pages);
            states.resize(count);
            const auto bytes = static_cast<ssize_t>(count * sizeof(std::uint64_t));
            const off_t offset = static_cast<off_t>(first * sizeof(std::uint64_t));
            const bool is_known =
                pread(page_states_.get(), states.data(), count * sizeof(std::uint64_t), offset) == bytes;
            const auto may_have_one = [&](std::size_t i) {
                constexpr std::uint64_t is_of_file = 1ULL << 61U;
                constexpr std::uint64_t is_there = 3ULL << 62U;  // in memory, or swapped out
                return !is_known || ((states[i] & is_there) != 0 && (states[i] & is_of_file) == 0);
            };
            for (std::size_t i = 0; i < count;) {
                if (!may_have_one(i)) {
                    ++i;
                    continue;
                }
                const std::size_t run_begin = i;
                while (i < count && may_have_one(i)) ++i;
                look_at(object, std::max(address, (first + run_begin) * page_), std::min(end, (first + i) * page_));
            }
            address = (first + count) * page_;
        }
    }

    // By way of the kernel: the program may have taken the access to some pages away.
    void look_at(const dl_phdr_info& object, std::uintptr_t begin, std::uintptr_t end) {
        constexpr std::size_t word_size = sizeof(std::uint64_t);
        for (std::uintptr_t address = (begin + word_size - 1) & ~std::uintptr_t{word_size - 1};
             address + words_checked * word_size <= end;) {
            const std::size_t wanted = std::min(end - address, buffer_.size() * word_size);
            const iovec local{buffer_.data(), wanted};
            const iovec remote{reinterpret_cast<void*>(address), wanted};
            const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
            const std::size_t count = got <= 0 ? 0 : static_cast<std::size_t>(got) / word_size;
            if (count < words_checked) {  // pages without access
                address = (address & ~(page_ - 1)) + page_;
                continue;
            }
            const std::size_t last = count - words_checked;
            for (std::size_t i = 0; i <= last; ++i) {
                if (buffer_[i + callbacks_size] != sizeof(NvtxExportTableCallbacks) ||
                    buffer_[i + version_size] != sizeof(NvtxExportTableVersionInfo) ||
                    buffer_[i + version] != NVTX_VERSION) {
                    continue;
                }
                words copied{};
                std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(i), words_checked, copied.begin());
                if (!is_without_tool(copied, object)) continue;
                found.push_back({name_of(object), attach(address + i * word_size, copied[get_module_function_table])});
            }
            address += (last + 1) * word_size;
        }
    }

    const std::uintptr_t page_ = getauxval(AT_PAGESZ);
    own_descriptor page_states_;  // /proc/self/pagemap: a word for each page
    std::vector<std::uint64_t> buffer_ = std::vector<std::uint64_t>(std::size_t{32} * 1024);
};

// The places of libprof and of the dynamic linker among the objects, in the order of their loading.
struct places {
    std::uintptr_t linker = getauxval(AT_BASE);
    int count = 0;
    int of_linker = -1;
    int of_libprof = -1;
};

int note_place(dl_phdr_info* object, std::size_t, void* argument) {
    auto& seen = *static_cast<places*>(argument);
    if (seen.linker != 0 && object->dlpi_addr == seen.linker) seen.of_linker = seen.count;
    if (has_address(*object, reinterpret_cast<std::uintptr_t>(&is_loaded_late), 0)) seen.of_libprof = seen.count;
    ++seen.count;
    return 0;
}

}  // namespace

// The libraries that are loaded at the start stand before the dynamic linker in this list, later ones after it.
bool is_loaded_late() noexcept {
    places seen;
    (void)dl_iterate_phdr(note_place, &seen);
    return seen.of_linker >= 0 && seen.of_libprof > seen.of_linker;
}

std::vector<earlier_instance> attach_to_earlier_instances() {
    search through;
    (void)dl_iterate_phdr(search::look_at, &through);
    return std::move(through.found);
}

}  // namespace prof
