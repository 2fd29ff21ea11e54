// SPDX-License-Identifier: Apache-2.0
// Probabilities of many tests at once, so that they can be compared with the level of one. Pure functions;
// docs/reference/compare.md says which is used where.
#pragma once

#include <span>
#include <vector>

namespace prof {

// Benjamini and Hochberg (1995): of the tests whose result is below the level, at most that share is wrong, on average.
std::vector<double> benjamini_hochberg(std::span<const double> probabilities);
// Holm (1979): with at most the level's probability is any of the tests below it wrong.
std::vector<double> holm(std::span<const double> probabilities);

}  // namespace prof
