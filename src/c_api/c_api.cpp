// SPDX-License-Identifier: Apache-2.0
// The C interface over the session: control of a recording (prof/prof.h). Nothing throws across it.
#include <prof/prof.h>

#include <cstring>
#include <string>

#include "base/export_symbol.hpp"
#include "base/version.hpp"
#include "c_api/c_border.hpp"
#include "capture/format.hpp"
#include "options/plans.hpp"
#include "session/control.hpp"
#include "session/process/autostart.hpp"
#include "session/process/earlier_nvtx.hpp"
#include "session/process/injections.hpp"
#include "session/process/process.hpp"

namespace prof {
namespace {

int dump_to(const char* path, char* buffer, std::size_t size) {
    return controlled([&]() -> int {
        if (buffer != nullptr && size != 0) *buffer = 0;
        const result<std::string> dumped = begun_session().dump(path == nullptr ? "" : path, false);
        if (dumped.ok()) (void)copy_text(dumped.value(), buffer, size);
        return as_result(dumped.failure());
    });
}

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT const char* prof_version() { return library_version; }

PROF_EXPORT int prof_version_number() { return PROF_VERSION_NUMBER; }

PROF_EXPORT const char* prof_last_error() { return last_error_text(); }

PROF_EXPORT const char* prof_result_text(int result) {
    switch (result) {
        case PROF_OK:
            return "ok";
        case PROF_INVALID_ARGUMENT:
            return "invalid argument";
        case PROF_WRONG_STATE:
            return "wrong state";
        case PROF_FAILED:
            return "failed";
        default:
            return "unknown result";
    }
}

PROF_EXPORT int prof_start(const char* const* settings) {
    return controlled([&]() -> int {
        recording_session& session = begun_session();
        session_options options = session.environment_options();
        for (; settings != nullptr && *settings != nullptr; ++settings) {
            const outcome set = set_from_text(options, *settings);
            if (!set.ok()) return fail(PROF_INVALID_ARGUMENT, set.message());
        }
        if (const outcome plan = plan_problem(options); !plan.ok()) {
            return fail(PROF_INVALID_ARGUMENT, plan.message());
        }
        attach_to_earlier_nvtx();
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
    return controlled([] {
        const int result = as_result(recording_session::instance().stop());
        if (!recording_session::instance().recording()) (void)rest_control();
        if (recording_session::instance().recording()) wake_control();  // another thread has begun one
        return result;
    });
}

PROF_EXPORT int prof_pause() {
    return controlled([] { return as_result(begun_session().pause()); });
}

PROF_EXPORT int prof_resume() {
    return controlled([] { return as_result(begun_session().resume()); });
}

PROF_EXPORT int prof_sync() {
    return controlled([] { return as_result(begun_session().sync()); });
}

PROF_EXPORT int prof_before_exit() {
    return controlled([] { return as_result(recording_session::instance().before_exit()); });
}

PROF_EXPORT int prof_keep_text(const char* key, const char* text) {
    constexpr std::size_t longest = 1U << 20;
    return controlled([&]() -> int {
        if (key == nullptr) return refuse_null("key");
        if (text == nullptr) return refuse_null("text");
        if (std::strlen(key) > longest || std::strlen(text) > longest) {
            return fail(PROF_INVALID_ARGUMENT, "a key and a text may have 1 MiB each");
        }
        return as_result(recording_session::instance().keep_text(std::string{format::text_prefix} + key, text));
    });
}

PROF_EXPORT int prof_dump(const char* path) { return dump_to(path, nullptr, 0); }

PROF_EXPORT int prof_dump_to(const char* path, char* buffer, size_t size) { return dump_to(path, buffer, size); }

PROF_EXPORT int prof_step() {
    return controlled(
        []() -> int { return begun_session().step() ? PROF_OK : fail(PROF_WRONG_STATE, "no recording is running"); });
}

PROF_EXPORT int prof_is_recording() {
    // The first condition: a child that pthread_atfork's handlers have not seen.
    if (gate_was_wiped() || first_copy() != nullptr || has_more_rights_than_its_user()) return 0;
    const cancellation_guard guard;
    return recording_session::instance().recording() ? 1 : 0;
}

PROF_EXPORT size_t prof_capture_path(char* buffer, size_t size) {
    std::size_t length = 0;
    (void)guarded([&]() -> int {
        length = copy_text(begun_session().capture_path(), buffer, size);
        return PROF_OK;
    });
    return length;
}
