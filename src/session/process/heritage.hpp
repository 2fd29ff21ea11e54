// SPDX-License-Identifier: Apache-2.0
// What a session leaves to children that are forked from now on. It is complete at any moment: a fork may happen in the
// middle of anything, and a child must not wait for a lock of its parent's.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "options/options.hpp"

namespace prof {

struct heritage {
    session_options environment;  // of recordings that are started without options
    session_options options;      // of the present recording, or of the latest
    std::string directory;        // where it began; "": not known
    bool records = false;         // a recording runs
    bool is_paused = false;       // by prof_pause, not by its plan
};

// Publishes the heritage. By one thread at a time; any number of threads may fork meanwhile.
class heritage_publisher {
public:
    void publish(std::unique_ptr<const heritage> now) noexcept;

private:
    std::unique_ptr<const heritage> latest_;
    std::unique_ptr<const heritage> before_;  // a fork may have begun before there was a newer one
};

// What this process has published last; null: nothing.
const heritage* published_heritage() noexcept;

// In a forked child, from pthread_atfork: what the parent has left, if anything.
void inherit(const heritage* left) noexcept;
const heritage* inherited() noexcept;  // null in a process that is no such child
pid_t parent_of_child() noexcept;

// The options of a child's recording: those that a child inherits (option::child_inherits), no exports, and no GPU work
// unless it `may_use_gpu`.
session_options options_of_child(const session_options& parents, bool may_use_gpu);

}  // namespace prof
