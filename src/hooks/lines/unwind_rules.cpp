// SPDX-License-Identifier: Apache-2.0
#include "hooks/lines/unwind_rules.hpp"

#include <algorithm>

#include "hooks/lines/table_cursor.hpp"

namespace prof {
namespace {

// How pointers are written (DW_EH_PE_*).
constexpr std::uint8_t format_mask = 0x0F;
constexpr std::uint8_t absolute = 0x00, unsigned_4 = 0x03, signed_4 = 0x0B, signed_8 = 0x0C, unsigned_8 = 0x04;
constexpr std::uint8_t relation_mask = 0x70;
constexpr std::uint8_t to_itself = 0x10, to_header = 0x30;

std::uintptr_t address_of(const std::uint8_t* place) noexcept { return reinterpret_cast<std::uintptr_t>(place); }

// A pointer that is absolute, or relative to where it stands.
std::uintptr_t read_pointer(table_cursor& in, std::uint8_t encoding) noexcept {
    const std::uintptr_t place = address_of(in.at());
    std::uint64_t value = 0;
    switch (encoding & format_mask) {
        case absolute:
        case unsigned_8:
        case signed_8:
            value = in.fixed<std::uint64_t>();
            break;
        case unsigned_4:
            value = in.fixed<std::uint32_t>();
            break;
        case signed_4:
            value = static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int32_t>()});
            break;
        default:
            in.fail();
    }
    const std::uint8_t relation = encoding & relation_mask;
    if (relation == to_itself) value += place;
    if (relation != to_itself && relation != 0) in.fail();
    return value;
}

// What the entries of functions of one kind have in common.
struct common_entry {
    std::uint64_t code_unit = 1;
    std::int64_t data_unit = 1;
    std::uint8_t pointers = absolute;
    bool has_augmentation = false;
    bool is_signal_frame = false;
    const std::uint8_t* program = nullptr;
    const std::uint8_t* end = nullptr;
};

class table_reader {
public:
    explicit table_reader(std::span<const std::byte> module) noexcept
        : begin_(reinterpret_cast<const std::uint8_t*>(module.data())), end_(begin_ + module.size()) {}

    bool find(const std::uint8_t* header, std::uintptr_t instruction, unwind_rules& out) noexcept {
        if (header < begin_ || header >= end_) return false;
        const std::uint8_t* const entry = search(header, instruction);
        if (entry == nullptr || entry < begin_ || entry >= end_) return false;
        return run_entry(entry, instruction, out);
    }

private:
    // The entry of the last function that begins at or before the instruction, by the header's sorted table.
    static const std::uint8_t* search(const std::uint8_t* header, std::uintptr_t instruction) noexcept {
        constexpr std::uint8_t version = 1, usual_count = unsigned_4, usual_table = to_header | signed_4;
        constexpr std::size_t head_size = 12;  // with the pointer to .eh_frame, of 4 bytes, and the count
        struct row {
            std::int32_t function;
            std::int32_t entry;
        };
        const bool is_usual = header[0] == version && (header[1] & format_mask) == signed_4 &&
                              header[2] == usual_count && header[3] == usual_table;
        if (!is_usual) return nullptr;
        std::uint32_t count = 0;
        std::memcpy(&count, header + 8, sizeof count);
        const auto row_at = [&](std::size_t index) {
            row out{};
            std::memcpy(&out, header + head_size + index * sizeof out, sizeof out);
            return out;
        };
        const auto wanted = static_cast<std::int64_t>(instruction - address_of(header));
        std::size_t first = 0;
        for (std::size_t left = count; left > 0;) {
            const std::size_t half = left / 2;
            if (row_at(first + half).function <= wanted) {
                first += half + 1;
                left -= half + 1;
            } else {
                left = half;
            }
        }
        return first == 0 ? nullptr : header + row_at(first - 1).entry;
    }

    // The bytes of an entry behind its length; empty if it has none.
    std::span<const std::uint8_t> entry_at(const std::uint8_t* entry) const noexcept {
        table_cursor in(entry, end_);
        const auto size = in.fixed<std::uint32_t>();
        constexpr std::uint32_t long_form = 0xFFFF'FFFF;
        if (!in.is_good() || size == long_form || size > static_cast<std::size_t>(end_ - in.at())) return {};
        return {in.at(), size};
    }

    bool read_common(const std::uint8_t* entry, common_entry& out) const noexcept {
        if (entry < begin_ || entry >= end_) return false;
        const std::span<const std::uint8_t> bytes = entry_at(entry);
        table_cursor in(bytes.data(), bytes.data() + bytes.size());
        if (in.fixed<std::uint32_t>() != 0) return false;  // it is no common entry
        const auto version = in.fixed<std::uint8_t>();
        if (version != 1 && version != 3) return false;
        const std::uint8_t* const letters = in.at();
        while (in.fixed<std::uint8_t>() != 0) {
        }
        out.code_unit = in.number();
        out.data_unit = in.signed_number();
        const std::uint64_t return_register = version == 1 ? in.fixed<std::uint8_t>() : in.number();
        if (!in.is_good() || return_register != return_address_number) return false;
        out.has_augmentation = letters[0] == 'z';
        if (!out.has_augmentation && letters[0] != 0) return false;
        const std::uint64_t more = out.has_augmentation ? in.number() : 0;
        table_cursor of_letters = in;
        in.skip(more);
        for (const std::uint8_t* letter = letters + 1; out.has_augmentation && *letter != 0; ++letter) {
            if (*letter == 'R') {
                out.pointers = of_letters.fixed<std::uint8_t>();
            } else if (*letter == 'L') {
                of_letters.fixed<std::uint8_t>();
            } else if (*letter == 'P') {
                const auto encoding = of_letters.fixed<std::uint8_t>();
                read_pointer(of_letters, encoding & format_mask);
            } else if (*letter == 'S') {
                out.is_signal_frame = true;
            } else {
                return false;
            }
        }
        out.program = in.at();
        out.end = bytes.data() + bytes.size();
        return in.is_good() && of_letters.is_good();
    }

    bool run_entry(const std::uint8_t* entry, std::uintptr_t instruction, unwind_rules& out) const noexcept {
        const std::span<const std::uint8_t> bytes = entry_at(entry);
        table_cursor in(bytes.data(), bytes.data() + bytes.size());
        const std::uint8_t* const start = in.at();
        const auto back = in.fixed<std::uint32_t>();
        common_entry common;
        if (back == 0 || !read_common(start - back, common)) return false;
        const std::uintptr_t begin = read_pointer(in, common.pointers);
        const std::uintptr_t size = read_pointer(in, common.pointers & format_mask);
        if (!in.is_good() || instruction < begin || instruction - begin >= size) return false;
        if (common.has_augmentation) in.skip(in.number());
        out = {};
        out.is_signal_frame = common.is_signal_frame;
        std::uintptr_t position = 0;  // none of the common program is for a place
        if (!run(common, {common.program, common.end}, position, UINTPTR_MAX, out, nullptr)) return false;
        const unwind_rules initial = out;
        position = begin;
        return in.is_good() &&
               run(common, {in.at(), bytes.data() + bytes.size()}, position, instruction, out, &initial);
    }

    // Runs a program as far as `until`, an instruction. False: something of it is not understood.
    static bool run(const common_entry& common, table_cursor in, std::uintptr_t position, std::uintptr_t until,
                    unwind_rules& out, const unwind_rules* initial) noexcept {
        using place = unwind_rules::place;
        constexpr std::size_t most_remembered = 6;
        std::array<unwind_rules, most_remembered> remembered;
        std::size_t depth = 0;
        const auto set = [&](std::uint64_t number, place where, std::int64_t offset = 0,
                             const std::uint8_t* expression = nullptr) {
            if (number < unwound_registers) {
                out.registers[number] = {where, static_cast<std::int32_t>(offset), expression};
            }
        };
        const auto set_base = [&](std::uint64_t number, std::int64_t offset) {
            out.base_register = static_cast<std::uint8_t>(std::min<std::uint64_t>(number, UINT8_MAX));
            out.base_offset = offset;
            out.base_expression = nullptr;
        };
        const auto units = [&] { return static_cast<std::int64_t>(in.number()) * common.data_unit; };
        const auto signed_units = [&] { return in.signed_number() * common.data_unit; };
        const auto skip_expression = [&] {
            const std::uint8_t* const expression = in.at();
            in.skip(in.number());
            return expression;
        };
        while (in.has_more()) {
            const auto operation = in.fixed<std::uint8_t>();
            const std::uint8_t low = operation & 0x3F;
            std::uint64_t step = 0;
            switch (operation >> 6) {
                case 1:
                    step = low;
                    break;
                case 2:
                    set(low, place::at_base, units());
                    continue;
                case 3:
                    if (initial == nullptr) return false;
                    if (low < unwound_registers) out.registers[low] = initial->registers[low];
                    continue;
                default:
                    break;
            }
            if (operation >> 6 == 0) switch (operation) {
                    case 0x00:  // nop
                        continue;
                    case 0x01:  // set_loc
                        position = read_pointer(in, common.pointers);
                        if (position > until) return in.is_good();
                        continue;
                    case 0x02:  // advance_loc1, 2 and 4
                        step = in.fixed<std::uint8_t>();
                        break;
                    case 0x03:
                        step = in.fixed<std::uint16_t>();
                        break;
                    case 0x04:
                        step = in.fixed<std::uint32_t>();
                        break;
                    case 0x05: {  // offset_extended
                        const std::uint64_t number = in.number();
                        set(number, place::at_base, units());
                        continue;
                    }
                    case 0x06: {  // restore_extended
                        const std::uint64_t number = in.number();
                        if (initial == nullptr) return false;
                        if (number < unwound_registers) out.registers[number] = initial->registers[number];
                        continue;
                    }
                    case 0x07:  // undefined
                        set(in.number(), place::lost);
                        continue;
                    case 0x08:  // same_value
                        set(in.number(), place::same);
                        continue;
                    case 0x09: {  // register
                        const std::uint64_t number = in.number();
                        set(number, place::in_another, static_cast<std::int64_t>(in.number()));
                        continue;
                    }
                    case 0x0A:  // remember_state
                        if (depth == most_remembered) return false;
                        remembered[depth++] = out;
                        continue;
                    case 0x0B:  // restore_state
                        if (depth == 0) return false;
                        out = remembered[--depth];
                        continue;
                    case 0x0C: {  // def_cfa
                        const std::uint64_t number = in.number();
                        set_base(number, static_cast<std::int64_t>(in.number()));
                        continue;
                    }
                    case 0x0D:  // def_cfa_register
                        set_base(in.number(), out.base_offset);
                        continue;
                    case 0x0E:  // def_cfa_offset
                        out.base_offset = static_cast<std::int64_t>(in.number());
                        continue;
                    case 0x0F:  // def_cfa_expression
                        out.base_expression = skip_expression();
                        continue;
                    case 0x10: {  // expression
                        const std::uint64_t number = in.number();
                        set(number, place::at_result, 0, skip_expression());
                        continue;
                    }
                    case 0x11: {  // offset_extended_sf
                        const std::uint64_t number = in.number();
                        set(number, place::at_base, signed_units());
                        continue;
                    }
                    case 0x12: {  // def_cfa_sf
                        const std::uint64_t number = in.number();
                        set_base(number, signed_units());
                        continue;
                    }
                    case 0x13:  // def_cfa_offset_sf
                        out.base_offset = signed_units();
                        continue;
                    case 0x14: {  // val_offset
                        const std::uint64_t number = in.number();
                        set(number, place::is_base, units());
                        continue;
                    }
                    case 0x15: {  // val_offset_sf
                        const std::uint64_t number = in.number();
                        set(number, place::is_base, signed_units());
                        continue;
                    }
                    case 0x16: {  // val_expression
                        const std::uint64_t number = in.number();
                        set(number, place::is_result, 0, skip_expression());
                        continue;
                    }
                    case 0x2E:  // GNU_args_size
                        in.number();
                        continue;
                    default:
                        return false;
                }
            position += step * common.code_unit;
            if (position > until) return in.is_good();
        }
        return in.is_good();
    }

    const std::uint8_t* begin_;
    const std::uint8_t* end_;
};

}  // namespace

bool find_unwind_rules(const std::byte* header, std::span<const std::byte> module, std::uintptr_t instruction,
                       unwind_rules& out) noexcept {
    return table_reader(module).find(reinterpret_cast<const std::uint8_t*>(header), instruction, out);
}

}  // namespace prof
