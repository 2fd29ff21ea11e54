// SPDX-License-Identifier: Apache-2.0
// Whether the process's ranges can be recorded, for ways in that may come before NVTX's and CUDA's.
#pragma once

namespace prof {

// Prepares the session, if that was not done yet; in a forked child, begins its recording. False: this copy of libprof
// does not have the session of this process, or the preparation has failed, as one line on standard error has said. Any
// thread. Costs a load once the session is prepared.
bool is_ready() noexcept;

}  // namespace prof
