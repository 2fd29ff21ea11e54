// SPDX-License-Identifier: Apache-2.0
// Whether a recording begins by itself, at the process's first range or use of CUDA, or only by prof_start. The option
// autostart decides, where the environment sets it. Else a recording begins by itself where libprof was preloaded or
// injected, and where the program has called prof_autostart (as one that links prof::prof does).
#pragma once

namespace prof {

// When the library is loaded, before it sets the variables by which NVTX and CUDA's driver find it. Sets
// PROF_IMAGE_ON_DEMAND in a process that has merely loaded libprof: programs that this process starts inherit the
// variables, and libprof must not take them for an injection by the user.
void note_way_in();

// prof_autostart was called.
void note_autostart() noexcept;

// Any thread.
bool starts_by_itself() noexcept;

}  // namespace prof
