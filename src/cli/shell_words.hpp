// SPDX-License-Identifier: Apache-2.0
// A command line in one word, divided as a shell divides it. One thread.
#pragma once

#include <string>
#include <vector>

namespace prof {

// With its quotes, variables and file patterns; commands in it ($(...), |, ;) are refused. Throws usage_error, whose
// line begins with `option`.
std::vector<std::string> shell_words(const std::string& text, const std::string& option);

}  // namespace prof
