// What a recording leaves to be done is done as far as there is memory for it.
#pragma once

#include <exception>
#include <new>

#include "session/warn_once.hpp"

namespace prof {

// Runs `action`. Where that throws, libprof's line says why, and what follows is done all the same: a drain thread that
// nobody finishes would go on with memory that is no longer its own.
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
