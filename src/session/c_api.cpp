// The C interface over the session: control of a recording (prof/prof.h). Nothing throws across it.
#include <prof/prof.h>

#include <cstring>
#include <string>

#include "base/version.hpp"
#include "options/plans.hpp"
#include "session/autostart.hpp"
#include "session/c_border.hpp"
#include "session/control.hpp"
#include "session/export_symbol.hpp"
#include "session/injections.hpp"
#include "session/process.hpp"

using namespace prof;

PROF_EXPORT const char* prof_version() { return library_version; }

PROF_EXPORT int prof_version_number() { return PROF_VERSION_NUMBER; }

PROF_EXPORT const char* prof_last_error() { return last_error_text(); }

PROF_EXPORT int prof_start(const char* const* settings) {
    return guarded([&]() -> int {
        recording_session& session = begun_session();
        session_options options = session.environment_options();
        for (; settings != nullptr && *settings != nullptr; ++settings) {
            const outcome set = set_from_text(options, *settings);
            if (!set.ok()) return fail(PROF_INVALID_ARGUMENT, set.message());
        }
        if (const outcome plan = plan_problem(options); !plan.ok()) {
            return fail(PROF_INVALID_ARGUMENT, plan.message());
        }
        if (!session.refuses_start()) {
            const outcome prepared = session.prepare_directory(options);
            if (!prepared.ok()) return as_result(prepared);
        }
        const outcome started = session.start(options, requester::program);
        if (started.ok()) open_control();
        return as_result(started);
    });
}

PROF_EXPORT int prof_autostart() {
    return guarded([] {
        note_autostart();
        recording_session::instance().begin_by_itself();
        return PROF_OK;
    });
}

PROF_EXPORT int prof_stop() {
    return guarded([] { return as_result(recording_session::instance().stop()); });
}

PROF_EXPORT int prof_pause() {
    return guarded([] { return as_result(begun_session().pause()); });
}

PROF_EXPORT int prof_resume() {
    return guarded([] { return as_result(begun_session().resume()); });
}

PROF_EXPORT int prof_sync() {
    return guarded([] { return as_result(begun_session().sync()); });
}

PROF_EXPORT int prof_before_exit() {
    return guarded([] { return as_result(recording_session::instance().before_exit()); });
}

PROF_EXPORT int prof_keep_text(const char* key, const char* text) {
    constexpr std::size_t longest = 1U << 20;
    return guarded([&]() -> int {
        if (key == nullptr || text == nullptr || std::strlen(key) > longest || std::strlen(text) > longest) {
            return PROF_INVALID_ARGUMENT;
        }
        const bool is_kept = recording_session::instance().keep_text(std::string{"text."} + key, text);
        return is_kept ? PROF_OK : fail(PROF_WRONG_STATE, "nothing is recorded");
    });
}

PROF_EXPORT int prof_dump(const char* path) {
    return guarded(
        [&]() -> int { return as_result(begun_session().dump(path == nullptr ? "" : path, false).failure()); });
}

PROF_EXPORT int prof_step() {
    return guarded(
        []() -> int { return begun_session().step() ? PROF_OK : fail(PROF_WRONG_STATE, "no recording is running"); });
}

PROF_EXPORT int prof_is_recording() {
    if (first_copy() != nullptr || has_more_rights_than_its_user()) return 0;
    return recording_session::instance().recording() ? 1 : 0;
}

PROF_EXPORT size_t prof_capture_path(char* buffer, size_t size) {
    std::size_t length = 0;
    (void)guarded([&]() -> int {
        const std::string path = begun_session().capture_path();
        length = path.size();
        if (buffer != nullptr && size != 0) {
            const std::size_t copied = length < size ? length : size - 1;
            std::memcpy(buffer, path.data(), copied);
            buffer[copied] = 0;
        }
        return PROF_OK;
    });
    return length;
}
