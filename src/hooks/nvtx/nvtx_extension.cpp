// SPDX-License-Identifier: Apache-2.0
#include "hooks/nvtx/nvtx_extension.hpp"

#include <cstddef>
#include <cstdint>

#include "hooks/nvtx/event.hpp"
#include "hooks/nvtx/nvtx_hooks.hpp"
#include "hooks/nvtx/nvtx_types.hpp"
#include "hooks/nvtx/payload_schemas.hpp"

namespace prof {
namespace {

// The structs that NVTX passes here are read in their first version. A later version of the same major number only adds
// fields.
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
    const nvtxExtModuleSegment_t& functions = module->segments[0];
    if (functions.slotCount <= NVTX3EXT_CBID_nvtxDomainIsEnabled)
        return false;  // older versions of NVTX do not call it
    const auto answer = [&](std::size_t slot, auto* function) {
        functions.functionSlots[slot] = reinterpret_cast<intptr_t>(function);
    };
    answer(NVTX3EXT_CBID_nvtxDomainIsEnabled, domain_is_enabled);
    if ((unsigned{module->compatId} >> 8) != major_version) return true;
    answer(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, register_schema);
    answer(NVTX3EXT_CBID_nvtxMarkPayload, on_mark_payload);
    answer(NVTX3EXT_CBID_nvtxRangePushPayload, on_push_payload);
    answer(NVTX3EXT_CBID_nvtxRangePopPayload, on_pop_payload);
    answer(NVTX3EXT_CBID_nvtxRangeStartPayload, on_start_payload);
    answer(NVTX3EXT_CBID_nvtxRangeEndPayload, on_end_payload);
    return true;
}

}  // namespace prof
