// SPDX-License-Identifier: Apache-2.0
// For work that must go on after a failure: what is left to be done at the end of a recording.
#pragma once

#include <exception>
#include <new>

#include "session/process/warn_once.hpp"

namespace prof {

// Runs `action`. Where that throws, libprof's line on stderr states why, and the caller goes on: a drain thread that is
// not finished would use memory that is no longer its own.
template <typename TAction>
void do_as_far_as_memory_goes(TAction&& action) noexcept {
    try {
        action();
    } catch (const std::bad_alloc&) {
        warn_once("no memory for what is left to be done of a recording");
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
}

}  // namespace prof
