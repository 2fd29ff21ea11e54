// SPDX-License-Identifier: Apache-2.0
// Labels: names that the process gave to NVTX domains, categories, threads and streams. Also the domains and categories
// with a meaning of their own in libprof. Constants and plain data.
//
// Labels are few, and may be set at any time, even before a session. So they do not go through the rings. They are
// stored in an append-only table in the shared mapping (ring/region.hpp) and copied to the capture byte for byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace prof {

// The domain of the phases that libprof observes in a program.
inline constexpr std::string_view phase_domain = "prof.phases";
// The domain of calls of modules (torch.nn.Module). A range's name is MODULE.PATH (CLASS). The payloads of its begin
// and of its end are the numbers that autograd would have given to the next node at these moments
// (analysis/modules/module_calls.hpp).
inline constexpr std::string_view module_domain = "prof.modules";
// The domain of counters: a mark there has the counter's name, and its value as the payload.
inline constexpr std::string_view counter_domain = "prof.counters";
// PyTorch's autograd engine opens a range around each node: `autograd::engine::evaluate_function: MulBackward0`.
inline constexpr std::string_view engine_prefix = "autograd::engine::evaluate_function: ";
// Whether an operator is a backward node, by its name: `AddmmBackward0`, before PyTorch 1.10 `AddmmBackward`, and the
// engine's ranges around them.
constexpr bool is_backward_node(std::string_view name) noexcept {
    if (name.starts_with(engine_prefix)) return true;
    while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
    return name.ends_with("Backward") || name.ends_with("AccumulateGrad");
}
// The category of a phase "backward" that builds a graph of its own (create_graph).
inline constexpr std::uint32_t makes_graph = 1;
// The category of a phase "step": the event that ended the step. As enum prof_step_witness in prof.h; 0: unknown.
inline constexpr std::uint32_t optimizer_witness = 1;
inline constexpr std::uint32_t call_witness = 2;
inline constexpr std::uint32_t annotation_witness = 3;
inline constexpr std::uint32_t profiler_witness = 4;

enum class label_kind : std::uint32_t {
    none = 0,
    domain = 1,        // key = domain index
    category = 2,      // key = domain index << 32 | category id
    thread = 3,        // key = thread_key
    stream = 4,        // key = stream_key
    communicator = 5,  // key = the communicator's number; the name is a communicator_text (record/collective.hpp)
};

struct label {
    label_kind kind = label_kind::none;
    std::uint32_t name = 0;  // id in the name table
    std::uint64_t key = 0;   // of what is named, by kind
};
static_assert(sizeof(label) == 16);

// The key of a thread. The tid of an ended thread is reused, its uid is not; the key has the low half of the uid.
// uid 0: not known.
constexpr std::uint64_t thread_key(std::uint64_t uid, std::uint32_t tid) noexcept { return uid << 32 | tid; }

// The key of a stream, of CUPTI's ids. A stream's id is unique within its context, a context's within the process.
// context 0: not known.
constexpr std::uint64_t stream_key(std::uint32_t context, std::uint32_t stream) noexcept {
    return std::uint64_t{context} << 32 | stream;
}

}  // namespace prof
