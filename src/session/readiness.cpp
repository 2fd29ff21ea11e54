// SPDX-License-Identifier: Apache-2.0
#include "session/readiness.hpp"

#include <exception>

#include "ring/registry.hpp"
#include "session/injections.hpp"
#include "session/process.hpp"
#include "session/recording.hpp"
#include "session/warn_once.hpp"

namespace prof {

bool is_ready() noexcept {
    if (installed_region() != nullptr) [[likely]]
        return true;
    if (gate_was_wiped() || has_more_rights_than_its_user() || first_copy() != nullptr) return false;
    try {
        recording_session::instance().prepare();
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
    return installed_region() != nullptr;
}

}  // namespace prof
