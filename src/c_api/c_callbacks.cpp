// SPDX-License-Identifier: Apache-2.0
// The C interface by which the program gets events and libprof's log (prof/prof.h). Nothing throws across it.
#include <prof/prof.h>

#include <cstdint>

#include "base/export_symbol.hpp"
#include "c_api/c_border.hpp"
#include "session/process/events.hpp"

using namespace prof;

PROF_EXPORT int prof_set_callback(prof_callback callback, void* user, uint32_t kinds) {
    return controlled([&]() -> int {
        constexpr std::uint32_t known = PROF_EVENT_ALL;
        if ((kinds & ~known) != 0) return fail(PROF_INVALID_ARGUMENT, "kinds: it has bits of unknown events");
        if (callback != nullptr && kinds == 0) return fail(PROF_INVALID_ARGUMENT, "kinds: none is named");
        return as_result(set_event_callback(callback, user, kinds));
    });
}

PROF_EXPORT int prof_set_log(prof_log_sink sink, void* user) {
    return controlled([&]() -> int { return as_result(set_log_sink(sink, user)); });
}
