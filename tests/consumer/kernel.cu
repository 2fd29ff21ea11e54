// SPDX-License-Identifier: Apache-2.0
// A CUDA source with a range. Only its host part is compiled where the compiler has no CUDA of its own.
#include <prof/range.hpp>

void train_step() { PROF_RANGE("consumer_step"); }
