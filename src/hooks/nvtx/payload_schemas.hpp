// NVTX's extended payloads: the one field of them that is recorded, a number of bytes.
//
// A client registers the layout of its structs once, then hands pointers to them over with its ranges. NCCL does so for
// each collective ("Message size [bytes]"). Of each layout only the first whole number whose name says "bytes" is kept,
// in a fixed table: registering takes no lock and may be done by any thread, reading is a hash, a look at the table and
// a copy of at most 8 bytes.
#pragma once

#include <cstdint>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <nvtx3/nvToolsExtPayload.h>
#pragma GCC diagnostic pop

namespace prof {

// The schema's id: the client's own, or one that is made up. 0 for what is no schema. Where the table is full the
// schema is left out, and counted (labels_full).
std::uint64_t register_payload_schema(std::uint32_t domain, const nvtxPayloadSchemaAttr_t& schema) noexcept;

// False if the payload's schema is not known, tells no bytes, or the payload is too short for it.
bool read_payload_bytes(std::uint32_t domain, const nvtxPayloadData_t& data, std::uint64_t& bytes) noexcept;

}  // namespace prof
