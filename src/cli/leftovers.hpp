// SPDX-License-Identifier: Apache-2.0
// What processes of this user left when they were killed: rings, control sockets, journals of runs. One thread.
#pragma once

#include <string>

namespace prof {

// Removes it, after what the rings hold was put into the captures. `rings`: the option, by which this run's own rings
// are in the same place. One line reports what was done to rings.
void clean_leftovers(const std::string& rings);

}  // namespace prof
