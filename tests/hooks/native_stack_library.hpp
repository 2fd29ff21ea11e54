// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

// Whether stacks can be walked here.
__attribute__((visibility("default"))) bool prepare_walks();
// The addresses of the calls on this thread's stack, the innermost first: of each the last byte of the call.
__attribute__((visibility("default"))) std::vector<std::uintptr_t> walked_addresses();
