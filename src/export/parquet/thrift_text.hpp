// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol, as far as Parquet's headers and footers need it: structs, lists, numbers and texts, in the
// order in which they are written. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

class thrift_text {
public:
    thrift_text() { begin_struct(); }

    // A field of the innermost open struct. REQUIRES: numbers of fields rise.
    void i32(int field, std::int32_t value) {
        header(field, type_i32);
        zigzag(value);
    }
    void i64(int field, std::int64_t value) {
        header(field, type_i64);
        zigzag(value);
    }
    void boolean(int field, bool value) { header(field, value ? type_true : type_false); }
    void text(int field, std::string_view value) {
        header(field, type_binary);
        bytes(value);
    }
    // Everything until end() is in it.
    void structure(int field) {
        header(field, type_struct);
        begin_struct();
    }
    void structures(int field, std::size_t count) { list(field, type_struct, count); }
    void i32s(int field, const std::vector<std::int32_t>& values) {
        list(field, type_i32, values.size());
        for (const std::int32_t value : values) zigzag(value);
    }
    void texts(int field, const std::vector<std::string_view>& values) {
        list(field, type_binary, values.size());
        for (const std::string_view value : values) bytes(value);
    }
    // An element of structures(), likewise until end().
    void element() { begin_struct(); }
    void end() {
        out_ += '\0';
        latest_.pop_back();
    }

    // Ends the outermost struct. REQUIRES: all others have ended.
    const std::string& finish() {
        end();
        return out_;
    }

private:
    static constexpr unsigned type_true = 1, type_false = 2, type_i32 = 5, type_i64 = 6, type_binary = 8, type_list = 9,
                              type_struct = 12;

    void begin_struct() { latest_.push_back(0); }
    void byte(unsigned value) { out_ += static_cast<char>(static_cast<unsigned char>(value)); }
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) byte(0x80U | static_cast<unsigned>(value & 0x7F));
        byte(static_cast<unsigned>(value));
    }
    void zigzag(std::int64_t value) {
        varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
    }
    void bytes(std::string_view value) {
        varint(value.size());
        out_ += value;
    }
    void header(int field, unsigned type) {
        const int after = field - latest_.back();
        if (after > 0 && after <= 15) {
            byte(static_cast<unsigned>(after) << 4 | type);
        } else {
            byte(type);
            zigzag(field);
        }
        latest_.back() = field;
    }
    void list(int field, unsigned type, std::size_t count) {
        header(field, type_list);
        if (count < 15) return byte(static_cast<unsigned>(count) << 4 | type);
        byte(0xF0U | type);
        varint(count);
    }

    std::string out_;
    std::vector<int> latest_;  // by open struct: the number of its latest field
};

}  // namespace prof
