// NVTX's tool side: turns the process's range calls into records. NVTX calls these functions on the thread that made
// the range; they are noexcept, take no lock, allocate nothing (but the first on a thread attaches it to a ring), and
// cost one clock read and one ring write.
#pragma once

#include <cstdint>

#include "hooks/nvtx/nvtx_types.hpp"

namespace prof {

// From InitializeInjectionNvtx2: puts the hooks into the function tables of one NVTX instance (every shared object
// that uses NVTX has its own, so this is called several times, perhaps at once). False if it offers no tables.
bool install_nvtx_hooks(NvtxGetExportTableFunc_t get_export_table) noexcept;

// Whether what PyTorch's NVTX observer appends to names is taken off and kept as numbers (torch_text.hpp). Any thread,
// at any time.
void split_torch_texts(bool split) noexcept;

// A mark of ours in the domain "prof", as if the process had made it.
void record_mark(const char* text, std::uint64_t payload) noexcept;

}  // namespace prof
