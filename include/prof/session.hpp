// SPDX-License-Identifier: Apache-2.0
// libprof: control of a recording from C++. Header-only over the C interface (prof.h), C++17; link prof::prof.
//
//     prof::session session{{{"output_dir", "/tmp/run"}}};   // starts
//     for (…) { train_step(); session.step(); }
//     session.stop();                                         // else the destructor does
//
// Exceptions are created and thrown in the program's own code; none crosses the border of libprof.so. For costs,
// threads and blocking see prof.h. One recording at a time per process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <prof/prof.h>

#if !defined(__cpp_exceptions)
#error "prof/session.hpp reports failures by exceptions: use prof/prof.h where they are disabled"
#endif

namespace prof {
inline namespace PROF_INLINE_NAMESPACE {

// A failed call, described in one line.
class session_error : public std::runtime_error {
public:
    explicit session_error(const std::string& line, int code = PROF_FAILED) : std::runtime_error(line), code_(code) {}
    // The call's result, of enum prof_result. prof_result_text has a word for it.
    int code() const noexcept { return code_; }

private:
    int code_;
};

// An option's name and value, as in docs/reference/options.md: {"output_dir", "/tmp/run"}.
class setting {
public:
    // Texts alone: a list in braces, which std::string would take for a pair of iterators, does not compile.
    template <typename TName, typename TValue,
              std::enable_if_t<std::is_convertible_v<const TName&, std::string_view> &&
                                   std::is_convertible_v<const TValue&, std::string_view>,
                               int> = 0>
    setting(const TName& name, const TValue& value)
        : line_(std::string(std::string_view(name)) + "=" + std::string(std::string_view(value))) {}

    const std::string& line() const noexcept { return line_; }  // name=value

private:
    std::string line_;
};

// {{"output_dir", "/tmp/run"}, {"export", "trace"}}. Of one name the last holds.
class setting_list {
public:
    setting_list() = default;
    setting_list(std::initializer_list<setting> settings) : settings_(settings) {}
    explicit setting_list(std::vector<setting> settings) : settings_(std::move(settings)) {}

    template <typename TName, typename TValue>
    setting_list& set(const TName& name, const TValue& value) {
        settings_.emplace_back(name, value);
        return *this;
    }
    const std::vector<setting>& settings() const noexcept { return settings_; }

private:
    std::vector<setting> settings_;
};
using session_options = setting_list;

// The fields of prof_summary_row (read.h).
struct summary_row {
    std::string path;
    std::uint32_t depth = 0;
    bool is_captured = false;
    std::uint64_t instances = 0;
    std::int64_t host_ns = 0;
    std::int64_t gpu_sum_ns = 0;
    std::int64_t gpu_self_ns = 0;
    std::int64_t gpu_child_ns = 0;
    std::int64_t gpu_busy_ns = 0;
    std::int64_t gpu_span_ns = 0;
    std::uint64_t ops = 0;
    std::uint64_t self_ops = 0;
    std::uint64_t adopted_ops = 0;
    std::int64_t adopted_ns = 0;
    std::int64_t communication_ns = 0;
    std::int64_t wait_ns = 0;
    std::uint64_t payload_bytes = 0;
    std::uint32_t kind = 0;             // enum prof_row_kind
    std::optional<std::size_t> parent;  // index into the rows; absent for a root
    std::string name;                   // the last name of the path, without escapes
};

// The fields of prof_summary_step_row (read.h). A half width is half the 95 % confidence interval; it is absent if
// there was a single window.
struct step_row {
    std::string path;
    std::uint32_t depth = 0;
    bool is_captured = false;
    double gpu_ns = 0;
    std::optional<double> gpu_half_width_ns;
    double instances = 0;
    std::optional<double> instances_half_width;
    std::uint32_t kind = 0;
    std::optional<std::size_t> parent;  // index into the rows; absent if no range above has a row
    std::string name;
};

// The fields of prof_summary_steps (read.h).
struct step_summary {
    std::uint64_t captured_steps = 0;
    std::uint64_t windows = 0;
    std::uint64_t steps = 0;
    std::uint64_t stood_for = 0;
    double gpu_ns = 0;
    std::optional<double> gpu_half_width_ns;
    std::vector<step_row> rows;
};

// The fields of prof_drop (read.h).
struct summary_drop {
    std::string cause;
    std::uint64_t count = 0;
    std::string what;
    std::string remedy;
};

struct session_summary {
    std::int64_t total_gpu_ns = 0;
    std::uint64_t dropped = 0;
    std::vector<summary_row> rows;
    step_summary steps;               // estimates of what a step costs
    std::vector<summary_drop> drops;  // the same as `dropped`, by cause
};

// The present place of a thread, for another thread to work for. Get it where the work is ordered, and pass it on with
// the task. See prof_parent_here.
class work_place {
public:
    static work_place here() noexcept { return work_place(prof_parent_here()); }
    std::uint64_t number() const noexcept { return number_; }

private:
    explicit work_place(std::uint64_t number) noexcept : number_(number) {}
    std::uint64_t number_;
};

// From its construction to its destruction, on one thread, the launches of this thread belong to `place`
// (prof_adopt_push).
//
//     pool.submit([place = prof::work_place::here()] { const prof::working_for task(place); … });
class [[nodiscard]] working_for {
public:
    [[nodiscard]] explicit working_for(work_place place) noexcept
        : is_pushed_(prof_adopt_push(place.number()) == PROF_OK) {}
    ~working_for() {
        if (is_pushed_) prof_adopt_pop();
    }
    working_for(const working_for&) = delete;
    working_for& operator=(const working_for&) = delete;

private:
    bool is_pushed_;
};

// A recording that the program starts. It does not compile with -fno-exceptions: prof.h is the interface for that.
class [[nodiscard]] session {
public:
    // Starts recording. Throws session_error for a bad option, and if a recording is running that did not begin by
    // itself (prof_start).
    [[nodiscard]] explicit session(const session_options& options = {}) { start(options); }
    ~session() {
        if (recording_) prof_stop();
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    void start(const session_options& options = {}) {
        std::vector<const char*> settings;
        for (const setting& each : options.settings()) settings.push_back(each.line().c_str());
        settings.push_back(nullptr);
        check(prof_start(settings.data()));
        recording_ = true;
    }

    // Ends the recording: see prof_stop for what it waits for.
    void stop() {
        recording_ = false;
        check(prof_stop());
    }

    // Nothing is recorded between pause() and resume(). For the cost see prof_pause.
    void pause() { check(prof_pause()); }
    void resume() { check(prof_resume()); }

    // Returns when everything recorded is in the capture. After pause(), CUPTI is then free for another profiler
    // (prof_sync).
    void sync() { check(prof_sync()); }

    // Writes what the recording has kept as a capture of its own, while recording goes on (prof_dump).
    void dump() { check(prof_dump(nullptr)); }
    void dump(const std::string& path) { check(prof_dump(path.c_str())); }

    // Marks the beginning of the next step (prof_step).
    void step() { check(prof_step()); }

    // The path of the current capture, or of the last one; "" if there is none.
    std::string capture_path() const {
        std::string path(prof_capture_path(nullptr, 0), '\0');
        prof_capture_path(path.data(), path.size() + 1);
        return path;
    }

    // The GPU projection of what was recorded until now. Throws session_error if it is refused (prof_summary_open).
    session_summary summary() const { return summary_from(prof_summary_open()); }

    // The same of a capture file, for which no recording is needed (prof_summary_open_file).
    static session_summary summary_of(const std::string& capture_path) {
        return summary_from(prof_summary_open_file(capture_path.c_str()));
    }

private:
    // Closes the summary.
    static session_summary summary_from(prof_summary* opened) {
        if (opened == nullptr) throw session_error(prof_last_error());
        const std::unique_ptr<prof_summary, void (*)(prof_summary*)> owned(opened, prof_summary_close);
        session_summary out;
        out.total_gpu_ns = prof_summary_total_gpu_ns(opened);
        out.dropped = prof_summary_dropped(opened);
        const std::size_t count = prof_summary_row_count(opened);
        for (std::size_t i = 0; i < count; ++i) {
            prof_summary_row r{};
            check(prof_summary_get_row(opened, i, &r, sizeof r));
            out.rows.push_back({r.path,       r.depth,         r.captured != 0, r.instances,    r.host_ns,
                                r.gpu_sum_ns, r.gpu_self_ns,   r.gpu_child_ns,  r.gpu_busy_ns,  r.gpu_span_ns,
                                r.ops,        r.self_ops,      r.adopted_ops,   r.adopted_ns,   r.communication_ns,
                                r.wait_ns,    r.payload_bytes, r.kind,          row_or_none(r), text(r.name)});
        }
        out.steps = steps_of(opened);
        const std::size_t causes = prof_summary_drop_count(opened);
        for (std::size_t i = 0; i < causes; ++i) {
            prof_drop d{};
            check(prof_summary_get_drop(opened, i, &d, sizeof d));
            out.drops.push_back({d.cause, d.count, d.what, d.remedy});
        }
        return out;
    }

    static step_summary steps_of(const prof_summary* open) {
        prof_summary_steps all{};
        check(prof_summary_get_steps(open, &all, sizeof all));
        const auto half = [&](double width) {
            return all.has_interval != 0 ? std::optional<double>(width) : std::nullopt;
        };
        step_summary out{all.captured_steps,          all.windows, all.steps, all.stood_for, all.gpu_ns,
                         half(all.gpu_half_width_ns), {}};
        const std::size_t count = prof_summary_step_row_count(open);
        for (std::size_t i = 0; i < count; ++i) {
            prof_summary_step_row r{};
            check(prof_summary_get_step_row(open, i, &r, sizeof r));
            out.rows.push_back({r.path, r.depth, r.captured != 0, r.gpu_ns, half(r.gpu_half_width_ns), r.instances,
                                half(r.instances_half_width), r.kind, row_or_none(r), text(r.name)});
        }
        return out;
    }

    // An older libprof has neither kind, nor parent, nor name.
    template <typename TRow>
    static std::optional<std::size_t> row_or_none(const TRow& of) {
        if (of.kind == 0 || of.parent == PROF_NO_ROW) return std::nullopt;
        return of.parent;
    }
    static std::string text(const char* of) { return of == nullptr ? std::string() : std::string(of); }

    static void check(int result) {
        if (result != PROF_OK) throw session_error(prof_last_error(), result);
    }

    bool recording_ = false;
};

}  // namespace PROF_INLINE_NAMESPACE
}  // namespace prof
