// SPDX-License-Identifier: Apache-2.0
#include "session/control.hpp"

#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/annotated_mutex.hpp"
#include "base/outcome.hpp"
#include "control/place.hpp"
#include "control/server.hpp"
#include "options/plans.hpp"
#include "session/control_signal.hpp"
#include "session/own_status.hpp"
#include "session/process/background.hpp"
#include "session/process/session_mutex.hpp"
#include "session/process/warn_once.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

constexpr std::chrono::milliseconds longest_wait_for_answers{1000};
constexpr std::chrono::seconds longest_wait_for_a_start{5};

// `done`: the text of the answer where all is well.
control_answer as_answer(const outcome& result, std::string done = {}) {
    if (result.ok()) return {control_result::done, std::move(done)};
    return {result.code() == outcome_code::failed ? control_result::failed : control_result::refused, result.message()};
}

class process_control {
public:
    // Never destroyed: its threads end with the process.
    static process_control& instance();

    void open();
    void refuse();
    void close();
    void hurry();
    void leave() noexcept;
    void abandon_in_child() noexcept;
    bool rest() PROF_EXCLUDES(resting_);
    outcome wake() PROF_EXCLUDES(resting_);

private:
    process_control();

    void requested(const control_request& request, const control_server::answer_function& answer);
    void toggle();
    control_answer execute(const control_request& request);
    control_answer start(const control_request& request);
    control_answer stop();
    control_answer set(const control_request& request);
    control_answer status(const control_request& request);

    control_server server_;
    background_thread worker_{"prof-command"};
    annotated_mutex starting_;  // held while this or a recording starts, so that neither begins at exit
    session_mutex resting_;     // held while the server's thread is ended or made
    std::atomic<bool> ends_{false};
    std::atomic<bool> is_asked_for_{false};  // by control, control_signal or autostart=0
};

std::atomic<bool> is_opened{false};
std::atomic<bool> is_there{false};  // instance() was made

process_control& process_control::instance() {
    static process_control* const control = new process_control;
    is_there.store(true);
    return *control;
}

process_control::process_control()
    : server_({.requested = [this](const control_request& request,
                                   const control_server::answer_function& answer) { requested(request, answer); },
               .signalled = [this] { worker_.post([this] { toggle(); }); },
               .idled = [] { recording_session::instance().report_awaited_window(); }}) {}

void process_control::open() {
    const annotated_lock lock(starting_);
    if (ends_) return;
    const session_options options = recording_session::instance().environment_options();
    note_control_opened();
    is_asked_for_ = is_control_asked_for(options);
    bool has_socket = false;
    if (options.control != control_use::off) {
        const result<std::string> directory = make_control_directory();
        const outcome opened = directory.ok() ? server_.listen_in(directory.value(), getpid()) : directory.failure();
        has_socket = opened.ok();
        // By default no line is written where there can be no socket.
        if (!has_socket && options.control == control_use::on) warn_once("control=on: " + opened.message());
    }
    const int signal = options.control_signal;
    if (!has_socket && signal == 0) return;
    if (const outcome started = server_.start(); !started.ok()) {
        if (options.control == control_use::on || signal != 0) warn_once(started.message());
        return;
    }
    if (signal == 0) return;
    const outcome watched = watch_signal(signal, server_);
    if (!watched.ok()) warn_once("control_signal=" + text_of(options, "control_signal") + ": " + watched.message());
}

// A thread that starts a recording may wait for another recording to end, and that one for a GPU which does not.
void process_control::refuse() {
    ends_ = true;
    if (lock_within(starting_.native(), longest_wait_for_a_start)) starting_.native().unlock();
}

// A client that waits for a command which is done still gets its answer.
void process_control::close() {
    worker_.wait_until_idle(longest_wait_for_answers);
    {
        const session_lock lock(resting_);
        server_.stop();
    }
    (void)worker_.end();
}

bool process_control::rest() {
    const session_lock lock(resting_);
    return !is_asked_for_ && worker_.end() && server_.pause();
}

outcome process_control::wake() {
    const session_lock lock(resting_);
    return server_.resume();
}

void process_control::hurry() { worker_.is_idle() ? server_.remove_socket() : close(); }

void process_control::leave() noexcept { server_.remove_socket(); }

void process_control::abandon_in_child() noexcept {
    leave_signal_in_child();
    server_.abandon_in_child();
}

void process_control::requested(const control_request& request, const control_server::answer_function& answer) {
    if (request.command == "status") {
        answer(status(request));
        return;
    }
    worker_.post([this, request, answer] {
        try {
            answer(execute(request));
        } catch (const std::exception& failure) {
            answer({control_result::failed, failure.what()});
        }
    });
}

void process_control::toggle() {
    try {
        const control_answer answer = recording_session::instance().recording()
                                          ? stop()
                                          : start(control_request{.command = "start", .words = {}});
        if (answer.result != control_result::done) warn_once(answer.text);
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
}

control_answer process_control::execute(const control_request& request) {
    const control_command* const known = find_control_command(request.command);
    if (known == nullptr) return {control_result::refused, unknown_control_command(request.command)};
    if (!known->takes_settings && !request.words.empty()) {
        return {control_result::refused, request.command + " takes no name=value"};
    }
    if (ends_) return {control_result::refused, "the process is about to end"};
    recording_session& session = recording_session::instance();
    if (request.command == "start") return start(request);
    if (request.command == "stop") return stop();
    if (request.command == "set") return set(request);
    if (request.command == "pause") return as_answer(session.pause());
    if (request.command == "resume") return as_answer(session.resume());
    if (request.command == "dump") {
        const result<std::string> dumped = session.dump("", true);
        return as_answer(dumped.failure(), dumped.ok() ? dumped.value() : "");
    }
    const outcome synced = session.sync();
    return as_answer(synced, session.absolute_capture_path());
}

control_answer process_control::start(const control_request& request) {
    const annotated_lock lock(starting_);
    if (ends_) return {control_result::refused, "the process is about to end"};
    recording_session& session = recording_session::instance();
    session_options options = session.environment_options();
    if (const outcome merged = session.merge(request.words, options); !merged.ok()) return as_answer(merged);
    if (outcome plan = plan_problem(options); !plan.ok()) {
        return {control_result::refused, std::move(plan).message()};
    }
    if (!session.recording()) {
        const outcome prepared = session.prepare_directory(options);
        if (!prepared.ok()) return as_answer(prepared);
    }
    return as_answer(session.start(options, requester::command));
}

control_answer process_control::stop() {
    recording_session& session = recording_session::instance();
    if (const outcome stopped = session.stop(); !stopped.ok()) return as_answer(stopped);
    const std::string path = session.absolute_capture_path();
    return {control_result::done, path.empty() ? "nothing was recorded: there is no capture" : path};
}

control_answer process_control::set(const control_request& request) {
    if (request.words.empty()) return {control_result::refused, "set takes name=value"};
    return as_answer(recording_session::instance().set(request.words));
}

control_answer process_control::status(const control_request& request) {
    result<session_status> now = read_own_status();
    if (!now.ok()) return as_answer(now.failure());
    add_process(now.value());
    const std::string form = request.words.empty() ? "text" : request.words.front();
    if (form == "json") return {control_result::done, status_json(now.value())};
    return {control_result::done, form == "line" ? status_line(now.value()) : status_text(now.value())};
}

}  // namespace

bool is_control_asked_for(const session_options& options) noexcept {
    return options.control == control_use::on || options.control_signal != 0 || !options.autostart;
}

bool rest_control() noexcept { return !is_there.load() || process_control::instance().rest(); }

void wake_control() noexcept {
    if (!is_there.load()) return;
    try {
        if (const outcome begun = process_control::instance().wake(); !begun.ok()) warn_once(begun.message());
    } catch (const std::exception&) {
        // No memory: it goes on without control.
    }
}

void open_control() noexcept {
    if (is_opened.load() || is_opened.exchange(true)) return wake_control();
    try {
        process_control::instance().open();
    } catch (const std::bad_alloc&) {
        // It goes on without control. The line on stderr is left for what this costs the recording.
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
}

bool is_control_open() noexcept { return is_opened.load(); }

void refuse_control() {
    if (is_there.load()) process_control::instance().refuse();
}

void close_control() {
    if (is_there.load()) process_control::instance().close();
}

void hurry_control() {
    if (is_there) process_control::instance().hurry();
}

void leave_control() noexcept {
    if (is_there.load()) process_control::instance().leave();
}

void abandon_control_in_child() noexcept {
    if (is_there.load()) process_control::instance().abandon_in_child();
    is_there.store(false);
}

}  // namespace prof
