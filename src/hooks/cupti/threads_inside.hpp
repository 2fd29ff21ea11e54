// SPDX-License-Identifier: Apache-2.0
// Counts the threads that are inside a part of the code in which a thread may sleep, so that a thread that sleeps there
// is not taken for one that has left (quiescence.hpp). Any thread; takes no lock.
//
// The count is distributed over several cache lines, by thread: two threads that come and go at the same time seldom
// write to the same line. Coming and going costs two atomic additions.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ring/registry.hpp"

namespace prof {

class threads_inside {
    struct alignas(64) share {
        std::atomic<std::uint64_t> entered{0};
        std::atomic<std::uint64_t> left{0};
    };

public:
    // A thread is inside as long as it lives.
    class scope {
    public:
        explicit scope(threads_inside& all) noexcept : share_(all.shares_[place_of_this_thread()]) { ++share_.entered; }
        ~scope() { ++share_.left; }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        share& share_;
    };

    // How many threads have ever come in.
    std::uint64_t entered() const noexcept { return sum(&share::entered); }
    // Whether there was a moment during this call at which no thread was inside. Those who have left are counted first.
    // If the sums are equal, each share is equal, since a share's `entered` never falls below its earlier `left`.
    bool is_empty() const noexcept {
        const std::uint64_t left = sum(&share::left);
        return entered() == left;
    }

private:
    static constexpr std::size_t share_bits = 6;

    // Thread-local variables of different threads are far apart: the product's highest bits differ.
    static std::size_t place_of_this_thread() noexcept {
        const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&this_thread));
        return static_cast<std::size_t>(((address >> 6) * 0x9E3779B97F4A7C15U) >> (64 - share_bits));
    }
    std::uint64_t sum(std::atomic<std::uint64_t> share::*count) const noexcept {
        std::uint64_t all = 0;
        for (const share& part : shares_) all += (part.*count).load();
        return all;
    }

    std::array<share, std::size_t{1} << share_bits> shares_{};
};

}  // namespace prof
