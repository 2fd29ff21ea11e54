// SPDX-License-Identifier: Apache-2.0
// Converts NVTX's event attributes to a record. Used by the NVTX hooks only. The cost is that of reading the fields,
// and of interning the message unless it is a registered string.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hooks/nvtx/nvtx_types.hpp"
#include "hooks/nvtx/payload_schemas.hpp"
#include "record/record.hpp"
#include "ring/producer.hpp"
#include "ring/region.hpp"

namespace prof {

// NVTX handles carry libprof's numbers: a domain its index, a registered string its name id.
inline std::uint32_t number_of(const void* handle) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}
template <typename THandle>
THandle handle_of(std::uint32_t number) noexcept {
    return reinterpret_cast<THandle>(static_cast<std::uintptr_t>(number));
}

// wchar_t text as UTF-8, in a buffer inside the object; a longer text is cut at a character.
class narrow_text {
public:
    explicit narrow_text(const wchar_t* wide) noexcept;
    std::string_view view() const noexcept { return {bytes_.data(), size_}; }

private:
    std::array<char, 4096> bytes_;
    std::size_t size_ = 0;
};

// keep_text() is for labels. intern_text() is for registered strings; these are stored like range names once there is
// no room for kept names.
std::uint32_t keep_text(region& where, const char* text) noexcept;
std::uint32_t keep_text(region& where, const wchar_t* text) noexcept;
std::uint32_t intern_text(region& where, const char* text) noexcept;
std::uint32_t intern_text(region& where, const wchar_t* text) noexcept;

// The same, for a thread that records.
inline std::uint32_t name_of(producer& thread, const char* text) noexcept { return thread.name_of(text); }
inline std::uint32_t name_of(producer& thread, const wchar_t* text) noexcept {
    return thread.intern(narrow_text{text}.view());
}

// Fills `value` and `flags` from the first number of bytes in extended payloads. If `names` is not null, also fills the
// name of a record without one from the first message in them. REQUIRES: out.domain is set.
void fill_from_payloads(producer* names, const nvtxPayloadData_t* payloads, std::size_t count, record& out) noexcept;

// Fills name, category, color, value and flags. If the attribute struct has an unknown size the record has no name.
// REQUIRES: out.domain is set.
void fill_from_attributes(producer& thread, const nvtxEventAttributes_t& event, record& out) noexcept;

}  // namespace prof
