#include "hooks/nvtx/nvtx_extension.hpp"

#include <cstdint>

#include "hooks/nvtx/event.hpp"
#include "hooks/nvtx/nvtx_types.hpp"
#include "hooks/nvtx/payload_schemas.hpp"

namespace prof {
namespace {

// Of the structs that are handed over here the first version is read; a later one of the same major number only adds.
constexpr unsigned major_version = NVTX_EXT_PAYLOAD_COMPATID >> 8;

std::uint8_t NVTX_API domain_is_enabled(nvtxDomainHandle_t) noexcept { return 1; }

std::uint64_t NVTX_API register_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* schema) noexcept {
    return schema == nullptr ? 0 : register_payload_schema(number_of(domain), *schema);
}

}  // namespace

bool answer_nvtx_extension(nvtxExtModuleInfo_t* module) noexcept {
    if (module == nullptr || module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segments == nullptr ||
        module->segmentsCount == 0) {
        return false;
    }
    nvtxExtModuleSegment_t& functions = module->segments[0];
    if (functions.slotCount <= NVTX3EXT_CBID_nvtxDomainIsEnabled) return false;  // an older NVTX does not ask
    functions.functionSlots[NVTX3EXT_CBID_nvtxDomainIsEnabled] = reinterpret_cast<intptr_t>(domain_is_enabled);
    if ((unsigned{module->compatId} >> 8) == major_version) {
        functions.functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] = reinterpret_cast<intptr_t>(register_schema);
    }
    return true;
}

}  // namespace prof
