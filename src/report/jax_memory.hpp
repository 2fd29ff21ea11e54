// SPDX-License-Identifier: Apache-2.0
// What JAX says of its memory when a recording ends: its allocators' figures, and the arrays and programs that are
// alive (hooks/jax/python/prof_jax.py). Pure functions of a timeline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

struct jax_device_memory {
    std::string device{};                   // "cuda:0"
    std::optional<std::uint64_t> in_use{};  // bytes; not known of backends without figures, as the CPU's
    std::optional<std::uint64_t> peak{};    // of the process until then
    std::optional<std::uint64_t> limit{};   // that the allocator may have
    std::optional<std::uint64_t> reserved{};
};

struct jax_holder {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
    std::string kind{};      // "buffer", "executable"
    bool has_memory = true;  // else it is an array whose allocation failed
    std::string device{};
    std::string file{};  // of the innermost frame of the program's own code; "": not known
    std::uint32_t line = 0;
    std::string function{};
};

// The out-of-memory error that ended the program.
struct jax_memory_error {
    std::string message{};  // JAX's own: "RESOURCE_EXHAUSTED: Out of memory while trying to allocate …"; "": none
    std::string file{};     // of the innermost line of the program's own code; "": not known
    std::uint32_t line = 0;
    std::string function{};
};

struct jax_memory {
    std::vector<jax_device_memory> devices{};
    std::vector<jax_holder> holders{};  // the largest first
    jax_memory_error error{};
};
jax_memory jax_memory_of(const timeline& data);

// "JAX's allocator on cuda:0 had 3.10 GB in use at the end of the recording, 5.20 GB at most, of 60.00 GB"; one line a
// device, or that there are no figures.
std::vector<std::string> jax_memory_lines(const jax_memory& of);

// The error, where it was, and what held most of the memory when the program ended; "" without an error.
std::string jax_error_text(const jax_memory& of, const timeline& data);

// The device that is fullest, in a few words: "5.20 GB of 60.00 GB in JAX's allocator at most, 3.10 GB at the end"; ""
// without figures.
std::string jax_peak_text(const jax_memory& of);

}  // namespace prof
