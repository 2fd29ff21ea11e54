// SPDX-License-Identifier: Apache-2.0
// Which names of two runs are the same kernel, although a compiler or a template argument named it anew. A pure
// function; quadratic in names that differ in numbers only, else linear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compare/run_profile.hpp"

namespace prof {

enum class name_match : std::uint8_t {
    exact,
    template_arguments,  // the same function, of other template arguments or parameters
    numbers,             // the same but for numbers: triton_poi_fused_3, sgemm_128x64
};

struct matched_name {
    std::size_t base = SIZE_MAX;     // index; SIZE_MAX: there is none
    std::size_t changed = SIZE_MAX;  // the same
    name_match how = name_match::exact;
};

// Each of either side once. Names that are equal are matched first; of the rest those of one function, then those that
// differ in numbers: the one with the most time with the one with the most time, and so on.
std::vector<matched_name> match_kernels(std::span<const named_cost> base, std::span<const named_cost> changed);
// Equal names only.
std::vector<matched_name> match_equal(std::span<const named_cost> base, std::span<const named_cost> changed);

}  // namespace prof
