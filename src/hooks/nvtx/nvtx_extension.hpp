// SPDX-License-Identifier: Apache-2.0
// NVTX's extension interface. Clients of NVTX 3.2.0 and 3.2.1 call nvtxDomainIsEnabled first, and pass nothing to a
// tool that does not return 1. Supported are schemas of extended payloads (hooks/nvtx/payload_schemas.hpp), and events
// that consist of such payloads or end with one (hooks/nvtx/nvtx_hooks.hpp).
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <nvtx3/nvToolsExtPayload.h>
#pragma GCC diagnostic pop

namespace prof {

// Called from InitializeInjectionNvtxExtension, once for each extension module of each NVTX instance. Returns false if
// the module is not the payload extension, or has no slot for nvtxDomainIsEnabled.
bool answer_nvtx_extension(nvtxExtModuleInfo_t* module) noexcept;

}  // namespace prof
