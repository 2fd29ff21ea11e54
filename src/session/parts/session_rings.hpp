// SPDX-License-Identifier: Apache-2.0
// The memory that hooks write to, with the name of its file, and what is kept about CUDA graphs from the records in it.
//
// Made once, and never unmapped: hooks may be in it until the last instruction of the process. Any thread, unless a
// function states otherwise. Its lock is one of the last (lock_order.hpp).
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "collect/history/graph_history.hpp"
#include "collect/history/retention.hpp"
#include "hooks/cupti/tracer.hpp"
#include "options/options.hpp"
#include "ring/region.hpp"
#include "ring/registry.hpp"
#include "session/process/session_mutex.hpp"

namespace prof {

class session_rings {
public:
    // `inherits`: in a forked child. `first_use`: called at the first record after install().
    session_rings(bool inherits, first_use_function first_use) noexcept : inherits_(inherits), first_use_(first_use) {}

    bool are_made() const noexcept { return region_.load() != nullptr; }
    // Makes them, and sets the sizes of CUPTI's buffers, which share the option `memory`. Throws prof::error. By one
    // thread at a time. REQUIRES: !are_made().
    void make(const session_options& options, bool may_use_gpu, tracer_options& gpu_sizes);
    // REQUIRES: are_made(), as all that follows.
    region& memory() const noexcept { return *region_.load(); }

    // From now on hooks write to them, and `first_use` is called at the first record.
    void install() const noexcept;
    // Likewise, but nothing is called.
    void install_unobserved() const noexcept;

    // The graph history belongs to the drain thread that was made with it.
    graph_history* history() PROF_EXCLUDES(mutex_);
    // From now on it would miss what happens to graphs, so a new one begins. REQUIRES: no drain thread has it.
    void forget_history() PROF_EXCLUDES(mutex_);
    // Releases records that were left in the rings when the last recording ended: a thread was between its check of the
    // gate and its write. `observes`: the history gets them. REQUIRES: no drain thread.
    void discard_leftovers(bool observes);

    // In a forked child: what its capture states about it. The rings keep their name only under `prof run`, which seals
    // captures afterwards, and only in a bounded number of children: rings of a child that is killed stay where they
    // have a name.
    void describe_child(const session_options& options, property_list& properties);
    bool inherits() const noexcept { return inherits_; }
    bool have_name() const noexcept { return !are_nameless_.load(); }
    // The file loses its name, and vanishes with the process. Does nothing where no rings are made.
    void take_name_off() noexcept;
    // At the end of the process: the mapping stays. Does nothing where no rings are made.
    void remove_file() noexcept;

private:
    bool keep_their_name(const session_options& options);

    const bool inherits_;
    const first_use_function first_use_;
    std::atomic<region*> region_{nullptr};
    session_mutex mutex_;
    std::unique_ptr<graph_history> history_ PROF_GUARDED_BY(mutex_);
    std::atomic<bool> are_nameless_{false};
    std::atomic<bool> are_counted_{false};  // among the named rings of children
};

}  // namespace prof
