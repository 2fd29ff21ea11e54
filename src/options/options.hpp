// Every option of a recording, in one table: the environment (PROF_OUTPUT_DIR), prof_start's settings
// ("output_dir=…") and `prof run` all go through it. docs/reference/options.md is checked against this table by a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "record/activities.hpp"

namespace prof {

// Bounds of the option `memory`.
inline constexpr std::uint64_t least_memory_bytes = 16ULL << 20;
inline constexpr std::uint64_t most_memory_bytes = 4ULL << 30;

struct session_options {
    std::string output_dir = "prof-captures";
    std::string name;  // "": the program's name, or the script's
    std::string rank;  // "": from RANK, SLURM_PROCID, …, else 0
    bool export_trace = true;
    bool export_summary = true;
    bool autostart = true;
    std::string cupti_library;
    std::string rings = "auto";
    std::uint64_t memory = 64U << 20;  // divided by session/memory_plan.hpp
    bool compress = false;
    std::string cuda_graphs = "nodes";  // or "graphs": one record a launch
    std::string api_calls = "driver";   // or "runtime": whose calls are recorded
    std::string activities = "all";     // a list that record/activities.hpp parses
    bool idle_graph_nodes = false;
    std::string adopt = "auto";
    bool fold = true;
    std::size_t rows = 40;  // of the summary's table at most; SIZE_MAX: all
    std::string pytorch = "ranges";
    bool phases = true;               // observed in Python programs under `prof run`
    std::string modules = "off";      // or all, or a depth: of PyTorch's modules, as phases
    std::string nvtx_domain_include;  // lists that options/domain_list.hpp parses
    std::string nvtx_domain_exclude;
    std::string schedule;    // "": no schedule; else schedule_plan.hpp parses it
    std::string step_range;  // "": prof_step counts the steps; else a range does (hooks/nvtx/watched_ranges.hpp)
    std::string capture_range = "none";  // or cudaProfilerApi, nvtx, steps
    std::string nvtx_capture;            // the range of capture_range=nvtx
    std::string steps;                   // those of capture_range=steps
    std::string capture_range_end = "stop";
    std::string budget;                   // "": none; else budget_plan.hpp parses it
    std::string keep;                     // "": everything; else keep.hpp parses it
    std::string dump_on_slow_step;        // "": none; else slow_steps.hpp parses it
    std::uint64_t dump_limit = 10;        // of those dumps
    std::string export_each = "run";      // or "window": a capture each
    std::string control = "auto";         // or on, off: the socket of `prof ctl`
    std::string control_signal = "none";  // or a signal's name: what starts and stops
    bool forked_children = true;          // that make ranges are recorded
    std::string run_id;

    bool operator==(const session_options&) const = default;
};

struct option {
    std::string_view name;     // output_dir; the environment's is PROF_OUTPUT_DIR
    std::string_view accepts;  // what a value may be, for the line that refuses one
    bool (*set)(session_options& out, const std::string& value);
};

std::span<const option> option_table() noexcept;

activity_set activities_of(const session_options& options) noexcept;
// Graphs are listened for while nothing is recorded: idle_graph_nodes, where their nodes are recorded at all.
bool observes_idle_graphs(const session_options& options) noexcept;

// Sets one option. Returns "" or one line that says what is wrong and what is accepted.
std::string set_option(session_options& out, std::string_view name, const std::string& value);

// The same of "name=value".
std::string set_from_text(session_options& out, std::string_view setting);

// The signal of such a name (USR1); 0 for none.
int signal_number(std::string_view name) noexcept;

// Reads PROF_… from the environment. Bad values keep the default; `complaint` gets the first one's line.
session_options options_from_environment(std::string& complaint);

}  // namespace prof
