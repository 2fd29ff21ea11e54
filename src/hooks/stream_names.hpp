// NVTX names streams by their handle, CUPTI's records by a number: whoever can tell one from the other puts itself
// here.
#pragma once

#include <atomic>
#include <cstdint>

namespace prof {

inline std::atomic<bool (*)(void* stream, std::uint32_t& id) noexcept> stream_id_lookup{nullptr};

}  // namespace prof
