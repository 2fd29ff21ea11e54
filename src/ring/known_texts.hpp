// What one thread knows of texts by their address: a small table in front of the name table.
//
// A look costs one byte of the index and one entry. Entries stand in the order in which their texts were met first,
// four to a cache line: the kernels of a training step are launched in the same order again and again, each long after
// the other, and what stands together is fetched together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace prof {

class known_texts {
public:
    struct entry {
        const char* text = nullptr;
        std::uint32_t name = 0;  // 0: it found no place in the name table
        std::uint32_t length : 31 = 0;
        std::uint32_t is_symbol : 1 = 0;  // the bytes need not be compared (producer::symbol_of)
    };
    static constexpr std::size_t limit = 240;
    static constexpr std::uint32_t patience = 1024;

    // Null if it is not known.
    entry* find(const char* text) noexcept {
        for (std::size_t at = place_of(text);; at = (at + 1) % index_.size()) {
            if (index_[at] == 0) return nullptr;
            if (entries_[index_[at] - 1U].text == text) return &entries_[index_[at] - 1U];
        }
    }

    // REQUIRES: find() did not find `what.text`. A full table takes no more at first: of somewhat more texts than it
    // has room for, met again and again in turn, most stay known. After `patience` that found no room it begins anew.
    void add(const entry& what) noexcept {
        if (count_ == limit) {
            if (++refused_ < patience) return;
            *this = known_texts{};
        }
        std::size_t at = place_of(what.text);
        while (index_[at] != 0) at = (at + 1) % index_.size();
        entries_[count_] = what;
        index_[at] = static_cast<std::uint8_t>(++count_);
    }

    std::span<entry> all() noexcept { return {entries_.data(), count_}; }

private:
    static std::size_t place_of(const char* text) noexcept {
        // Multiplied, since literals lie a few bytes apart and kernels' symbols pages: the top bits have all of them.
        return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(text) * 0x9E3779B97F4A7C15U) >> 55);
    }

    alignas(64) std::array<std::uint8_t, 512> index_{};  // entry's number + 1; 0: none. Never more than half full
    std::array<entry, limit> entries_{};
    std::uint32_t count_ = 0;
    std::uint32_t refused_ = 0;
};

}  // namespace prof
