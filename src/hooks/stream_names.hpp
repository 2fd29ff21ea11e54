// NVTX names streams by their handle, CUPTI's records by numbers: the tracer converts the one into the other, as long
// as CUPTI is attached. Null: it is not.
#pragma once

#include <atomic>
#include <cstdint>

namespace prof {

// Gives stream_key(); false if CUPTI does not know the stream.
inline std::atomic<bool (*)(void* stream, std::uint64_t& key) noexcept> stream_key_lookup{nullptr};

}  // namespace prof
