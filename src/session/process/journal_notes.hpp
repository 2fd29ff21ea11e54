// SPDX-License-Identifier: Apache-2.0
// The journal of `prof run` (cli/run_journal.hpp): processes of its command note there why they have no capture. Any
// thread.
#pragma once

#include <string>
#include <string_view>

namespace prof {

// Appends "lost PID WHY" to the file `journal`, if there is such a file of the user's; "" is none. One write, of a line
// that is cut to its first 1000 bytes.
void note_loss(const std::string& journal, std::string_view reason) noexcept;

// Likewise "beside PID TOOL": this process is a tool that uses the GPU's interfaces itself (base/gpu_tools.hpp).
void note_gpu_tool(const std::string& journal, std::string_view tool) noexcept;

}  // namespace prof
