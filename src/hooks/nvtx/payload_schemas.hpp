// SPDX-License-Identifier: Apache-2.0
// The layouts of NVTX's extended payloads, as registered by clients, in a table of fixed size.
//
// A client registers the layout of its structs once, and then passes pointers to them with its ranges. NCCL does this
// for each collective. Any thread may register; it takes no lock. Reading costs a hash, a table lookup, and what
// payload_layout.hpp reads.
#pragma once

#include <cstdint>

#include "hooks/nvtx/payload_layout.hpp"

namespace prof {

// Returns the schema's id: the client's own, or a new one; 0 if this is no schema. If the table is full, the schema is
// not stored, and is counted (labels_full).
std::uint64_t register_payload_schema(std::uint32_t domain, const nvtxPayloadSchemaAttr_t& schema) noexcept;

// The content is empty if the payload's schema is not known.
payload_content read_payload(std::uint32_t domain, const nvtxPayloadData_t& data) noexcept;

}  // namespace prof
