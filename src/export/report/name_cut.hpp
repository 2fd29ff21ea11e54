// SPDX-License-Identifier: Apache-2.0
// Names in less room than they need. Pure functions; time linear in the length of the names.
//
// What matters least goes first. Of a name of C++ these are, in this order: the return type and "(anonymous
// namespace)::", the parameters, what stands in inner template arguments, the namespaces. What is then still too long
// keeps its beginning and the most specific argument (a functor), or loses its middle, as every other name does.
// Names that differ stay different: where the rest would be alike, each has its beginning and the part from which on
// they differ, or as a last resort a number.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

// One name in at most `width` cells.
std::string cut_name(std::string_view name, std::size_t width);
// The names of a column. REQUIRES: for names to stay different, a width that has room for a number behind a letter.
std::vector<std::string> cut_names(const std::vector<std::string>& names, std::size_t width);

}  // namespace prof
