// SPDX-License-Identifier: Apache-2.0
// The tool side of NVTX: turns the process's range calls into records. NVTX calls these functions on the thread that
// makes the range. They are noexcept, take no lock and do not allocate; only the first call on a thread does, because
// it attaches the thread to a ring. Cost: one clock read and one ring write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hooks/nvtx/nvtx_types.hpp"
#include "hooks/nvtx/payload_schemas.hpp"
#include "record/record.hpp"

namespace prof {

// Puts the hooks into the function tables of one NVTX instance. Called from InitializeInjectionNvtx2. Every shared
// object that uses NVTX has an instance of its own, so this is called several times, perhaps at once. Returns false if
// the instance offers no tables.
bool install_nvtx_hooks(NvtxGetExportTableFunc_t get_export_table) noexcept;
// The same, with the instance's table of callbacks.
bool install_nvtx_hooks(const NvtxExportTableCallbacks& callbacks) noexcept;

// Called by NVTX's payload extension, for events whose attributes are extended payloads, and for ranges that end with
// one. (A plain push may be paired with this pop; NCCL does that.) The first number of bytes in the payloads is kept. A
// payload at the end of a start/end range is not recorded.
void NVTX_API on_mark_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept;
int NVTX_API on_push_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept;
int NVTX_API on_pop_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept;
nvtxRangeId_t NVTX_API on_start_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data,
                                        std::size_t count) noexcept;
void NVTX_API on_end_payload(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxPayloadData_t* data,
                             std::size_t count) noexcept;

// Whether the suffix that PyTorch's NVTX observer appends to names is cut off and kept as numbers (torch_text.hpp). Any
// thread, at any time.
void split_torch_texts(bool split) noexcept;

// A phase: a range that libprof makes in the domain "prof.phases". False: it is not recorded, and there is nothing to
// pop.
bool push_phase(const char* name, std::uint32_t category) noexcept;
bool pop_phase() noexcept;  // false: nothing is recorded
// The call of a module: a range in the domain "prof.modules". `sequence`: autograd's next number; -1: not known.
bool push_module(const char* name, std::int64_t sequence) noexcept;
void pop_module(std::int64_t sequence) noexcept;
// A record function of PyTorch's, in the default domain; pop_plain() ends it. `number`: of the range, counted in the
// process from 1. `sequence`: autograd's; -1: none.
bool push_torch(const char* name, torch_scope scope, std::uint64_t number, std::int64_t sequence) noexcept;
// For the C interface: as if the process had called NVTX, in its default domain. False: it is not recorded.
bool push_plain(const nvtxEventAttributes_t& event) noexcept;
bool pop_plain() noexcept;                                               // false: nothing is recorded
std::uint64_t start_plain(const nvtxEventAttributes_t& event) noexcept;  // 0: not recorded
bool end_plain(std::uint64_t id) noexcept;
bool mark_plain(const nvtxEventAttributes_t& event) noexcept;
void name_plain_category(std::uint32_t category, const char* name) noexcept;
// A value of a counter (counter_domain).
bool count_plain(const nvtxEventAttributes_t& event) noexcept;

// In a forked child, from pthread_atfork: start/end ranges until now are the parent's, and their ends are not recorded.
void leave_ranges_to_parent() noexcept;

// A mark that libprof makes in the domain "prof", recorded as if the process had made it.
void record_mark(const char* text, std::uint64_t payload) noexcept;

}  // namespace prof
