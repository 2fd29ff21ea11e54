// SPDX-License-Identifier: Apache-2.0
// In which modules (docs/guide/modules.md) the time is that a finding would save. One thread.
#pragma once

#include <string>
#include <vector>

#include "analysis/reports/module_texts.hpp"
#include "diagnose/replay/dependencies.hpp"
#include "diagnose/replay/replay.hpp"

namespace prof {

// The three with the most time and their shares of it, "GPT2.h.*.attn (62 %)", if at least 5 %; none if most of the
// time is in no module. Of `changes` with more than 20,000 events or operations, from so many of them at equal
// distances.
std::vector<std::string> modules_of(const replay_changes& changes, const dependency_graph& graph,
                                    module_texts& modules);

}  // namespace prof
