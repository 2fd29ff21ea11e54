// SPDX-License-Identifier: Apache-2.0
// Finds the recorded fields in an NVTX payload: a number of bytes, and the event's message.
//
// A client describes its structs entry by entry. Of a layout two entries are kept: the first integer whose name
// contains "bytes" (NCCL's "Message size [bytes]"), and the entry that is flagged as the event's message.
#pragma once

#include <cstdint>
#include <string_view>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <nvtx3/nvToolsExtPayload.h>
#pragma GCC diagnostic pop

namespace prof {

struct payload_layout {
    enum class text_form : std::uint8_t { none, pointer, embedded, registered };

    std::uint64_t bytes_offset = 0;
    std::uint64_t text_offset = 0;
    std::uint64_t text_length = 0;  // upper limit; 0: the text ends with a zero
    std::uint8_t bytes_width = 0;   // 0: the layout has no such number
    bool bytes_is_signed = false;
    text_form text = text_form::none;

    bool is_empty() const noexcept { return bytes_width == 0 && text == text_form::none; }
};

// REQUIRES: schema.entries is an array of schema.numEntries. Entries of an unknown form are left out.
payload_layout layout_of(const nvtxPayloadSchemaAttr_t& schema) noexcept;

// The recorded content of one payload. The message is text in the client's memory, or the number of a registered
// string.
struct payload_content {
    bool has_bytes = false;
    std::uint64_t bytes = 0;
    std::string_view message;
    std::uint32_t registered_message = 0;
};

// A field is left empty if the payload is too short for it. REQUIRES: data.payload is not null.
payload_content read_payload(const payload_layout& layout, const nvtxPayloadData_t& data) noexcept;

}  // namespace prof
