// SPDX-License-Identifier: Apache-2.0
// Why a command could not be started. Looks at the file of that name. One thread.
#pragma once

#include <string>

namespace prof {

// One line in the words of shells, with what to do where that is known. `error`: the errno of exec or fork.
std::string start_failure(const std::string& command, int error);

}  // namespace prof
