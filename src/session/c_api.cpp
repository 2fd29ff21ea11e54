// The C interface (prof/prof.h) over the session. Nothing throws across it.
#include <prof/prof.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "analysis/projection.hpp"
#include "session/control.hpp"
#include "session/exports.hpp"
#include "session/injections.hpp"
#include "session/plans.hpp"
#include "session/recording.hpp"
#include "session/version.hpp"
#include "timeline/timeline.hpp"

#define PROF_EXPORT extern "C" [[gnu::visibility("default")]]

struct prof_summary {
    prof::projection projection;
    std::uint64_t dropped = 0;
};

namespace prof {
namespace {

std::string& last_error() noexcept {
    static thread_local std::string text;
    return text;
}

int fail(prof_result code, const std::string& line) {
    last_error() = line;
    return code;
}

// Runs `action`, which returns a prof_result; turns whatever it throws into one.
template <typename TAction>
int guarded(TAction&& action) noexcept {
    try {
        if (in_forked_child()) {
            return fail(PROF_WRONG_STATE, "this is a forked child: it has no session (exec gives it one of its own)");
        }
        if (first_copy() != nullptr) {
            const std::string line =
                std::string{"this is a second copy of libprof; the process's session belongs to "} + first_copy() +
                ", whose functions are to be called";
            complain_once(line);
            return fail(PROF_WRONG_STATE, line);
        }
        return action();
    } catch (const std::exception& failure) {
        return fail(PROF_FAILED, failure.what());
    }
}

int as_result(session_result result, const std::string& problem) {
    switch (result) {
        case session_result::ok:
            return PROF_OK;
        case session_result::wrong_state:
            return fail(PROF_WRONG_STATE, problem);
        case session_result::failed:
            break;
    }
    return fail(PROF_FAILED, problem);
}

prof_summary_row public_row(const projection_row& row) noexcept {
    prof_summary_row out{};
    out.path = row.path.c_str();
    out.depth = row.depth;
    out.captured = row.is_captured ? 1 : 0;
    out.instances = row.instances;
    out.host_ns = row.host_ns;
    out.gpu_sum_ns = row.gpu_sum_ns;
    out.gpu_self_ns = row.gpu_self_ns;
    out.gpu_child_ns = row.gpu_child_ns;
    out.gpu_busy_ns = row.gpu_busy_ns;
    out.gpu_span_ns = row.gpu_span_ns;
    out.ops = row.ops;
    out.self_ops = row.self_ops;
    out.adopted_ops = row.adopted_ops;
    out.adopted_ns = row.adopted_ns;
    out.communication_ns = row.communication_ns;
    out.wait_ns = row.wait_ns;
    out.payload_bytes = row.payload_bytes;
    return out;
}

}  // namespace
}  // namespace prof

using namespace prof;

PROF_EXPORT const char* prof_version() { return library_version; }

PROF_EXPORT const char* prof_last_error() { return last_error().c_str(); }

PROF_EXPORT int prof_start(const char* const* settings) {
    return guarded([&]() -> int {
        recording_session& session = recording_session::instance();
        session_options options = session.environment_options();
        for (; settings != nullptr && *settings != nullptr; ++settings) {
            const std::string problem = set_from_text(options, *settings);
            if (!problem.empty()) return fail(PROF_INVALID_ARGUMENT, problem);
        }
        std::string problem = plan_problem(options);
        if (!problem.empty()) return fail(PROF_INVALID_ARGUMENT, problem);
        const session_result result = session.start(options, problem);
        if (result == session_result::ok) open_control();
        return as_result(result, problem);
    });
}

PROF_EXPORT int prof_stop() {
    return guarded([] {
        std::string problem;
        return as_result(recording_session::instance().stop(problem), problem);
    });
}

PROF_EXPORT int prof_pause() {
    return guarded([] {
        std::string problem;
        return as_result(recording_session::instance().pause(problem), problem);
    });
}

PROF_EXPORT int prof_resume() {
    return guarded([] {
        std::string problem;
        return as_result(recording_session::instance().resume(problem), problem);
    });
}

PROF_EXPORT int prof_sync() {
    return guarded([] {
        std::string problem;
        return as_result(recording_session::instance().sync(problem), problem);
    });
}

PROF_EXPORT int prof_dump(const char* path) {
    return guarded([&]() -> int {
        std::string text;
        const session_result result = recording_session::instance().dump(path == nullptr ? "" : path, false, text);
        return as_result(result, text);
    });
}

PROF_EXPORT int prof_step() {
    return guarded([]() -> int {
        return recording_session::instance().step() ? PROF_OK : fail(PROF_WRONG_STATE, "no recording is running");
    });
}

PROF_EXPORT int prof_is_recording() {
    return first_copy() == nullptr && recording_session::instance().recording() ? 1 : 0;
}

PROF_EXPORT size_t prof_capture_path(char* buffer, size_t size) {
    std::size_t length = 0;
    (void)guarded([&]() -> int {
        const std::string path = recording_session::instance().capture_path();
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

PROF_EXPORT prof_summary* prof_summary_open() {
    std::unique_ptr<prof_summary> summary;
    (void)guarded([&]() -> int {
        recording_session& session = recording_session::instance();
        std::string problem;
        if (const session_result result = session.sync(problem); result != session_result::ok) {
            return as_result(result, problem);
        }
        auto made = std::make_unique<prof_summary>();
        const timeline data = load_timeline(session.absolute_capture_path());
        made->projection = project(data, projection_options_of(session.options()));
        for (const auto& [cause, count] : data.quality.dropped) made->dropped += count;
        summary = std::move(made);
        return PROF_OK;
    });
    return summary.release();
}

PROF_EXPORT void prof_summary_close(prof_summary* summary) { delete summary; }

PROF_EXPORT int64_t prof_summary_total_gpu_ns(const prof_summary* summary) { return summary->projection.total_gpu_ns; }

PROF_EXPORT size_t prof_summary_row_count(const prof_summary* summary) { return summary->projection.rows.size(); }

PROF_EXPORT int prof_summary_get_row(const prof_summary* summary, size_t index, prof_summary_row* out,
                                     size_t row_size) {
    return guarded([&]() -> int {
        constexpr std::size_t first_version = 128;
        static_assert(sizeof(prof_summary_row) == first_version);  // fields are only added, at the end
        if (row_size < first_version) {
            return fail(PROF_INVALID_ARGUMENT, "row_size: " + std::to_string(row_size) +
                                                   " is no sizeof(prof_summary_row); it takes 128 bytes or more");
        }
        if (index >= summary->projection.rows.size()) return fail(PROF_INVALID_ARGUMENT, "the summary has no such row");
        const prof_summary_row row = public_row(summary->projection.rows[index]);
        std::memset(out, 0, row_size);
        std::memcpy(out, &row, std::min(row_size, sizeof row));
        return PROF_OK;
    });
}

PROF_EXPORT uint64_t prof_summary_dropped(const prof_summary* summary) { return summary->dropped; }
