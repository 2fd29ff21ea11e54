// SPDX-License-Identifier: Apache-2.0
// The functions of a program or library, by its table of symbols: of an ELF file of 64 bits. Anything in it may be
// damaged. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace prof {

class object_file {
public:
    explicit object_file(const std::string& path);
    ~object_file();
    object_file(const object_file&) = delete;
    object_file& operator=(const object_file&) = delete;

    bool is_good() const noexcept { return !bytes_.empty(); }
    const std::string& build_id() const noexcept { return build_id_; }  // in hexadecimal; "": it has none
    // Whether it has debug information about lines, or names a file that may have it.
    bool may_have_lines() const;
    // The C++ name of the function around an address; "" if none is known. Linear in the symbols.
    std::string function_at(std::uint64_t address) const;

private:
    template <typename TRead>
    bool read(std::uint64_t offset, TRead& out) const noexcept;
    std::string_view text_at(std::uint64_t offset) const noexcept;
    template <typename TVisit>
    void for_each_section(TVisit&& visit) const;
    void find_build_id();

    std::span<const std::byte> bytes_;
    std::string build_id_;
};

}  // namespace prof
