// NVTX's extension side. Clients of NVTX 3.2.0 and 3.2.1 ask nvtxDomainIsEnabled first, and are silent towards a tool
// that does not say 1. Schemas of extended payloads are taken (hooks/nvtx/payload_schemas.hpp), and so are events that
// consist of such payloads or end with one (hooks/nvtx/nvtx_hooks.hpp).
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <nvtx3/nvToolsExtPayload.h>
#pragma GCC diagnostic pop

namespace prof {

// From InitializeInjectionNvtxExtension, once for each extension module of each NVTX instance.
bool answer_nvtx_extension(nvtxExtModuleInfo_t* module) noexcept;

}  // namespace prof
