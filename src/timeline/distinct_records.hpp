// SPDX-License-Identifier: Apache-2.0
// Keeps of many GPU records each distinct one once: a training run launches the same kernels with the same grid,
// registers and stream again and again.
//
// Records are compared by what they may have in common, which is the part behind their times and correlation, and by
// `queued_ns`. One thread. Cost of index_of(): one look-up in a hash table; memory: the distinct records and at most 16
// bytes for each.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "record/gpu_record.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// The offset of the part that records may have in common. It extends to the record's end.
template <typename TRecord>
inline constexpr std::size_t common_offset = 0;
template <>
inline constexpr std::size_t common_offset<kernel_record> = offsetof(kernel_record, graph_node_id);
template <>
inline constexpr std::size_t common_offset<transfer_record> = offsetof(transfer_record, bytes);
template <>
inline constexpr std::size_t common_offset<graph_record> = offsetof(graph_record, graph_id);

template <typename TRecord>
class distinct_records {
public:
    // The index of the record that is like `r`, added if there was none. All that is only `r`'s own is 0 there.
    std::uint32_t index_of(const TRecord& r) {
        if (2 * records_.size() >= slots_.size()) grow();
        std::uint32_t& slot = slot_of(r);
        if (slot == npos) {
            slot = static_cast<std::uint32_t>(records_.size());
            records_.push_back(without_own(r));
        }
        return slot;
    }

    const TRecord& operator[](std::uint32_t index) const noexcept { return records_[index]; }
    std::size_t size() const noexcept { return records_.size(); }

    const std::vector<TRecord>& records() const noexcept { return records_; }

    // Calls change(TRecord&) for each record. Records that become alike by it stay apart.
    template <typename TChange>
    void change_all(TChange&& change) {
        for (TRecord& r : records_) change(r);
        fill_slots();
    }

    std::vector<TRecord> take() { return std::move(records_); }

private:
    static constexpr std::size_t words = (sizeof(TRecord) - common_offset<TRecord>) / sizeof(std::uint64_t);
    static_assert(common_offset<TRecord> % 8 == 0 && sizeof(TRecord) % 8 == 0);

    static std::uint64_t queued_ns(const TRecord& r) noexcept {
        if constexpr (requires { r.queued_ns; }) {
            return r.queued_ns;
        } else {
            return 0;
        }
    }
    static const std::byte* common_part(const TRecord& r) noexcept {
        return reinterpret_cast<const std::byte*>(&r) + common_offset<TRecord>;
    }
    static bool are_alike(const TRecord& a, const TRecord& b) noexcept {
        return std::memcmp(common_part(a), common_part(b), 8 * words) == 0 && queued_ns(a) == queued_ns(b);
    }
    static TRecord without_own(const TRecord& r) noexcept {
        TRecord out = r;
        std::memset(static_cast<void*>(&out), 0, common_offset<TRecord>);
        if constexpr (requires { out.queued_ns; }) out.queued_ns = r.queued_ns;
        return out;
    }

    // Four chains of multiplications instead of one, which the processor runs beside each other.
    static std::size_t hash(const TRecord& r) noexcept {
        constexpr std::uint64_t odd = 0x9E37'79B9'7F4A'7C15;  // 2^64 divided by the golden ratio
        std::array<std::uint64_t, 4> chains{};
        for (std::size_t i = 0; i < words; ++i) {
            std::uint64_t word = 0;
            std::memcpy(&word, common_part(r) + 8 * i, 8);
            chains[i % 4] = (chains[i % 4] ^ word) * odd;
        }
        std::uint64_t out = queued_ns(r);
        for (const std::uint64_t chain : chains) out = (out ^ chain ^ chain >> 32) * odd;
        return static_cast<std::size_t>(out >> 32);
    }

    // The slot of the record that is like `r`, or the free one that it would take.
    std::uint32_t& slot_of(const TRecord& r) noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = hash(r) & mask;
        while (slots_[at] != npos && !are_alike(records_[slots_[at]], r)) at = (at + 1) & mask;
        return slots_[at];
    }

    void grow() {
        slots_.resize(slots_.empty() ? 64 : 2 * slots_.size());
        fill_slots();
    }

    void fill_slots() {
        std::fill(slots_.begin(), slots_.end(), npos);
        for (std::uint32_t i = 0; i < records_.size(); ++i) slot_of(records_[i]) = i;
    }

    std::vector<TRecord> records_;
    std::vector<std::uint32_t> slots_;  // open addressing, at most half of them taken; npos: free
};

}  // namespace prof
