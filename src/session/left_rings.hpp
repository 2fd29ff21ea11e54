// Files of rings that dead processes have left. They are memory, mostly, and it is freed only when their captures are
// sealed.
#pragma once

#include <string>

namespace prof {

// One line on such files of this user's processes beside the file `own`; "" if there are none. A file whose process
// number belongs to a living process is not reported, and a container may not see all processes.
std::string left_rings_notice(const std::string& own);

}  // namespace prof
