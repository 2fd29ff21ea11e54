// SPDX-License-Identifier: Apache-2.0
// The values of the options nvtx_domain_include, nvtx_domain_exclude. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prof {

// "NCCL,cu*" → its patterns; a comma after a backslash is part of a pattern. False if a pattern is empty.
bool parse_domain_list(std::string_view list, std::vector<std::string>& patterns);

}  // namespace prof
