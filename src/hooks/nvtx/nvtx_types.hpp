// NVTX's client types and the types of its tool side. NVTX gives the latter only together with its client
// implementation, so that comes along (static functions, none of which we call).
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <nvtx3/nvToolsExt.h>
#pragma GCC diagnostic pop
