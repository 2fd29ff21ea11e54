// SPDX-License-Identifier: Apache-2.0
// Text inside HTML and XML. Pure.
#pragma once

#include <string>
#include <string_view>

namespace prof {

// With the characters that markup gives a meaning to as references, so that it may stand in elements and in attributes.
std::string markup_text(std::string_view text);

}  // namespace prof
