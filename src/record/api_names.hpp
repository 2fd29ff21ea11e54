// SPDX-License-Identifier: Apache-2.0
// The name of a CUDA API call, by CUPTI's callback id. It is the name that the programmer wrote: without the suffixes
// for the version or the default stream of an entry point (`_v7000`, `_ptsz`), and without the compiler's leading
// underscores. The trace also has the callback id, which distinguishes these variants. Ids have the same meaning in all
// CUPTI versions from 12.0 on; an id newer than the table has no name. Constant; any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/record.hpp"

namespace prof {

// Returns "" for an unknown id.
std::string_view api_name(api_domain domain, std::uint32_t callback_id) noexcept;

}  // namespace prof
