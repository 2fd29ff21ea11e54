// SPDX-License-Identifier: Apache-2.0
// Captures for the tests of traces and reports, worked by hand: every kind of event once or more, at times whose
// consequences can be told with pencil and paper.
#pragma once

#include <string>

#include "support/capture_builder.hpp"
#include "timeline/timeline.hpp"

namespace prof {

// A name that every writer must survive: quote, backslash, control character, a look-alike of our escape, bytes that
// are no UTF-8, and letters beyond ASCII.
inline const std::string hostile_name =
    std::string("evil \"name\" \\ \n\t\x01 \\x41 \xFF\xC0\xAF größer \xE5\xB1 ") + '\0' + "end";

// Two threads, one of them autograd's; two domains that interleave; a graph launch; two streams; kernels that overlap
// on one stream; all kinds of transfers; a second attachment of CUPTI; marks; start/end ranges; a hostile name.
timeline eventful_capture();

// Two thousand kernels back to back, at times of day and with odd nanoseconds: any rounding makes them overlap.
timeline dense_capture();

// A step that was captured as a CUDA graph and is replayed twice by its nodes; and a graph recorded as a whole.
timeline graph_capture();

// Two contexts of one GPU that number their streams alike, with names; and payloads at the ends of what they can be.
timeline edge_capture();

// One stream after another, of which HTA's tables can be worked out by hand (hta_test.py does).
timeline hta_capture();

// One rank of two, with steps that were observed and their phases, and an all-reduce in each; rank 1 is late in all.
timeline steps_capture(unsigned rank);

}  // namespace prof
