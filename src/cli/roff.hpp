// SPDX-License-Identifier: Apache-2.0
// A manual page for man(1), made of the text that --help prints (manual.hpp). Any thread.
#pragma once

#include <string>

namespace prof {

// `page`: manual_page() of the command; "" for the program's own. `version`: of the program.
std::string roff_page(const std::string& page, const std::string& command, const std::string& version);

}  // namespace prof
