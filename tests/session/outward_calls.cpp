// SPDX-License-Identifier: Apache-2.0
#include "session/outward_calls.hpp"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

namespace prof::test {
namespace {

struct imported {
    const char* name = nullptr;
    void* function = nullptr;
};
constexpr std::size_t most_functions = 2048;
std::array<imported, most_functions> functions;
std::size_t function_count = 0;

struct noted {
    const char* where = nullptr;
    const char* name = nullptr;
    pid_t thread = 0;
};
std::array<noted, 4096> calls;
std::atomic<std::size_t> call_count{0};
std::atomic<const char*> watched_place{nullptr};

// Memory, texts, and the clock, which the kernel maps into the process; the thread's own storage and state.
constexpr std::string_view harmless[] = {
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "memchr",
    "strlen",
    "strnlen",
    "strcmp",
    "strncmp",
    "strchr",
    "strrchr",
    "wcslen",
    "wmemchr",
    "wcsnlen",
    "clock_gettime",
    "__tls_get_addr",
    "__errno_location",
    "pthread_getspecific",
    "pthread_setcancelstate",
    "pthread_self",
    "memmem",
    // Where a thread's stack may be read is asked once for each thread, at its first call that takes long.
    "getpid",
    "process_vm_readv",
};

// The library's own threads have names, and live on. A new thread has none of its own yet.
bool is_librarys_own(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
    std::string name;
    return std::getline(file, name) && name.starts_with("prof-");
}

#if defined(__x86_64__)

extern "C" [[gnu::used]] void* prof_test_check_call(std::uint64_t index) {
    const imported& called = functions[index];
    const char* const where = watched_place.load();
    if (where == nullptr) return called.function;
    if (std::find(std::begin(harmless), std::end(harmless), called.name) != std::end(harmless)) return called.function;
    const std::size_t place = call_count.fetch_add(1);
    if (place < calls.size()) calls[place] = {where, called.name, static_cast<pid_t>(syscall(SYS_gettid))};
    return called.function;
}

// A stub pushes its function's index and comes here. Every register that may hold an argument is kept, and the function
// is jumped to, so that it returns to its caller.
extern "C" void prof_test_call_gate();
asm(R"(
.text
.type prof_test_call_gate, @function
prof_test_call_gate:
    pushq %rax
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %r10
    subq $128, %rsp
    movups %xmm0, 0(%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movq 192(%rsp), %rdi
    call prof_test_check_call
    movq %rax, 192(%rsp)
    movups 0(%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    addq $128, %rsp
    popq %r10
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    popq %rax
    popq %r11
    jmp *%r11
.size prof_test_call_gate, .-prof_test_call_gate
)");

// push $index; mov $gate, %r11; jmp *%r11
constexpr std::size_t stub_bytes = 32;
void write_stub(std::uint8_t* to, std::uint32_t index) {
    const auto gate = reinterpret_cast<std::uint64_t>(&prof_test_call_gate);
    *to++ = 0x68;
    std::memcpy(to, &index, 4);
    to += 4;
    *to++ = 0x49;
    *to++ = 0xBB;
    std::memcpy(to, &gate, 8);
    to += 8;
    *to++ = 0x41;
    *to++ = 0xFF;
    *to++ = 0xE3;
}

struct relocations {
    const ElfW(Rela) * first = nullptr;
    std::size_t count = 0;
};

void replace(const dl_phdr_info& object, const relocations& in, const ElfW(Sym) * symbols, const char* texts,
             std::uint8_t* stubs) {
    for (std::size_t i = 0; i < in.count; ++i) {
        const ElfW(Rela)& each = in.first[i];
        const auto type = ELF64_R_TYPE(each.r_info);
        const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(each.r_info)];
        const bool is_pointer = type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
        if (!is_pointer || symbol.st_shndx != SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
        void** const slot = reinterpret_cast<void**>(object.dlpi_addr + each.r_offset);
        if (*slot == nullptr) continue;  // a weak symbol that nobody defines
        if (function_count == most_functions) std::abort();
        functions[function_count] = {texts + symbol.st_name, *slot};
        std::uint8_t* const stub = stubs + function_count * stub_bytes;
        write_stub(stub, static_cast<std::uint32_t>(function_count++));
        *slot = stub;
    }
}

void make_writable(const dl_phdr_info& object) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object.dlpi_phdr[i];
        if (part.p_type != PT_GNU_RELRO) continue;
        const std::uintptr_t begin = (object.dlpi_addr + part.p_vaddr) / page * page;
        const std::uintptr_t end = object.dlpi_addr + part.p_vaddr + part.p_memsz;
        if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0) std::abort();
    }
}

int watch(dl_phdr_info* object, std::size_t, void* file) {
    const std::string_view path = object->dlpi_name;
    if (!path.ends_with(static_cast<const char*>(file))) return 0;
    const ElfW(Dyn)* entry = nullptr;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        if (part.p_type == PT_DYNAMIC) {
            entry = reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + part.p_vaddr);
        }
    }
    relocations calls_of;
    relocations data;
    const ElfW(Sym)* symbols = nullptr;
    const char* texts = nullptr;
    for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        const auto address = entry->d_un.d_ptr;
        switch (entry->d_tag) {
            case DT_JMPREL:
                calls_of.first = reinterpret_cast<const ElfW(Rela)*>(address);
                break;
            case DT_PLTRELSZ:
                calls_of.count = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            case DT_RELA:
                data.first = reinterpret_cast<const ElfW(Rela)*>(address);
                break;
            case DT_RELASZ:
                data.count = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            case DT_SYMTAB:
                symbols = reinterpret_cast<const ElfW(Sym)*>(address);
                break;
            case DT_STRTAB:
                texts = reinterpret_cast<const char*>(address);
                break;
            default:
                break;
        }
    }
    void* const stubs =
        mmap(nullptr, most_functions * stub_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stubs == MAP_FAILED) std::abort();
    make_writable(*object);
    replace(*object, calls_of, symbols, texts, static_cast<std::uint8_t*>(stubs));
    replace(*object, data, symbols, texts, static_cast<std::uint8_t*>(stubs));
    if (mprotect(stubs, most_functions * stub_bytes, PROT_READ | PROT_EXEC) != 0) std::abort();
    return 1;
}

#endif

}  // namespace

int watch_outward_calls(const char* file) {
#if defined(__x86_64__)
    dl_iterate_phdr(watch, const_cast<char*>(file));
#else
    (void)file;
#endif
    return static_cast<int>(function_count);
}

void begin_watch(const char* where) { watched_place = where; }
void end_watch() { watched_place = nullptr; }

std::vector<std::string> noted_calls() {
    std::vector<std::string> out;
    const std::size_t count = std::min(call_count.load(), calls.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (is_librarys_own(calls[i].thread)) continue;
        std::string line = std::string(calls[i].where) + ": " + calls[i].name;
        if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
    }
    return out;
}

}  // namespace prof::test
