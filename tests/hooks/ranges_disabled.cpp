// SPDX-License-Identifier: Apache-2.0
// The part of mixed_ranges_test that was compiled without ranges.
#define PROF_DISABLE
#include <prof/range.hpp>

void make_disabled_range();
void make_disabled_range() { const prof::scoped_range range("disabled"); }
