// The function of the CUDA runtime that a driver's call stands for, by which tools know a launch, a copy, a set, a wait
// or an allocation. The runtime has no other way to these driver functions than the one named here, or a rarer one
// (`cudaMemcpyToSymbol` copies by `cuMemcpyHtoD`, too). What the runtime never calls has none: such a call is the
// program's own, as is one of which several functions of the runtime are equally likely callers. That a program called
// the driver itself cannot be told from the driver's call. Constant; any thread.
#pragma once

#include <string_view>

namespace prof {

// `driver_name` as api_name() has it; "" if there is none.
std::string_view runtime_counterpart(std::string_view driver_name) noexcept;

}  // namespace prof
