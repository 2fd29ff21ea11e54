// SPDX-License-Identifier: Apache-2.0
#include "capture/fast_crc32.hpp"

#include <zlib.h>

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace prof {
namespace {

// zlib's CRC of `bytes` after those whose CRC is `before`.
std::uint32_t by_tables(std::uint32_t before, const std::byte* bytes, std::size_t count) noexcept {
    return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes), count));
}

}  // namespace

#if defined(__x86_64__)

namespace {

constexpr std::size_t lane_bytes = 16;
constexpr std::size_t lanes = 4;

// x^n mod P in the order of bits that CRC-32 has, in which the lowest bit is the highest power: a multiplication by x
// moves bits down. The product of two such numbers is one bit too low, hence the last shift.
// Never computed while the program runs: it would take longer than the tables.
consteval long long power_of_x(std::size_t n) {
    constexpr std::uint32_t polynomial = 0xEDB8'8320;  // P without x^32
    std::uint32_t power = 0x8000'0000;                 // x^0
    for (; n != 0; --n) power = power >> 1 ^ ((power & 1) != 0 ? polynomial : 0);
    const std::uint64_t shifted = std::uint64_t{power} << 1;
    return static_cast<long long>(shifted);
}

// Moves 16 bytes forward by `Bytes`. Their first 8 bytes are 64 bits further from the end than their last ones.
template <std::size_t Bytes>
[[gnu::target("pclmul,sse4.1")]] inline __m128i moved(__m128i lane) noexcept {
    const __m128i powers = _mm_set_epi64x(power_of_x(8 * Bytes - 32), power_of_x(8 * Bytes + 32));
    return _mm_xor_si128(_mm_clmulepi64_si128(lane, powers, 0x00), _mm_clmulepi64_si128(lane, powers, 0x11));
}

[[gnu::target("pclmul,sse4.1")]] inline __m128i lane_at(const std::byte* bytes) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

[[gnu::target("pclmul,sse4.1")]] std::uint32_t folded(const std::byte* bytes, std::size_t count) noexcept {
    __m128i a = lane_at(bytes);
    __m128i b = lane_at(bytes + lane_bytes);
    __m128i c = lane_at(bytes + 2 * lane_bytes);
    __m128i d = lane_at(bytes + 3 * lane_bytes);
    a = _mm_xor_si128(a, _mm_cvtsi32_si128(-1));  // a CRC-32 begins with the first 32 bits inverted
    constexpr std::size_t block = lanes * lane_bytes;
    for (bytes += block, count -= block; count >= block; bytes += block, count -= block) {
        a = _mm_xor_si128(moved<block>(a), lane_at(bytes));
        b = _mm_xor_si128(moved<block>(b), lane_at(bytes + lane_bytes));
        c = _mm_xor_si128(moved<block>(c), lane_at(bytes + 2 * lane_bytes));
        d = _mm_xor_si128(moved<block>(d), lane_at(bytes + 3 * lane_bytes));
    }
    a = _mm_xor_si128(moved<lane_bytes>(a), b);
    a = _mm_xor_si128(moved<lane_bytes>(a), c);
    a = _mm_xor_si128(moved<lane_bytes>(a), d);
    for (; count >= lane_bytes; bytes += lane_bytes, count -= lane_bytes) {
        a = _mm_xor_si128(moved<lane_bytes>(a), lane_at(bytes));
    }
    std::array<std::byte, lane_bytes> rest;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(rest.data()), a);
    // Nothing is to be inverted at the beginning any more, and zlib inverts what it is given.
    return by_tables(by_tables(0xFFFF'FFFF, rest.data(), rest.size()), bytes, count);
}

}  // namespace

bool has_fast_crc32() noexcept {
    static const bool has = __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
    return has;
}

std::uint32_t fast_crc32(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() < lanes * lane_bytes) return by_tables(0, bytes.data(), bytes.size());
    return folded(bytes.data(), bytes.size());
}

#else

bool has_fast_crc32() noexcept { return false; }

std::uint32_t fast_crc32(std::span<const std::byte> bytes) noexcept { return by_tables(0, bytes.data(), bytes.size()); }

#endif

}  // namespace prof
