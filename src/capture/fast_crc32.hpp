// SPDX-License-Identifier: Apache-2.0
// CRC-32 as in zlib, by multiplication of polynomials: ten times as fast as by tables. Any thread; no allocation.
//
// A message is a polynomial over GF(2), and its CRC the remainder modulo P. 16 bytes that are n bits before others may
// be replaced by their product with x^n mod P, added to those: so four lanes of 16 bytes are moved forward over the
// message, then joined, and a message of 16 bytes and the unfolded rest remain. V. Gopal et al., "Fast CRC Computation
// for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace prof {

// Whether this processor can.
bool has_fast_crc32() noexcept;

// REQUIRES: has_fast_crc32().
std::uint32_t fast_crc32(std::span<const std::byte> bytes) noexcept;

}  // namespace prof
