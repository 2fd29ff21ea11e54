// SPDX-License-Identifier: Apache-2.0
// What the recorded program is written with, by what it left in the timeline. Pure functions; linear in the threads,
// the domains, the operations' kinds and the names of kernels.
#pragma once

#include <cstdint>
#include <string_view>

#include "timeline/timeline.hpp"

namespace prof {

// Advice differs. Neither: advice for CUDA alone.
struct frameworks {
    bool has_torch = false;
    bool has_jax = false;
    bool has_tensorflow = false;
};

enum class kernel_maker : std::uint8_t { unknown, torch, tensorflow, xla };
// By a kernel's symbol, mangled or not. XLA's kernels have the names of its instructions; other programs use XLA, too.
kernel_maker maker_of_kernel(std::string_view symbol) noexcept;

// `is_jax`: it is known to be a JAX program.
frameworks frameworks_of(const timeline& data, bool is_jax);

}  // namespace prof
