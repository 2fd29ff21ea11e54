// SPDX-License-Identifier: Apache-2.0
// The profiler plugin that NCCL would have loaded if libprof were not there. libprof calls it with what it asked for,
// so it works as before.
//
// It is found by NCCL's rules when the first communicator is made: by the variable's value that libprof replaced, or
// NCCL's configuration files, else the file libnccl-profiler.so, else the network plugin. Loading takes as long as the
// loader; passing on costs a call.
#pragma once

#include <cstdint>
#include <string>

#include "hooks/nccl/profiler_abi.hpp"

namespace prof::nccl {

// The name of libprof's own plugin.
inline constexpr const char* own_name = "libprof";
inline constexpr const char* plugin_variable = "NCCL_PROFILER_PLUGIN";
// libprof's variable: the value that it replaced there. A process that inherits both knows its plugin by it.
inline constexpr const char* replaced_variable = "PROF_NCCL_REPLACED";
// NCCL cuts off longer paths.
inline constexpr std::size_t longest_path = 254;

// The plugin; its interface is that of `version`, or there is none (0).
struct chained_plugin {
    int version = 0;
    bool is_refused = false;  // the user wants no plugin at all: the name is "none"
    const char* name = "";
    const profiler_v4* v4 = nullptr;     // of version 4
    const profiler_v5* later = nullptr;  // of versions 5 and 6
    const char* problem = "";            // why a plugin that exists is not called; else ""

    // Whether it gets events of this kind if it asked for `wanted`. NCCL sends kinds that enclose what was asked for.
    bool gets(std::uint32_t wanted, std::uint32_t kind) const noexcept;
    nccl_result init(void** context, std::uint64_t id, int* mask, const char* communicator, int nodes, int ranks,
                     int rank, log_function log) const noexcept;
    nccl_result start(void* context, void** handle, const event_descriptor& event, std::uint32_t kind,
                      int came_by) const noexcept;
    nccl_result stop(void* handle) const noexcept;
    nccl_result record_state(void* handle, int state, state_arguments* arguments) const noexcept;
    nccl_result finalize(void* context) const noexcept;
};

// Loads it at the first call. `newest`: the version by which NCCL calls libprof. Any thread, but no hook: it calls the
// loader and allocates.
const chained_plugin& the_chained_plugin(int newest) noexcept;

}  // namespace prof::nccl
