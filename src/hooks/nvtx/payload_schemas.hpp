// NVTX's extended payloads: the layouts that clients registered, in a fixed table.
//
// A client registers the layout of its structs once, then hands pointers to them over with its ranges. NCCL does so for
// each collective. Registering takes no lock and may be done by any thread; reading is a hash, a look at the table, and
// what payload_layout.hpp reads.
#pragma once

#include <cstdint>

#include "hooks/nvtx/payload_layout.hpp"

namespace prof {

// The schema's id: the client's own, or one that is made up. 0 for what is no schema. Where the table is full the
// schema is left out, and counted (labels_full).
std::uint64_t register_payload_schema(std::uint32_t domain, const nvtxPayloadSchemaAttr_t& schema) noexcept;

// Nothing if the payload's schema is not known.
payload_content read_payload(std::uint32_t domain, const nvtxPayloadData_t& data) noexcept;

}  // namespace prof
