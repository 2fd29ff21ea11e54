// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace prof {

// Which thread reads the file of a timeline. With one of its own, a large capture is read and checked while the calling
// thread works with what it has: for commands only, since inside a profiled program another thread takes the program's
// cores.
enum class reading_thread : std::uint8_t { callers, own };

}  // namespace prof
