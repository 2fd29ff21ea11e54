// What the functions of the C interface (prof/prof.h) share: results, the thread's last error, and the border that
// no exception crosses.
#pragma once

#include <exception>
#include <string_view>

#include <prof/prof.h>

#include "base/outcome.hpp"
#include "session/recording.hpp"

namespace prof {

// The text of prof_last_error on this thread.
const char* last_error_text() noexcept;

// Sets the thread's last error to `line`. Returns `code`.
int fail(prof_result code, std::string_view line) noexcept;

// PROF_OK, or a failure with the thread's last error set.
int as_result(const outcome& of);

// PROF_OK if this copy of libprof may be called in this process.
int check_process();

// Runs `action`, which returns a prof_result; turns an exception into one.
template <typename TAction>
int guarded(TAction&& action) noexcept {
    try {
        const int callable = check_process();
        return callable != PROF_OK ? callable : action();
    } catch (const std::exception& failure) {
        return fail(PROF_FAILED, failure.what());
    }
}

// The session, after the recording of a forked child has begun.
recording_session& begun_session();

}  // namespace prof
