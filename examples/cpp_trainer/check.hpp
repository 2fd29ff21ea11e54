// SPDX-License-Identifier: Apache-2.0
// Is the arithmetic right? The hand-written backward pass against finite differences on the CPU,
// and the GPU's losses and gradients against the CPU's.
#pragma once

#include "device.hpp"

namespace trainer {

// Each prints what it compared, and returns whether all of it agreed.
bool check_gradients(device& cpu);
bool check_against(device& cpu, device& gpu);

}  // namespace trainer
