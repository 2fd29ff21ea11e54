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
    return PROF_OK;
}

recording_session& begun_session() {
    recording_session& session = recording_session::instance();
    session.begin_inherited();
    return session;
}

int as_result(const outcome& of) {
    switch (of.code()) {
        case outcome_code::ok:
            return PROF_OK;
        case outcome_code::wrong_state:
            return fail(PROF_WRONG_STATE, of.message());
        case outcome_code::failed:
            break;
    }
    return fail(PROF_FAILED, of.message());
}

}  // namespace prof
