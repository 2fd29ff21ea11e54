// SPDX-License-Identifier: Apache-2.0
// The stack at a CUDA call, as records: the Python frames of the thread, or, where it has none, those of C++ code. Of a
// call that took long, of a call before which the host ran other code for long, and of a large block of memory that the
// program asks for. Part of the hot path. A call that is short pays one comparison; a stack costs about two
// microseconds, and a thread has at most most_stacks_a_second of calls and as many of blocks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hooks/lines/line_bounds.hpp"
#include "record/record.hpp"
#include "ring/producer.hpp"

namespace prof {

// A stack takes 2.2 us beside a training on an H200 (docs/lab/measurements.md), so that all of them are below 0.2 %.
inline constexpr std::uint32_t most_stacks_a_second = 800;
inline constexpr std::uint32_t most_recorded_frames = 12;

// Begins to record lines, or ends it. Looks for Python in the process, so not for hooks. One thread at a time.
// `library_code`: parts of paths, with colons between, by which code counts as a library's and not as the program's
// own. Returns why Python's lines are not recorded; "": they are, or there is no Python.
std::string record_lines(bool is_on, std::string_view library_code);

// Records the stack of this thread, if it has one. REQUIRES: `out` is the thread's producer, and it is writing. `key`:
// that of the call; `length`: how many ticks the call or the stretch has taken until now, `ticks`.
void note_lines(producer& out, stack_role role, std::uint64_t key, std::uint64_t ticks, std::uint64_t length) noexcept;
// The same of a block of memory, or of a request that failed, whose record was just written: `key` is its `value`.
// Large blocks come first (stack_of_block_bytes). Threads that work for others have none in Python, as autograd's.
void note_birth(producer& out, std::uint64_t key, std::uint64_t ticks, bool is_large) noexcept;
// The modules with these functions are CUDA's libraries, beside those whose files are called so. Null ones are left
// out. Not for hooks; after record_lines(), and while no hook runs that calls note_caller().
void note_cuda_functions(std::span<const void* const> functions) noexcept;
// The library, or the program, that called CUDA: the innermost frame outside CUDA's libraries, as one code_line of the
// role `caller`. Nothing where stacks of C++ code cannot be walked. Some hundreds of nanoseconds.
void note_caller(producer& out, std::uint64_t key, std::uint64_t ticks) noexcept;
// Whether even a launch that took so many ticks has a stack. A launch takes long where the GPU's queue is full, which
// is no flaw of the line.
bool is_long_launch(std::uint64_t ticks) noexcept;

}  // namespace prof
