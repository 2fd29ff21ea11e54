// SPDX-License-Identifier: Apache-2.0
// The C interface by which the state of the recording is read (prof/prof.h). Nothing throws across it.
#include <prof/prof.h>

#include <string>

#include "base/export_symbol.hpp"
#include "c_api/c_border.hpp"
#include "session/own_status.hpp"

namespace prof {
namespace {

prof_state public_state(const session_status& status) noexcept {
    switch (status.state) {
        case recording_state::idle:
            return PROF_STATE_IDLE;
        case recording_state::recording:
            return status.is_waiting ? PROF_STATE_WAITING : PROF_STATE_RECORDING;
        case recording_state::paused:
            return PROF_STATE_PAUSED;
        case recording_state::between_windows:
            return PROF_STATE_BETWEEN_WINDOWS;
        case recording_state::warming_up:
            return PROF_STATE_WARMING_UP;
        case recording_state::completing:
            return PROF_STATE_COMPLETING;
    }
    return PROF_STATE_IDLE;
}

prof_status public_status(const session_status& status) noexcept {
    prof_status out{};
    out.state = public_state(status);
    out.records_gpu = status.records_gpu ? 1 : 0;
    out.state_ns = status.state_ns;
    out.steps = status.steps;
    out.windows = status.windows;
    out.records = status.records;
    out.bytes = status.bytes;
    for (const auto& [cause, count] : status.dropped) out.dropped += count;
    out.memory = status.memory;
    return out;
}

// The status, after the recording of a forked child has begun.
result<session_status> present_status() {
    (void)begun_session();
    return read_own_status();
}

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT int prof_get_status(prof_status* out, size_t size) {
    return guarded([&]() -> int {
        constexpr std::size_t first_version = 64;
        if (const int usable = fill_struct<first_version, 64>(prof_status{}, "prof_status", out, size);
            usable != PROF_OK) {
            return usable;
        }
        const result<session_status> now = present_status();
        if (!now.ok()) return as_result(now.failure());
        return fill_struct<first_version, 64>(public_status(now.value()), "prof_status", out, size);
    });
}

PROF_EXPORT size_t prof_status_json(char* buffer, size_t size) {
    std::size_t length = 0;
    (void)guarded([&]() -> int {
        result<session_status> now = present_status();
        if (!now.ok()) return as_result(now.failure());
        add_process(now.value());
        length = copy_text(status_json(now.value()), buffer, size);
        return PROF_OK;
    });
    return length;
}
