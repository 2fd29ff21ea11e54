// SPDX-License-Identifier: Apache-2.0
// One thread's cache of texts by their address, in front of the name table.
//
// A lookup reads one byte of the index and one entry. Entries are stored in the order in which their texts first came
// up, four to a cache line. The kernels of a training step are launched in the same order again and again, with long
// gaps between them. So entries that are next to each other are fetched together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace prof {

class known_texts {
public:
    struct entry {
        const char* text = nullptr;
        std::uint32_t name = 0;  // 0: the text found no room in the name table
        std::uint32_t length : 31 = 0;
        std::uint32_t is_symbol : 1 = 0;  // its bytes need not be compared (producer::symbol_of)
    };
    static constexpr std::size_t limit = 240;
    static constexpr std::uint32_t patience = 1024;

    // The entry of the text at this address, or null if there is none.
    entry* find(const char* text) noexcept {
        for (std::size_t slot = place_of(text);; slot = (slot + 1) % index_.size()) {
            if (index_[slot] == 0) return nullptr;
            if (entries_[index_[slot] - 1U].text == text) return &entries_[index_[slot] - 1U];
        }
    }

    // Adds an entry. REQUIRES: find() returned null for `what.text`. A full table first refuses new entries: so most
    // stay cached if a program cycles through slightly more texts than there is room for. After `patience` refusals the
    // table is cleared and filled again.
    void add(const entry& added) noexcept {
        if (count_ == limit) {
            if (++refused_ < patience) return;
            ::new (this) known_texts;  // no temporary object on the stack of the program's thread
        }
        std::size_t slot = place_of(added.text);
        while (index_[slot] != 0) slot = (slot + 1) % index_.size();
        entries_[count_] = added;
        index_[slot] = static_cast<std::uint8_t>(++count_);
    }

    std::span<entry> all() noexcept { return {entries_.data(), count_}; }

private:
    static std::size_t place_of(const char* text) noexcept {
        // The multiplication spreads the addresses, since literals lie a few bytes apart and kernels' symbols pages
        // apart. The top bits of the product depend on all bits of the address.
        return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(text) * 0x9E3779B97F4A7C15U) >> 55);
    }

    alignas(64) std::array<std::uint8_t, 512> index_{};  // the entry's number + 1; 0: none. At most half full
    std::array<entry, limit> entries_{};
    std::uint32_t count_ = 0;
    std::uint32_t refused_ = 0;
};

}  // namespace prof
