// SPDX-License-Identifier: Apache-2.0
// What the critical path of the steps consists of: its time by kind and by kernel or place.
#pragma once

#include "analysis/breakdown/code_places.hpp"
#include "analysis/breakdown/host_activity.hpp"
#include "diagnose/diagnosis.hpp"
#include "diagnose/replay/dependencies.hpp"

namespace prof {

// Sets path, wall_ns and bound_by of `out`. Linear in the length of the path.
void share_path(const dependency_graph& graph, const attribution& att, const host_activity& host, code_places& where,
                diagnosis& out);

}  // namespace prof
