// SPDX-License-Identifier: Apache-2.0
// Observes PyTorch's record functions: the ranges of torch.profiler.record_function, autograd's nodes and operators.
// Each becomes a range, as if the process had pushed and popped it by NVTX in its default domain.
//
// PyTorch calls a global callback at the begin and the end of each record function, on whichever thread it runs
// (at::addGlobalCallback, ATen/record_function.h). libprof adds such callbacks. It has no profiler state: a thread can
// have one of these only, which belongs to the profilers of the program (torch.profiler, emit_nvtx, ...), and the end
// of a range finds in it what its begin did not put there. So no order in which libprof and a profiler of the program
// begin and end has an effect on the other.
//
// libprof is not compiled against PyTorch. The functions below are exported by libtorch_cpu.so under the same names
// since PyTorch 1.12. What is passed to them by value or read from an object has a layout of its own here
// (record_functions.cpp), and what is read is checked first.
#pragma once

#include <cstdint>

namespace prof {

// Addresses of functions of libtorch_cpu.so.
struct torch_library {
    const void* add_global_callback;  // at::addGlobalCallback(at::RecordFunctionCallback)
    const void* remove_callback;      // at::removeCallback(unsigned long)
    const void* name;                 // at::RecordFunction::name() const
    const void* profiler_type;        // torch::profiler::impl::profilerType(); null: not known
};

// Whether ranges can be recorded. Called while no region is installed, on a thread that begins a record function.
using readiness_function = bool (*)() noexcept;

// Which record functions are observed: bits numbered as at::RecordScope.
struct torch_scopes {
    std::uint64_t ranges;     // RecordScope::USER_SCOPE
    std::uint64_t functions;  // operators, autograd's nodes
};

// Adds the callbacks, if they are not there. False: a function is missing. These two are called by one thread at a
// time, and take PyTorch's lock of its callbacks; a record function that runs meanwhile on another thread is observed
// from its begin or not at all.
bool observe_record_functions(const torch_library& torch, torch_scopes scopes, readiness_function is_ready) noexcept;
void leave_record_functions() noexcept;

// Until the second call record functions are not recorded, and only the place of their sequence numbers is found. For
// a record function whose name PyTorch was given as text; without it, operators before the first such one have no
// number.
void begin_torch_trial() noexcept;
void end_torch_trial() noexcept;

}  // namespace prof
