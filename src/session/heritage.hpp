// What a session leaves to children that are forked from now on: whole at any moment, since a fork may come in the
// midst of anything and a child has no use for its parent's locks.
#pragma once

#include <string>

#include "options/options.hpp"

namespace prof {

struct heritage {
    session_options environment;  // of recordings that are started without options
    session_options options;      // of the one under way, or of the latest
    std::string folder;           // where it began; "": not known
    bool records = false;         // a recording is under way
    bool is_paused = false;       // by prof_pause, not by its plan
};

// In a forked child: what its parent has left, if anything.
const heritage* inherited() noexcept;

// False in a child of a process in which CUDA was, or was about to be.
bool has_gpu_of_its_own() noexcept;

// Those of a child's recording: what depends on steps and ranges of the parent's is left out.
session_options options_of_child(const session_options& parents, bool may_use_gpu);

}  // namespace prof
