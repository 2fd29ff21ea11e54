// SPDX-License-Identifier: Apache-2.0
// Sections of the truth program: contexts beside the primary one.
#pragma once

#include "stage.hpp"

namespace truth {

// Two contexts of the driver's, and the primary one, in turn on one thread; on streams of theirs and on their default
// streams.
void contexts(stage& on);
// Two parts of the GPU's multiprocessors, at work at the same time.
void green_contexts(stage& on);

}  // namespace truth
