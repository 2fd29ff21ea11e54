// SPDX-License-Identifier: Apache-2.0
// How long the session waits for what may never answer.
#pragma once

#include <chrono>

namespace prof {

// At exit: for a disk that does not answer, or a thread of libprof's that makes no progress.
inline constexpr std::chrono::milliseconds longest_standstill{5000};
// For a disk, by a thread of the program that opens a window. Above the longest pause in which the kernel keeps a
// thread that writes faster than the disk takes it.
inline constexpr std::chrono::milliseconds longest_wait_for_disk{250};
// For the session to be prepared by another thread, or for the state of windows and plan when CUDA starts. That thread
// may wait for a lock that this one holds, as inside CUDA's start-up.
inline constexpr std::chrono::milliseconds longest_wait_for_preparation{5000};

}  // namespace prof
