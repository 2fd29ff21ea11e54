// SPDX-License-Identifier: Apache-2.0
// NVTX names streams by their handles, CUPTI's records by ids. The tracer converts a handle to the id while CUPTI is
// attached; otherwise the pointer is null. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace prof {

// Sets `key` to the stream_key(). Returns false if the stream is unknown to CUPTI.
inline std::atomic<bool (*)(void* stream, std::uint64_t& key) noexcept> stream_key_lookup{nullptr};

}  // namespace prof
