// SPDX-License-Identifier: Apache-2.0
// libprof as NCCL's profiler plugin: what NCCL tells about its collective operations becomes records of the thread that
// NCCL calls on. NCCL finds it by the variable NCCL_PROFILER_PLUGIN (session/process/injections.hpp).
//
// NCCL calls a plugin for the kinds of events in a mask, a variable of its own that it reads at each call of the
// program. The mask has libprof's kinds while a window is open, and not between windows. So an operation between
// windows costs what it costs without a plugin; in a window it costs three records.
//
// On one thread come, for each operation: collective_call, when the program calls it; collective_launch, before the
// launch of the kernel; CUPTI's record of the launch; collective_work, for each operation that the kernel carries.
// Where NCCL gives work to a thread of CUDA's, collective_work comes there, for each replay of a graph again.
// Operations are identified by a number, which is also the handle that NCCL gets: nothing is allocated, and a handle is
// valid for ever.
#pragma once

#include <cstdint>

#include "hooks/nccl/profiler_abi.hpp"

namespace prof::nccl {

// From here on the mask follows the gate (ring/gate.hpp), if that is wanted. Any thread, any number of times.
void follow_windows(bool wanted) noexcept;

// Whether NCCL's configuration, and not the variable, says that it shall have no plugin. Known from the first
// communicator on.
bool is_refused_by_configuration() noexcept;
// Why the user's plugin is not called, although there is one; else "". Known likewise.
const char* problem_of_chained_plugin() noexcept;

// The functions of the interface. `version`: by which NCCL calls.
nccl_result add_communicator(int version, void** context, std::uint64_t id, int* mask, const char* name, int nodes,
                             int ranks, int rank, log_function log) noexcept;
nccl_result start_event(int version, void* context, void** handle, event_descriptor* event) noexcept;
nccl_result stop_event(void* handle) noexcept;
nccl_result record_state(void* handle, int state, state_arguments* arguments) noexcept;
nccl_result finalize(void* context) noexcept;

}  // namespace prof::nccl
