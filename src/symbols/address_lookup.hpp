// SPDX-License-Identifier: Apache-2.0
// From addresses in programs and libraries to functions, files and lines. Functions come from the file's own table of
// symbols, files and lines from `llvm-symbolizer` or `addr2line`, of which one is run if there is one. A file that is
// not the one whose addresses they are, by its build id, is not asked; its separate debug information below
// /usr/lib/debug is.
//
// Any thread. Reads files and may run a program, for at most longest_lookup (symbolizer.hpp).
#pragma once

#include <vector>

#include "symbols/code_address.hpp"

namespace prof {

// Of each address its places, the innermost inlined function first; none if nothing is known.
std::vector<std::vector<code_place>> places_of(const std::vector<code_address>& addresses, bool may_run_programs);

}  // namespace prof
