// SPDX-License-Identifier: Apache-2.0
#include "timeline/record_run.hpp"

#include <algorithm>

namespace prof {

record_survey survey_of(std::span<const record> records) {
    record_survey out;
    for (const record& r : records) {
        out.earliest_ticks = std::min(out.earliest_ticks, r.ticks);
        out.ranges += r.kind == record_kind::range_push || r.kind == record_kind::range_start ? 1 : 0;
        out.api_calls += r.kind == record_kind::api_enter ? 1 : 0;
        out.marks += r.kind == record_kind::mark ? 1 : 0;
        if (r.kind == record_kind::parent_here) out.places.push_back(r.value);
    }
    return out;
}

}  // namespace prof
