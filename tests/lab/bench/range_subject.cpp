// SPDX-License-Identifier: Apache-2.0
#include "lab/bench/range_subject.hpp"

#include <nvtx3/nvToolsExt.h>
#include <prof/range.hpp>

#include "base/clock.hpp"

namespace prof::bench {
namespace {

// The value is made, and nothing about it is known any more.
template <typename TValue>
void keep(TValue value) noexcept {
    asm volatile("" : : "r"(value) : "memory");
}

template <typename TPair>
std::uint64_t timed(unsigned pairs, TPair pair) noexcept {
    const std::uint64_t begin = ticks_now();
    for (unsigned i = 0; i < pairs; ++i) pair();
    return ticks_now() - begin;
}

std::uint64_t clock_reads(unsigned pairs) noexcept {
    return timed(pairs, [] {
        keep(ticks_now());
        keep(ticks_now());
    });
}

std::uint64_t macro(unsigned pairs) noexcept {
    return timed(pairs, [] { PROF_RANGE("macro"); });
}

std::uint64_t own_domain_text(unsigned pairs) noexcept {
    return timed(pairs, [] { const scoped_range range("own_domain_text"); });
}

std::uint64_t default_domain_text(unsigned pairs) noexcept {
    return timed(pairs, [] {
        nvtxRangePushA("default_domain_text");
        nvtxRangePop();
    });
}

constexpr range_kind kinds[] = {
    {"two clock reads", nullptr, clock_reads},
    {"PROF_RANGE (registered name)", "macro", macro},
    {"scoped_range (name as text)", "own_domain_text", own_domain_text},
    {"nvtxRangePushA, nvtxRangePop", "default_domain_text", default_domain_text},
};

}  // namespace

extern "C" [[gnu::visibility("default")]] std::span<const range_kind> prof_bench_range_kinds() noexcept {
    return kinds;
}

}  // namespace prof::bench
