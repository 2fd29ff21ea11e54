// SPDX-License-Identifier: Apache-2.0
// NVTX that the program used before libprof was loaded (hooks/nvtx/earlier_instances.hpp). Any thread.
#pragma once

#include <string>

namespace prof {

// Notes whether libprof was loaded after the program had begun. Its constructor calls this.
void note_late_load() noexcept;

// Before a recording begins: attaches to NVTX where that was used before. Does nothing from the second call on, and in
// a program that was started with libprof.
void attach_to_earlier_nvtx();

// What is not recorded because of that, for people; "": nothing.
std::string earlier_nvtx_notice();

}  // namespace prof
