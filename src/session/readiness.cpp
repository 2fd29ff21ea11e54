// SPDX-License-Identifier: Apache-2.0
#include "session/readiness.hpp"

#include <exception>

#include "base/cancellation_guard.hpp"
#include "base/signal_handler.hpp"
#include "ring/registry.hpp"
#include "session/process/injections.hpp"
#include "session/process/process.hpp"
#include "session/process/warn_once.hpp"
#include "session/recording.hpp"

namespace prof {

bool is_ready() noexcept {
    if (region_for_records() != nullptr) [[likely]]
        return true;
    if (gate_was_wiped() || has_more_rights_than_its_user() || first_copy() != nullptr) return false;
    // The handler may have interrupted the allocator, which the session needs.
    if (is_in_signal_handler()) return false;
    const cancellation_guard guard;
    try {
        recording_session::instance().prepare();
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
    return installed_region() != nullptr;
}

}  // namespace prof
