// SPDX-License-Identifier: Apache-2.0
// The captures in a directory, and which of them one run left there. Reads the first chunks of each file. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace prof {

struct run_capture {
    std::string path{};
    std::string host{};
    std::string run_id{};  // "" of a program that was not started by `prof run`
    std::uint64_t rank = 0;
    std::uint64_t world_size = 0;  // 0: unknown
    std::uint64_t pid = 0;
    std::uint64_t created_ns = 0;   // CLOCK_REALTIME
    std::uint64_t forked_from = 0;  // the parent's pid; 0: no forked child's capture

    bool is_forked_childs() const noexcept { return forked_from != 0; }
};

struct directory_captures {
    // Of all files that are named like a capture: by rank, then by process. Those that cannot be read are last. Without
    // any, the traces (*.json, *.json.gz) by name, and files among them that are named like one and are none, such as
    // one that was cut off: prof export puts those that it makes beside the captures.
    std::vector<std::string> files{};
    std::size_t runs = 0;  // of `prof run`, with captures among them
};

// Throws prof::error if the directory cannot be read.
directory_captures captures_in(const std::string& directory);

// By rank, then by process. A file that cannot be read, or that has another run_id, is left out.
std::vector<run_capture> captures_of_run(const std::string& directory, const std::string& run_id);

// The captures of the run to which the newest capture belongs, in the same order. Those of `prof run` are of one run if
// they have one run_id. Others are if they are of one process and its forked children, or of ranks that began within
// two minutes.
std::vector<run_capture> captures_of_newest_run(const std::string& directory);

}  // namespace prof
