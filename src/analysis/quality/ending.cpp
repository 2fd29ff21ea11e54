// SPDX-License-Identifier: Apache-2.0
#include "analysis/quality/ending.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

namespace prof {
namespace {

// Of a capture that was not sealed.
std::string what_is_known(const timeline& data) {
    switch (data.quality.process) {
        case process_state::running:
            return "process " + data.property("pid") + " still runs: this is what it has recorded so far";
        case process_state::gone:
            return "the process ended without closing this capture: prof seal completes the file";
        case process_state::unknown:
            break;
    }
    return "the process ended, or is still running, without closing this capture";
}

std::string manner_of(const timeline& data) {
    const std::uint32_t how = data.quality.how;
    if (how >= exit_status_base) {
        return fmt::format("the process ended with status {} without exit handlers (os._exit or exec)",
                           how - exit_status_base);
    }
    if (how == 0) {
        return ended_as_workers_do(data) ? "the process ended without exit handlers (os._exit)"
                                         : "the process ended without exit handlers (os._exit), or was killed";
    }
    const char* const name = sigabbrev_np(static_cast<int>(how));
    return fmt::format("the process was killed by signal {}{}", how,
                       name == nullptr ? std::string() : fmt::format(" (SIG{})", name));
}

bool lost_nothing(const timeline_quality& quality) {
    return quality.is_recovered_whole && quality.dropped.empty() && quality.damage.empty() &&
           quality.launches_without_completion == 0;
}

}  // namespace

bool ended_as_workers_do(const timeline& data) {
    return data.quality.died && data.quality.how == 0 && data.properties.contains("forked_from") &&
           data.quality.ranges_open_at_end == 0;
}

std::string how_it_ended(const timeline& data) {
    if (data.quality.ended) return "the recording was closed in good order";
    if (!data.quality.died) return what_is_known(data);
    return manner_of(data) + (lost_nothing(data.quality) ? "; nothing was lost" : "");
}

}  // namespace prof
