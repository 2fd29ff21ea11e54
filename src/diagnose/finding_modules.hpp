// SPDX-License-Identifier: Apache-2.0
// In which modules (docs/guide/modules.md) the time is that a finding would save. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/modules/module_texts.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "diagnose/replay/replay.hpp"

namespace prof {

// The time of a finding by module. Of a part's changes with more events or operations than `most_sampled`, of so many
// of them at equal distances.
class finding_modules {
public:
    // What would change in a part of the steps, which `modules` looks at.
    void add(const replay_changes& changes, const dependency_graph& graph, module_texts& modules,
             std::size_t most_sampled);
    // The three with the most time and their shares of it, "GPT2.h.*.attn (62 %)", if at least 5 %; none if most of the
    // time is in no module.
    std::vector<std::string> largest() const;

private:
    void add_event(const event_change& change, const dependency_graph& graph, module_texts& modules);
    void add_op(const op_change& change, const dependency_graph& graph, module_texts& modules);
    void add_at(const dependency_graph& graph, module_texts& modules, thread_id thread, std::int64_t time_ns,
                std::int64_t ns);
    void add_time(const std::string& module, std::int64_t ns);

    std::map<std::string, std::int64_t> times_ns_;
    std::int64_t total_ns_ = 0;
};

}  // namespace prof
