// SPDX-License-Identifier: Apache-2.0
#include "c_api/c_border.hpp"

#include <pthread.h>

#include <climits>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include "base/thread_sanitizer.hpp"
#include "session/process/injections.hpp"
#include "session/process/process.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

// The text of prof_last_error on a thread. Not an object with a destructor: exit handlers, and the destructors of the
// program's thread-specific data, run after thread_local objects were destroyed, and may ask for it or set it.
struct error_text {
    const char* latest;  // null: there was no failure
    char* own;           // from malloc
    std::size_t size;    // of that
    int rounds;          // of destructors that have run for this thread
};
__thread error_text of_thread __attribute__((tls_model("initial-exec"))) = {};
pthread_key_t end_key;
pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

void replace_own_text(char* text, std::size_t size) noexcept {
    std::free(std::exchange(of_thread.own, text));
    of_thread.latest = text;
    of_thread.size = size;
}

// At the end of a thread. Destructors of the program's that run later may still use the text, so it lives until the
// last round of destructors. The thread sanitizer ends its own work for the thread in that round, and then the thread
// must not run code that it has instrumented.
constexpr int last_round = PTHREAD_DESTRUCTOR_ITERATIONS - (has_thread_sanitizer ? 1 : 0);

void at_end_of_thread(void*) noexcept {
    const bool is_last = ++of_thread.rounds >= last_round;
    if (is_last || pthread_setspecific(end_key, &of_thread) != 0) replace_own_text(nullptr, 0);
}

void make_end_key() noexcept { (void)pthread_key_create(&end_key, at_end_of_thread); }

}  // namespace

const char* last_error_text() noexcept { return of_thread.latest == nullptr ? "" : of_thread.latest; }

int fail(prof_result code, std::string_view line) noexcept {
    constexpr std::size_t usual_size = 1024;
    if (line.size() >= of_thread.size) {
        const std::size_t size = std::max(line.size() + 1, usual_size);
        auto* const text = static_cast<char*>(std::malloc(size));
        if (text == nullptr) {
            of_thread.latest = "out of memory";
            return code;
        }
        std::memcpy(text, line.data(), line.size());  // before the old text is freed: `line` may be in it
        replace_own_text(text, size);
    } else {
        std::memmove(of_thread.own, line.data(), line.size());
    }
    of_thread.own[line.size()] = '\0';
    of_thread.latest = of_thread.own;
    (void)pthread_once(&end_key_once, make_end_key);
    (void)pthread_setspecific(end_key, &of_thread);
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

int as_result(const outcome& result) { return result.ok() ? int{PROF_OK} : fail(code_of(result), result.message()); }

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
