// SPDX-License-Identifier: Apache-2.0
// Finds the files of rings that dead processes have left. Such a file is mostly in memory (/dev/shm), and is removed
// only when its capture is sealed. Setup code: reads the directory. Any thread; no exception but std::bad_alloc.
#pragma once

#include <string>

namespace prof {

// One line on such files of this user's processes beside the file `own`; "" if there are none. A file whose process
// number belongs to a living process is not reported, and a container may not see all processes.
std::string left_rings_notice(const std::string& own);

}  // namespace prof
