// SPDX-License-Identifier: Apache-2.0
// The script and the style sheet of a page, of the files in export/page/web/: cmake/ProfPageFiles.cmake puts them into
// the program.
#pragma once

#include <string_view>

namespace prof {

std::string_view page_script() noexcept;
std::string_view page_style() noexcept;

}  // namespace prof
