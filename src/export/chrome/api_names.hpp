// The name of a CUDA API call, from CUPTI's callback id: the name the programmer wrote, without the suffixes that tell
// an entry point's version or its default stream (`_v7000`, `_ptsz`) and without the compiler's leading underscores.
// The callback id, which the trace carries too, distinguishes them. Ids keep their meaning over all CUPTI versions from
// 12.0 on; one that is newer than the table has no name. Constant; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/record.hpp"

namespace prof {

// "" for an unknown id.
std::string_view api_name(api_domain domain, std::uint32_t callback_id) noexcept;

}  // namespace prof
