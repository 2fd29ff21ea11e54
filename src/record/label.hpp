// A name that the process gave to one of its things: an NVTX domain, category, thread or stream.
//
// Labels are few and given at any time, before a session too, so they do not go through the rings: they stand in an
// append-only table in the shared mapping (ring/region.hpp) and are copied to the capture byte for byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace prof {

// The domain of what libprof observes of a program: its phases.
inline constexpr std::string_view phase_domain = "prof.phases";
// Calls of modules (torch.nn.Module): a range's name is MODULE.PATH (CLASS), its payload the number that autograd would
// have given to the next node when it began, and at its end the same again (modules.hpp of analysis).
inline constexpr std::string_view module_domain = "prof.modules";
// The category of a phase "backward" that makes a graph of its own (create_graph).
inline constexpr std::uint32_t makes_graph = 1;
// What told where a phase "step" ends: its range's category (prof_step_witness).
inline constexpr std::uint32_t optimizer_witness = 1;
inline constexpr std::uint32_t call_witness = 2;
inline constexpr std::uint32_t annotation_witness = 3;
inline constexpr std::uint32_t profiler_witness = 4;

enum class label_kind : std::uint32_t {
    none = 0,
    domain = 1,    // key = domain index
    category = 2,  // key = domain index << 32 | category id
    thread = 3,    // key = thread_key
    stream = 4,    // key = stream_key
};

struct label {
    label_kind kind = label_kind::none;
    std::uint32_t name = 0;  // id in the name table
    std::uint64_t key = 0;
};
static_assert(sizeof(label) == 16);

// A tid is given to another thread when this one has ended, a uid (of which the low half is here) is not. 0: not known.
constexpr std::uint64_t thread_key(std::uint64_t uid, std::uint32_t tid) noexcept { return uid << 32 | tid; }

// CUPTI's ids. That of a stream is unique within its context, that of a context in the process. 0: context not known.
constexpr std::uint64_t stream_key(std::uint32_t context, std::uint32_t stream) noexcept {
    return std::uint64_t{context} << 32 | stream;
}

}  // namespace prof
