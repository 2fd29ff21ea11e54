// SPDX-License-Identifier: Apache-2.0
// Maps a driver call to the CUDA runtime function that makes it, the name by which tools recognise a launch, copy, set,
// wait or allocation. The runtime calls such a driver function only from the function named here, or from a rarer one
// (`cudaMemcpyToSymbol` also uses `cuMemcpyHtoD`).
//
// A driver function has no counterpart if the runtime never calls it, since such a call is the program's own. The same
// holds if several runtime functions are equally likely callers. A program's own call to a driver function with a
// counterpart cannot be distinguished. Constant; any thread.
#pragma once

#include <string_view>

namespace prof {

// `driver_name`: as from api_name(). Returns "" if there is no counterpart.
std::string_view runtime_counterpart(std::string_view driver_name) noexcept;

}  // namespace prof
