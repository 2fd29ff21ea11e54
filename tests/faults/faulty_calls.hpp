// SPDX-License-Identifier: Apache-2.0
// What a call of libprof's to the C library meets (faulty_libc.cpp stands in front of each).
#pragma once

#include <cstddef>

#include "faults/fault.hpp"

namespace prof::test {

struct verdict {
    int error = 0;       // errno: fail with it
    int per_cent = 100;  // of its bytes
    bool dies = false;   // after them
};

// `from`: the address to which the call returns. Delays, blocks and does what else the faults want at this call; blocks
// where the call `may_block`.
verdict meet(faulty_call call, const void* from, bool may_block = true) noexcept;

// How far CLOCK_REALTIME has jumped, for libprof alone.
long long clock_jump_s(const void* from) noexcept;

[[noreturn]] void die() noexcept;

}  // namespace prof::test
