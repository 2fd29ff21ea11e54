// SPDX-License-Identifier: Apache-2.0
// The kernels of a timeline, by name: how often each runs and how long, by which phase, and what launches it. A pure
// function; linear in the operations, memory 8 bytes an operation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/attribution/attribution.hpp"
#include "analysis/kernels/kernel_purpose.hpp"
#include "analysis/steps/whole_steps.hpp"
#include "timeline/timeline.hpp"

namespace prof {

enum class launcher_kind : std::uint8_t { range, module, operator_ };
std::string_view to_string(launcher_kind kind) noexcept;  // "range", "module", "operator"

struct kernel_launcher {
    launcher_kind kind = launcher_kind::range;
    std::string text{};  // "forward/attn"; names as the process has them
    std::int64_t ns = 0;
    std::uint64_t launches = 0;
};

struct kernel_use {
    std::string name{};     // as C++ has it, or of a graph that was recorded as one operation
    std::string shorter{};  // the function's name, and of elementwise kernels what they apply
    kernel_purpose purpose = kernel_purpose::other;
    std::uint64_t launches = 0;
    std::int64_t total_ns = 0;
    std::int64_t min_ns = 0;
    std::int64_t median_ns = 0;
    std::int64_t max_ns = 0;
    // How many launches take 2^(b/2) ns up to 2^((b+1)/2) ns, for b from first_bin.
    std::uint32_t first_bin = 0;
    std::vector<std::uint64_t> bins{};
    std::vector<std::pair<std::string, std::int64_t>> phases{};  // largest first; "": in no phase
    std::vector<kernel_launcher> launchers{};                    // of each kind the largest, largest first
};

struct kernel_uses {
    std::int64_t total_ns = 0;
    std::uint64_t launches = 0;
    std::uint64_t count = 0;         // of different names
    std::vector<kernel_use> rows{};  // the largest
    struct sums {
        std::int64_t ns = 0;
        std::uint64_t launches = 0;
    };
    std::array<sums, kernel_purposes> by_purpose{};
};

// The bin of a duration, as above.
std::uint32_t duration_bin(std::int64_t ns) noexcept;

// `of`: the steps in which the operations were launched, by which their phases are known. At most `most` rows.
kernel_uses find_kernel_uses(const timeline& data, const attribution& att, const whole_steps& of, std::size_t most);

}  // namespace prof
