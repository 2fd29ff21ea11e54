// SPDX-License-Identifier: Apache-2.0
// Which CUDA call an event of a trace is, and how the host sees it. Pure functions; one hash look-up at most.
#pragma once

#include <cstdint>
#include <string_view>

#include "record/record.hpp"

namespace prof {

struct trace_call {
    api_domain domain = api_domain::none;
    std::uint32_t cbid = 0;
    api_class kind = api_class::launch;
    bool launches_kernel = false;
    bool ends_capture = false;  // of a stream into a graph
    // Whether libprof records the function. Another one counts as a launch if it has put work on a GPU.
    bool is_recorded = false;
    bool is_hip = false;  // of AMD's runtime: has the id of the function of CUDA's that does the same
};

// `cbid`: -1 if the event has none. An id that has another name in CUPTI gives way to the name.
trace_call call_of(api_domain domain, std::string_view name, std::int64_t cbid);

}  // namespace prof
