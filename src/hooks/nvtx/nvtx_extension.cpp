#include "hooks/nvtx/nvtx_extension.hpp"

#include <cstdint>

#include "hooks/nvtx/nvtx_types.hpp"

namespace prof {
namespace {

std::uint8_t NVTX_API domain_is_enabled(nvtxDomainHandle_t) noexcept { return 1; }

}  // namespace

bool answer_nvtx_extension(nvtxExtModuleInfo_t* module) noexcept {
    if (module == nullptr || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segments == nullptr ||
        module->segmentsCount == 0) {
        return false;
    }
    nvtxExtModuleSegment_t& functions = module->segments[0];
    if (functions.slotCount <= NVTX3EXT_CBID_nvtxDomainIsEnabled) return false;  // an older NVTX does not ask
    functions.functionSlots[NVTX3EXT_CBID_nvtxDomainIsEnabled] = reinterpret_cast<intptr_t>(domain_is_enabled);
    return true;
}

}  // namespace prof
