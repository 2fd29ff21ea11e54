// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/native_stack.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "hooks/lines/table_cursor.hpp"
#include "hooks/lines/unwind_rules.hpp"

// What it reads of the stack is other functions' variables.
#define PROF_READS_ANY_STACK __attribute__((no_sanitize("address", "thread", "undefined")))

namespace prof {
namespace {

// struct dl_find_object of <dlfcn.h>, which an older glibc does not have.
struct found_module {
    unsigned long long flags = 0;
    void* begin = nullptr;
    void* end = nullptr;
    link_map* module = nullptr;
    void* header = nullptr;  // .eh_frame_hdr
    std::array<unsigned long long, 7> reserved{};
};
using find_module_function = int (*)(void* address, found_module* result);

using word = std::uint64_t;
constexpr std::size_t most_path = native_stack::most_text - 80;

// Written by prepare() while no hook reads it.
struct process_facts {
    find_module_function find_module = nullptr;
    const word* main_stack_end = nullptr;
    bool (*is_of_library)(std::string_view) noexcept = nullptr;
    std::array<char, most_path> program{};
    std::size_t program_size = 0;
    const void* own_module = nullptr;
};
constinit process_facts facts{};

// The part of this thread's stack that may be read, and where the stack ends.
struct readable_stack {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uintptr_t stack_end = 0;
};
__thread readable_stack this_stack __attribute__((tls_model("initial-exec"))) = {};

// The address alone of each page from `begin` to `end` is read by the kernel: as far as that goes there is memory.
[[gnu::cold, gnu::noinline]] std::uintptr_t end_of_memory(std::uintptr_t begin, std::uintptr_t end) noexcept {
    constexpr std::size_t most_at_once = 16;  // a thread has few pages; larger arrays would be a page more of each
    constexpr std::uintptr_t page = 4096;
    std::array<iovec, most_at_once> remote;
    std::array<char, most_at_once> copy;
    std::uintptr_t place = begin;
    while (place < end) {
        std::size_t count = 0;
        for (; count < most_at_once && place + count * page < end; ++count) {
            remote[count] = {reinterpret_cast<void*>(place + count * page), 1};  // NOLINT(performance-no-int-to-ptr)
        }
        const iovec local{copy.data(), count};
        const ssize_t done = process_vm_readv(getpid(), &local, 1, remote.data(), count, 0);
        if (done > 0) place += static_cast<std::uintptr_t>(done) * page;
        if (done < static_cast<ssize_t>(count)) break;
    }
    return std::min(end, place);
}

// The first walk of a thread, and one deeper than all before.
[[gnu::cold, gnu::noinline]] bool find_stack(std::uintptr_t stack_pointer) noexcept {
    constexpr std::uintptr_t page_mask = 4095, most_bytes = 1U << 20;
    readable_stack& stack = this_stack;
    if (stack.stack_end == 0) {
        const bool is_main = getpid() == static_cast<pid_t>(syscall(SYS_gettid));
        // A thread's storage is at the end of its stack.
        stack.stack_end = reinterpret_cast<std::uintptr_t>(is_main ? static_cast<const void*>(facts.main_stack_end)
                                                                   : static_cast<const void*>(&stack));
    }
    if (stack_pointer >= stack.stack_end) return false;
    const std::uintptr_t begin = stack_pointer & ~page_mask;
    stack.begin = begin;
    stack.end = end_of_memory(begin, std::min(stack.stack_end, begin + most_bytes));
    return stack_pointer < stack.end;
}

bool is_on_stack(std::uintptr_t address) noexcept {
    return address >= this_stack.begin && address < this_stack.end && this_stack.end - address >= sizeof(word) &&
           address % sizeof(word) == 0;
}

PROF_READS_ANY_STACK bool read_stack(std::uintptr_t address, word& out) noexcept {
    if (!is_on_stack(address)) return false;
    out = *reinterpret_cast<const volatile word*>(address);  // NOLINT(performance-no-int-to-ptr)
    return true;
}

struct machine_state {
    std::array<word, unwound_registers> registers{};
    std::uint32_t known = 0;  // a bit for each register whose value is known

    bool has(std::size_t number) const noexcept { return number < unwound_registers && (known >> number & 1U) != 0; }
    void set(std::size_t number, word value) noexcept {
        registers[number] = value;
        known |= 1U << number;
    }
    void forget(std::size_t number) noexcept { known &= ~(1U << number); }
};

// The few operations that compilers use here: for functions that align their stack, for signal frames, and for jumps
// to functions of other modules. `value` is the result.
bool evaluate(const std::uint8_t* expression, const machine_state& state, const word* first, word& value) noexcept {
    constexpr std::size_t longest = 64;
    table_cursor head(expression, expression + 2);
    const std::uint64_t size = head.number();
    if (!head.is_good() || size > longest) return false;
    table_cursor in(head.at(), head.at() + size);
    std::array<word, 8> stack{};
    std::size_t depth = 0;
    if (first != nullptr) stack[depth++] = *first;
    while (in.has_more()) {
        const auto operation = in.fixed<std::uint8_t>();
        word result = 0;
        if (operation >= 0x70 && operation <= 0x8F) {  // breg
            const std::size_t number = operation - 0x70U;
            if (!state.has(number)) return false;
            result = state.registers[number] + static_cast<word>(in.signed_number());
        } else if (operation >= 0x30 && operation <= 0x4F) {  // lit
            result = operation - 0x30U;
        } else if (operation == 0x08) {  // const1u
            result = in.fixed<std::uint8_t>();
        } else if (operation == 0x09) {  // const1s
            result = static_cast<word>(std::int64_t{in.fixed<std::int8_t>()});
        } else if (operation == 0x06 || operation == 0x23) {  // deref, plus_uconst
            if (depth == 0) return false;
            result = stack[--depth];
            if (operation == 0x23) {
                result += in.number();
            } else if (!read_stack(result, result)) {
                return false;
            }
        } else {
            if (depth < 2) return false;
            const word right = stack[--depth], left = stack[--depth];
            switch (operation) {
                case 0x1A:  // and
                    result = left & right;
                    break;
                case 0x1C:  // minus
                    result = left - right;
                    break;
                case 0x22:  // plus
                    result = left + right;
                    break;
                case 0x24:  // shl
                    result = right < 64 ? left << right : 0;
                    break;
                case 0x2A:  // ge
                    result = static_cast<std::int64_t>(left) >= static_cast<std::int64_t>(right) ? 1 : 0;
                    break;
                default:
                    return false;
            }
        }
        if (depth == stack.size()) return false;
        stack[depth++] = result;
    }
    if (!in.is_good() || depth == 0) return false;
    value = stack[depth - 1];
    return true;
}

// Goes from a frame to its caller's. False: it has none, or none that can be found.
bool apply(const unwind_rules& rules, machine_state& state) noexcept {
    using place = unwind_rules::place;
    word base = 0;
    if (rules.base_expression != nullptr) {
        if (!evaluate(rules.base_expression, state, nullptr, base)) return false;
    } else {
        if (!state.has(rules.base_register)) return false;
        base = state.registers[rules.base_register] + static_cast<word>(rules.base_offset);
    }
    // A caller's frame lies further up.
    if (base <= state.registers[stack_pointer_number] && !rules.is_signal_frame) return false;
    machine_state caller = state;
    caller.set(stack_pointer_number, base);
    for (std::size_t number = 0; number < unwound_registers; ++number) {
        const unwind_rules::rule& rule = rules.registers[number];
        const word saved = base + static_cast<word>(std::int64_t{rule.offset});
        word value = 0;
        switch (rule.where) {
            case place::same:
                continue;
            case place::lost:
                caller.forget(number);
                continue;
            case place::at_base:
                if (!read_stack(saved, value)) return false;
                break;
            case place::is_base:
                value = saved;
                break;
            case place::in_another:
                if (!state.has(static_cast<std::size_t>(rule.offset))) {
                    caller.forget(number);
                    continue;
                }
                value = state.registers[static_cast<std::size_t>(rule.offset)];
                break;
            case place::at_result:
            case place::is_result:
                if (!evaluate(rule.expression, state, &base, value)) return false;
                if (rule.where == place::at_result && !read_stack(value, value)) return false;
                break;
        }
        caller.set(number, value);
    }
    const bool has_caller = rules.registers[return_address_number].where != place::same &&
                            caller.has(return_address_number) && caller.registers[return_address_number] != 0;
    state = caller;
    return has_caller;
}

// The rules of most frames, packed into a word: which of two registers the base comes from, and where the six registers
// are that a function must keep. So a frame that was seen before needs no table.
constexpr std::array<std::uint8_t, 6> kept_registers = {3, frame_pointer_number, 12, 13, 14, 15};
constexpr word of_frame_pointer = 1;
constexpr unsigned base_bits = 14, kept_bits = 8;

// 0: they do not fit.
word packed(const unwind_rules& rules) noexcept {
    using place = unwind_rules::place;
    const bool is_framed = rules.base_register == frame_pointer_number;
    const auto& return_rule = rules.registers[return_address_number];
    if (rules.base_expression != nullptr || rules.is_signal_frame ||
        (!is_framed && rules.base_register != stack_pointer_number) || return_rule.where != place::at_base ||
        return_rule.offset != -static_cast<std::int32_t>(sizeof(word)) || rules.base_offset <= 0 ||
        rules.base_offset % 8 != 0 || rules.base_offset / 8 >= std::int64_t{1} << base_bits) {
        return 0;
    }
    word out = static_cast<word>(rules.base_offset / 8) << 1 | (is_framed ? of_frame_pointer : 0);
    unsigned shift = 1 + base_bits;
    for (std::size_t number = 0; number < return_address_number; ++number) {
        const auto kept = std::find(kept_registers.begin(), kept_registers.end(), number);
        const unwind_rules::rule& rule = rules.registers[number];
        if (kept == kept_registers.end()) {
            if (rule.where != place::same && number != stack_pointer_number) return 0;
            continue;
        }
        word value = 0;
        if (rule.where == place::at_base) {
            if (rule.offset >= 0 || rule.offset % 8 != 0 || rule.offset < -8 * 255) return 0;
            value = static_cast<word>(-rule.offset / 8);
        } else if (rule.where != place::same) {
            return 0;
        }
        out |= value << shift;
        shift += kept_bits;
    }
    return out;
}

bool apply_packed(word rules, machine_state& state) noexcept {
    const std::size_t source = (rules & of_frame_pointer) != 0 ? frame_pointer_number : stack_pointer_number;
    if (!state.has(source)) return false;
    const word base = state.registers[source] + (rules >> 1 & ((word{1} << base_bits) - 1)) * 8;
    if (base <= state.registers[stack_pointer_number]) return false;
    word caller = 0;
    if (!read_stack(base - sizeof(word), caller) || caller == 0) return false;
    rules >>= 1 + base_bits;
    for (const std::uint8_t number : kept_registers) {
        const word place = rules & ((word{1} << kept_bits) - 1);
        rules >>= kept_bits;
        if (place == 0) continue;
        word value = 0;
        if (!read_stack(base - place * 8, value)) return false;
        state.set(number, value);
    }
    state.set(stack_pointer_number, base);
    state.set(return_address_number, caller);
    return true;
}

// What was found of addresses before. An entry holds its words so that one which another thread has written half of
// is none.
struct known_rules {
    std::atomic<word> key{0};
    std::atomic<word> rules{0};
};
constexpr std::size_t known_count = 4096;
constinit std::array<known_rules, known_count> known{};

// Of modules: whether they are a library.
constexpr std::size_t known_modules = 64;
constinit std::array<std::atomic<word>, known_modules> library_modules{};

word mixed(word value) noexcept {
    value *= 0x9E37'79B9'7F4A'7C15U;
    return value ^ value >> 32;
}

std::string_view path_of(const link_map* module) noexcept {
    if (module == nullptr || module->l_name == nullptr || module->l_name[0] == 0) {
        return {facts.program.data(), facts.program_size};
    }
    return {module->l_name, strnlen(module->l_name, most_path)};
}

bool is_of_library(const found_module& found) noexcept {
    const word identity = mixed(reinterpret_cast<word>(found.module) ^ mixed(reinterpret_cast<word>(found.begin)));
    std::atomic<word>& place = library_modules[identity % known_modules];
    const word seen = place.load(std::memory_order_relaxed);  // an entry is complete in itself
    constexpr word all_but_last = ~word{1};
    if (seen != 0 && (seen & all_but_last) == (identity & all_but_last)) return (seen & 1) != 0;
    const bool out = found.module == facts.own_module || facts.is_of_library(path_of(found.module));
    place.store((identity & all_but_last) | (out ? 1 : 0), std::memory_order_relaxed);
    return out;
}

bool step(const found_module& found, std::uintptr_t instruction, machine_state& state, bool& is_interrupted) noexcept {
    const word identity = mixed(instruction ^ mixed(reinterpret_cast<word>(found.module)) ^
                                mixed(reinterpret_cast<word>(found.begin) + 1));
    known_rules& place = known[identity % known_count];
    const word seen = place.rules.load(std::memory_order_relaxed);
    if (seen != 0 && (place.key.load(std::memory_order_relaxed) ^ seen) == identity) {
        is_interrupted = false;
        return apply_packed(seen, state);
    }
    unwind_rules rules;
    const auto* const begin = static_cast<const std::byte*>(found.begin);
    const auto size = static_cast<std::size_t>(static_cast<const std::byte*>(found.end) - begin);
    if (!find_unwind_rules(static_cast<const std::byte*>(found.header), {begin, size}, instruction, rules)) {
        return false;
    }
    is_interrupted = rules.is_signal_frame;
    if (const word fits = packed(rules); fits != 0) {
        place.rules.store(fits, std::memory_order_relaxed);
        place.key.store(identity ^ fits, std::memory_order_relaxed);
    }
    return apply(rules, state);
}

}  // namespace

bool native_stack::prepare(bool (*is_of_library)(std::string_view) noexcept) noexcept {
#if defined(__x86_64__)
    void* const find = dlsym(RTLD_DEFAULT, "_dl_find_object");
    void* const* const end = static_cast<void* const*>(dlsym(RTLD_DEFAULT, "__libc_stack_end"));
    if (find == nullptr || end == nullptr) return false;
    facts.find_module = reinterpret_cast<find_module_function>(find);
    facts.main_stack_end = static_cast<const word*>(*end);
    facts.is_of_library = is_of_library;
    found_module own;
    if (facts.find_module(reinterpret_cast<void*>(&native_stack::walk), &own) == 0) facts.own_module = own.module;
    const ssize_t size = readlink("/proc/self/exe", facts.program.data(), facts.program.size());
    facts.program_size = size < 0 ? 0 : static_cast<std::size_t>(size);
    return true;
#else
    (void)is_of_library;
    return false;
#endif
}

namespace {

#if defined(__x86_64__)
// Visits the frames of this thread outside libprof, the innermost first, until `visit(frame, module)` returns false.
// Its caller must not be inlined: the registers are read here.
template <typename TVisit>
[[gnu::always_inline]] inline void visit_frames(TVisit&& visit) noexcept {
    machine_state state;
    word* const registers = state.registers.data();
    asm volatile(
        "movq %%rbx, 24(%0)\n\t"
        "movq %%rbp, 48(%0)\n\t"
        "movq %%rsp, 56(%0)\n\t"
        "movq %%r12, 96(%0)\n\t"
        "movq %%r13, 104(%0)\n\t"
        "movq %%r14, 112(%0)\n\t"
        "movq %%r15, 120(%0)\n\t"
        "leaq 0(%%rip), %%rax\n\t"
        "movq %%rax, 128(%0)\n\t"
        :
        : "r"(registers)
        : "rax", "memory");
    for (const std::uint8_t number : kept_registers) state.known |= 1U << number;
    state.known |= 1U << stack_pointer_number | 1U << return_address_number;
    const std::uintptr_t stack_pointer = state.registers[stack_pointer_number];
    if ((stack_pointer < this_stack.begin || stack_pointer >= this_stack.end) && !find_stack(stack_pointer)) return;
    constexpr std::uint32_t most_frames = 128;
    std::uint32_t depth = 0;
    bool is_inside_us = true;
    bool is_exact = true;  // the address is that of the instruction itself, and not of the one behind a call
    for (std::uint32_t i = 0; i < most_frames; ++i) {
        const std::uintptr_t instruction = state.registers[return_address_number] - (is_exact ? 0 : 1);
        found_module found;
        if (facts.find_module(reinterpret_cast<void*>(instruction), &found) != 0) break;  // NOLINT
        if (found.module != facts.own_module) is_inside_us = false;
        if (!is_inside_us) {
            const native_frame frame{.index = depth++,
                                     .offset = instruction - (found.module == nullptr ? 0 : found.module->l_addr),
                                     .module = found.module,
                                     .memory = {static_cast<const std::byte*>(found.begin),
                                                static_cast<std::size_t>(static_cast<const std::byte*>(found.end) -
                                                                         static_cast<const std::byte*>(found.begin))}};
            if (!visit(frame, found)) break;
        }
        if (found.header == nullptr || !step(found, instruction, state, is_exact)) break;
    }
}
#endif

}  // namespace

[[gnu::noinline]] std::span<const native_frame> native_stack::walk(std::span<native_frame> out,
                                                                   std::uint32_t& depth) noexcept {
    depth = 0;
    std::size_t count = 0;
#if defined(__x86_64__)
    std::size_t own = 0;
    native_frame called;  // by the present one
    visit_frames([&](native_frame frame, const found_module& found) {
        if (own + 1 >= out.size()) return false;
        depth = frame.index + 1;
        frame.is_library = is_of_library(found);
        if (!frame.is_library) {
            if (own++ == 0 && called.module != nullptr) out[count++] = called;
            out[count++] = frame;
        }
        called = frame;
        return true;
    });
#else
    (void)out;
#endif
    return {out.data(), count};
}

[[gnu::noinline]] bool native_stack::find(native_frame& out,
                                          bool (*skips)(const void* module, std::string_view path) noexcept) noexcept {
    bool is_found = false;
#if defined(__x86_64__)
    visit_frames([&](const native_frame& frame, const found_module& found) {
        if (found.module == facts.own_module || skips(found.module, path_of(found.module))) return true;
        out = frame;
        is_found = true;
        return false;
    });
#else
    (void)out;
    (void)skips;
#endif
    return is_found;
}

const void* native_stack::module_at(const void* address) noexcept {
    found_module found;
    return facts.find_module(const_cast<void*>(address), &found) == 0 ? found.module : nullptr;
}

std::string_view native_stack::module_of(const native_frame& frame, std::array<char, most_text>& out) noexcept {
    std::size_t size = 0;
    const std::span<const std::byte> memory = frame.memory;
    const auto contains = [&](std::size_t offset, std::size_t bytes) {
        return offset <= memory.size() && bytes <= memory.size() - offset;
    };
    Elf64_Ehdr head{};
    if (contains(0, sizeof head)) std::memcpy(&head, memory.data(), sizeof head);
    const bool is_elf = std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_phentsize == sizeof(Elf64_Phdr);
    const auto* const module = static_cast<const link_map*>(frame.module);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    constexpr std::size_t first_page = 4096;
    for (std::size_t i = 0; is_elf && module != nullptr && i < head.e_phnum && size == 0; ++i) {
        Elf64_Phdr part{};
        const std::size_t start = head.e_phoff + i * sizeof part;
        if (start + sizeof part > first_page || !contains(start, sizeof part)) break;
        std::memcpy(&part, memory.data() + start, sizeof part);
        const std::size_t place = module->l_addr + part.p_vaddr - begin;
        if (part.p_type != PT_NOTE || !contains(place, part.p_memsz)) continue;
        const std::byte* note = memory.data() + place;
        for (std::size_t left = part.p_memsz; left >= sizeof(Elf64_Nhdr);) {
            Elf64_Nhdr title{};
            std::memcpy(&title, note, sizeof title);
            const std::size_t name = (std::size_t{title.n_namesz} + 3) & ~std::size_t{3};
            const std::size_t text = (std::size_t{title.n_descsz} + 3) & ~std::size_t{3};
            if (sizeof title + name + text > left) break;
            constexpr std::size_t most_id = 32;
            if (title.n_type == NT_GNU_BUILD_ID && title.n_namesz == 4 && title.n_descsz <= most_id &&
                std::memcmp(note + sizeof title, "GNU", 4) == 0) {
                constexpr std::string_view digits = "0123456789abcdef";
                for (std::size_t k = 0; k < title.n_descsz; ++k) {
                    const auto byte = std::to_integer<unsigned>(note[sizeof title + name + k]);
                    out[size++] = digits[byte >> 4];
                    out[size++] = digits[byte & 15U];
                }
                break;
            }
            note += sizeof title + name + text;
            left -= sizeof title + name + text;
        }
    }
    out[size++] = '\n';
    const std::string_view path = path_of(module);
    std::copy(path.begin(), path.end(), out.begin() + static_cast<std::ptrdiff_t>(size));
    return {out.data(), size + path.size()};
}

}  // namespace prof
