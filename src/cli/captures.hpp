// SPDX-License-Identifier: Apache-2.0
// The captures that one `prof run` left in its output directory. Reads the first chunks of each file there. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace prof {

struct run_capture {
    std::string path;
    std::uint64_t rank = 0;
    std::uint64_t pid = 0;
    bool is_forked_childs = false;
    bool may_have_gpu_work = true;
};

// By rank, then by process. A file that cannot be read, or that has another run_id, is left out.
std::vector<run_capture> captures_of_run(const std::string& directory, const std::string& run_id);

}  // namespace prof
