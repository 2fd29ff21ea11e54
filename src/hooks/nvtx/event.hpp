// From NVTX's event attributes to a record. Used by the NVTX hooks only; no cost beyond the fields read, plus interning
// the message if it is no registered string.
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

// NVTX handles carry our numbers: domains their index, registered strings their name id.
inline std::uint32_t number_of(const void* handle) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}
template <typename THandle>
THandle handle_of(std::uint32_t number) noexcept {
    return reinterpret_cast<THandle>(static_cast<std::uintptr_t>(number));
}

// wchar_t text as UTF-8, in place; longer texts are cut at a character.
class narrow_text {
public:
    explicit narrow_text(const wchar_t* wide) noexcept;
    std::string_view view() const noexcept { return {bytes_.data(), size_}; }

private:
    std::array<char, 4096> bytes_;
    std::size_t size_ = 0;
};

// For labels; and for registered strings, which are range names where there is no more room for what is kept.
std::uint32_t keep_text(region& where, const char* text) noexcept;
std::uint32_t keep_text(region& where, const wchar_t* text) noexcept;
std::uint32_t intern_text(region& where, const char* text) noexcept;
std::uint32_t intern_text(region& where, const wchar_t* text) noexcept;

// The same, for a thread that records.
inline std::uint32_t name_of(producer& thread, const char* text) noexcept { return thread.name_of(text); }
inline std::uint32_t name_of(producer& thread, const wchar_t* text) noexcept {
    return thread.intern(narrow_text{text}.view());
}

// REQUIRES: out.domain is set. Of extended payloads the first number of bytes (value and flags) and, if `names` is
// not null, the first message for a record that has no name yet.
void fill_from_payloads(producer* names, const nvtxPayloadData_t* payloads, std::size_t count, record& out) noexcept;

// REQUIRES: out.domain is set. Fills name, category, color, value and flags. An attribute struct of an unknown size
// gives a nameless record.
void fill_from_attributes(producer& thread, const nvtxEventAttributes_t& event, record& out) noexcept;

}  // namespace prof
