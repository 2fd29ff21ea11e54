// SPDX-License-Identifier: Apache-2.0
// The types of the options' values (option_rows.inl). A forked child copies them with session_options: each is a value
// that refers to no other object.
#pragma once

#include <cstdint>
#include <string>

#include "record/activities.hpp"

namespace prof {

// A value and the text that it was parsed from. Captures and messages show the text as the user wrote it.
template <typename TValue>
struct as_written {
    std::string text;  // "": the option is not set
    TValue value{};

    bool empty() const noexcept { return text.empty(); }
    friend bool operator==(const as_written& a, const as_written& b) noexcept { return a.text == b.text; }
};

inline as_written<activity_set> all_activities() { return {"all", activity_set::all()}; }

// What is made of a capture.
struct export_set {
    bool trace = true;
    bool summary = true;
    bool html = false;  // which `prof run` makes at the end; libprof.so has no pages

    bool any() const noexcept { return trace || summary || html; }
    bool any_of_process() const noexcept { return trace || summary; }
    bool operator==(const export_set&) const = default;
};

// What stands for a launch of a CUDA graph: a record of each of its nodes, or one record.
enum class graph_detail : std::uint8_t { nodes, graphs };

// Whose functions are recorded as calls.
enum class call_level : std::uint8_t { driver, runtime };

// Which of PyTorch's ranges are recorded.
enum class pytorch_detail : std::uint8_t { ranges, ops, off };

// What opens and ends a window.
enum class window_trigger : std::uint8_t { none, profiler_calls, nvtx_range, steps };

// What gets a capture of its own.
enum class capture_unit : std::uint8_t { run, window };

// Whether there is a socket for `prof ctl`. `automatic`: where it can be, and nothing is reported elsewhere.
enum class control_use : std::uint8_t { automatic, on, off };

// Bounds of the option `memory`.
inline constexpr std::uint64_t least_memory_bytes = 16ULL << 20;
inline constexpr std::uint64_t most_memory_bytes = 4ULL << 30;

// The depth of the option `modules` that stands for the whole tree.
inline constexpr std::uint32_t all_modules = UINT32_MAX;

}  // namespace prof
