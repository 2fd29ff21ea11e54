// SPDX-License-Identifier: Apache-2.0
#include "session/c_border.hpp"

#include <new>
#include <string>

#include "session/injections.hpp"
#include "session/process.hpp"
#include "session/warn_once.hpp"

namespace prof {
namespace {

std::string& last_error() noexcept {
    static thread_local std::string text;
    return text;
}

}  // namespace

const char* last_error_text() noexcept { return last_error().c_str(); }

int fail(prof_result code, std::string_view line) noexcept {
    try {
        last_error() = line;
    } catch (const std::bad_alloc&) {
        last_error() = "out of memory";  // so short a text needs none
    }
    return code;
}

int check_process() {
    if (gate_was_wiped()) {
        return fail(PROF_WRONG_STATE, "this is a child made without fork(): it has no session (exec gives it one)");
    }
    if (has_more_rights_than_its_user()) {
        return fail(PROF_WRONG_STATE, "a set-user-id program, or one whose file has capabilities, is not recorded");
    }
    if (first_copy() != nullptr) {
        const std::string line = std::string{"this is a second copy of libprof; the process's session belongs to "} +
                                 first_copy() + ", whose functions are to be called";
        warn_once(line);
        return fail(PROF_WRONG_STATE, line);
    }
    recording_session::wake_threads();
    return PROF_OK;
}

int refuse_callback() noexcept {
    return fail(PROF_WRONG_STATE,
                "a callback or a log sink may read libprof's state, but not call this: another thread may");
}

recording_session& begun_session() {
    recording_session& session = recording_session::instance();
    session.begin_inherited();
    return session;
}

prof_result code_of(const outcome& of) noexcept {
    switch (of.code()) {
        case outcome_code::ok:
            return PROF_OK;
        case outcome_code::wrong_state:
            return PROF_WRONG_STATE;
        case outcome_code::failed:
            break;
    }
    return PROF_FAILED;
}

int as_result(const outcome& of) { return of.ok() ? int{PROF_OK} : fail(code_of(of), of.message()); }

int refuse_null(const char* argument) noexcept {
    try {
        return fail(PROF_INVALID_ARGUMENT, std::string(argument) + " is NULL");
    } catch (const std::bad_alloc&) {
        return fail(PROF_INVALID_ARGUMENT, "NULL");
    }
}

std::size_t copy_text(std::string_view text, char* buffer, std::size_t size) noexcept {
    if (buffer != nullptr && size != 0) {
        const std::size_t copied = std::min(text.size(), size - 1);
        std::memcpy(buffer, text.data(), copied);
        buffer[copied] = 0;
    }
    return text.size();
}

}  // namespace prof
