// Files of rings that processes which died have left: memory, mostly, that nobody gives back before their captures are
// sealed.
#pragma once

#include <string>

namespace prof {

// One line on those of this user's processes that stand beside the file `own`; "" if there are none. Whose process is
// another's that lives is not reported; a container may not see all of them.
std::string left_rings_notice(const std::string& own);

}  // namespace prof
