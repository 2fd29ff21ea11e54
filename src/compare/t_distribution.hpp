// SPDX-License-Identifier: Apache-2.0
// Student's t distribution. Pure functions; docs/reference/compare.md has the formulas.
#pragma once

namespace prof {

// P(T <= t). REQUIRES: degrees > 0.
double student_t_probability(double t, double degrees);
// The t with P(T <= t) = probability. REQUIRES: 0 < probability < 1, degrees > 0.
double student_t_quantile(double probability, double degrees);

}  // namespace prof
