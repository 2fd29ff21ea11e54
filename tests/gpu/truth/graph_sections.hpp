// SPDX-License-Identifier: Apache-2.0
// Sections of the truth program: graphs, and less usual ways to launch.
#pragma once

#include "stage.hpp"

namespace truth {

// A step captured with its ranges, and replayed.
void graphs(stage& on);
// `if`, `while` and `switch`, with kernels before and after, and put into a stream capture.
void conditional(stage& on);
// A condition alone in its graph: nothing of its launches has a correlation id, times decide.
void body_alone(stage& on);
// A child, and a child of a child, that were added by calls; the originals are destroyed.
void children(stage& on);
// One executable graph, launched before and after its nodes were exchanged for those of other captures.
void updates(stage& on);
// Cooperative and programmatic dependent launches; a graph that the device could launch, too.
void launch_kinds(stage& on);

}  // namespace truth
