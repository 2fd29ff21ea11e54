// SPDX-License-Identifier: Apache-2.0
#include "session/process/session_mutex.hpp"

namespace prof {

__thread unsigned session_mutexes_held __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace prof
