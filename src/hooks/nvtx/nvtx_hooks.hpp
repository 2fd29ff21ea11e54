// NVTX's tool side: turns the process's range calls into records. NVTX calls these functions on the thread that made
// the range; they are noexcept, take no lock, allocate nothing (but the first on a thread attaches it to a ring), and
// cost one clock read and one ring write.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hooks/nvtx/nvtx_types.hpp"
#include "hooks/nvtx/payload_schemas.hpp"

namespace prof {

// From InitializeInjectionNvtx2: puts the hooks into the function tables of one NVTX instance (every shared object
// that uses NVTX has its own, so this is called several times, perhaps at once). False if it offers no tables.
bool install_nvtx_hooks(NvtxGetExportTableFunc_t get_export_table) noexcept;

// What NVTX's payload extension calls: events whose attributes are extended payloads, and ranges that end with one (a
// plain push and this pop belong together; NCCL does so). The first number of bytes in the payloads is kept; of the end
// of a start/end range nothing is.
void NVTX_API on_mark_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept;
int NVTX_API on_push_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept;
int NVTX_API on_pop_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data, std::size_t count) noexcept;
nvtxRangeId_t NVTX_API on_start_payload(nvtxDomainHandle_t d, const nvtxPayloadData_t* data,
                                        std::size_t count) noexcept;
void NVTX_API on_end_payload(nvtxDomainHandle_t d, nvtxRangeId_t id, const nvtxPayloadData_t* data,
                             std::size_t count) noexcept;

// Whether what PyTorch's NVTX observer appends to names is taken off and kept as numbers (torch_text.hpp). Any thread,
// at any time.
void split_torch_texts(bool split) noexcept;

// A phase: a range of ours in the domain "prof.phases". False: it is not recorded, and there is nothing to pop.
bool push_phase(const char* name, std::uint32_t category) noexcept;
void pop_phase() noexcept;
// A module's call: a range in the domain "prof.modules". `sequence`: autograd's next number; -1: not known.
bool push_module(const char* name, std::int64_t sequence) noexcept;
void pop_module(std::int64_t sequence) noexcept;
// A phase's in NVTX's default domain.
bool push_plain(const char* name) noexcept;
void pop_plain() noexcept;

// A mark of ours in the domain "prof", as if the process had made it.
void record_mark(const char* text, std::uint64_t payload) noexcept;

}  // namespace prof
