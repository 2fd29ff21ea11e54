// SPDX-License-Identifier: Apache-2.0
// Shows a text that is longer than the terminal with a pager, as git does. One thread.
#pragma once

#include <string>

namespace prof {

// Writes the text to standard output: by the pager if that is a terminal with fewer lines than the text has, else as it
// is. The pager is $PROF_PAGER, else $PAGER, else `less -FRX`; "" and `cat` are none. One that cannot be started is
// none, and one that the reader quits is no error. Throws prof::error if standard output cannot be written.
void print_paged(const std::string& text);

}  // namespace prof
