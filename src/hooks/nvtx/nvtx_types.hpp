// SPDX-License-Identifier: Apache-2.0
// NVTX's client types and its tool-side types. NVTX provides the latter only together with its client implementation,
// which is therefore included, too (static functions; libprof calls none of them).
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <nvtx3/nvToolsExt.h>
#pragma GCC diagnostic pop
