// SPDX-License-Identifier: Apache-2.0
// NVTX events as the tests' programs send them.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

namespace prof::test {

inline nvtxEventAttributes_t event_of(const char* text) {
    nvtxEventAttributes_t event{};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = text;
    return event;
}

// Pushes a range with a number, by which a test knows it again.
inline void push_numbered(const char* text, std::uint64_t number) {
    nvtxEventAttributes_t event = event_of(text);
    event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
    event.payload.ullValue = number;
    nvtxRangePushEx(&event);
}

}  // namespace prof::test
