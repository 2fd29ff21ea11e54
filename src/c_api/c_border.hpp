// SPDX-License-Identifier: Apache-2.0
// What the functions of the C interface (prof/prof.h) share: results, the thread's last error, and the border that
// no exception crosses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include <prof/prof.h>

#include "base/cancellation_guard.hpp"
#include "base/outcome.hpp"
#include "session/process/events.hpp"
#include "session/process/result_code.hpp"
#include "session/recording.hpp"

namespace prof {

// The text of prof_last_error on this thread.
const char* last_error_text() noexcept;

// Sets the thread's last error to `line`. Returns `code`.
int fail(prof_result code, std::string_view line) noexcept;

// PROF_OK, or a failure with the thread's last error set.
int as_result(const outcome& result);
// PROF_INVALID_ARGUMENT: `argument` of the function is NULL.
int refuse_null(const char* argument) noexcept;

// PROF_OK if this copy of libprof may be called in this process.
int check_process();
// PROF_WRONG_STATE, with the thread's last error set: a callback or a sink of the program's cannot control the
// recording (prof_set_callback).
int refuse_callback() noexcept;

// Runs `action`, which returns a prof_result; turns an exception into one. Not noexcept, like all that is below a
// function of the interface: the end of the cancellation_guard may unwind the thread.
template <typename TAction>
int guarded(TAction&& action) {
    const cancellation_guard guard;
    try {
        const int callable = check_process();
        return callable != PROF_OK ? callable : action();
    } catch (const std::exception& failure) {
        return fail(PROF_FAILED, failure.what());
    }
}

// The same for a function that controls the recording or waits for it.
template <typename TAction>
int controlled(TAction&& action) {
    return guarded([&]() -> int { return is_event_thread() ? refuse_callback() : action(); });
}

// Copies at most `size` bytes of the text to `buffer`, including a terminating zero; none if `buffer` is null. Returns
// the text's length.
std::size_t copy_text(std::string_view text, char* buffer, std::size_t size) noexcept;

// Fills a struct of a caller that was compiled with this or another version of it: fields are only added, at the end.
// `first_version`: the size of the first version. `current`: the size of this one. `size`: the caller's; one that no
// version can have is refused.
template <std::size_t first_version, std::size_t current, typename TStruct>
int fill_struct(const TStruct& filled, const char* type, TStruct* out, std::size_t size) {
    constexpr std::size_t largest = 4096;
    static_assert(sizeof(TStruct) == current && first_version <= current && current <= largest);
    if (out == nullptr) return refuse_null(type);
    if (size < first_version || size > largest) {
        return fail(PROF_INVALID_ARGUMENT, std::to_string(size) + " is no sizeof(" + type + "); it takes " +
                                               std::to_string(first_version) + " bytes or more" +
                                               (size > largest ? ", 4096 at most" : ""));
    }
    std::memset(out, 0, size);
    std::memcpy(out, &filled, std::min(size, sizeof filled));
    return PROF_OK;
}

// The session, after the recording of a forked child has begun.
recording_session& begun_session();

}  // namespace prof
