// SPDX-License-Identifier: Apache-2.0
// Makes libprof's hooks the NVTX tool of the program that this is linked into, without a library to load: NVTX looks at
// this pointer of its own when nothing else names a tool.
#include "hooks/nvtx/nvtx_hooks.hpp"

namespace {

int NVTX_API install(NvtxGetExportTableFunc_t get_export_table) {
    return prof::install_nvtx_hooks(get_export_table) ? 1 : 0;
}

[[maybe_unused]] const bool is_installed = [] {
    InitializeInjectionNvtx2_fnptr = install;
    return true;
}();

}  // namespace
