// SPDX-License-Identifier: Apache-2.0
// A program that controls libprof and is called back by it; one scene a run, for callbacks_test.cpp.
//
//   callbacks_victim SCENE
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <prof/session.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fakes/fake_gpu.h"
#include "session/scenes.hpp"

namespace {

using prof::test::expect;

void compute() {}

void train(int ranges) {
    for (int i = 0; i < ranges; ++i) {
        PROF_RANGE("step");
    }
}

void start(std::initializer_list<const char*> settings = {}) {
    std::vector<const char*> all(settings);
    all.push_back(nullptr);
    expect(prof_start(all.data()) == PROF_OK, prof_last_error());
}

std::string capture_path() {
    std::string path(prof_capture_path(nullptr, 0), '\0');
    (void)prof_capture_path(path.data(), path.size() + 1);
    return path;
}

// --- status ----------------------------------------------------------------------------------------------------------

prof_status status() {
    prof_status out;
    std::memset(&out, 0xAB, sizeof out);
    expect(prof_get_status(&out, sizeof out) == PROF_OK, prof_last_error());
    return out;
}

void print_status(const char* when) {
    const prof_status s = status();
    std::printf("%s;%u;%u;%llu;%llu;%llu\n", when, s.state, s.records_gpu, static_cast<unsigned long long>(s.steps),
                static_cast<unsigned long long>(s.windows), static_cast<unsigned long long>(s.dropped));
}

std::string status_json() {
    std::vector<char> text(16384);
    const std::size_t length = prof_status_json(text.data(), text.size());
    expect(length != 0 && length < text.size(), "it has a text");
    char cut[8];
    expect(prof_status_json(cut, sizeof cut) > sizeof cut && std::strlen(cut) == 7, "it is cut where there is no room");
    return text.data();
}

void states() {
    fake_gpu_register_kernel(reinterpret_cast<const void*>(compute), "compute", 10'000);
    expect(status().state == PROF_STATE_IDLE && status().state_ns == 0, "it is idle before it is used");
    print_status("before");
    start({"activities=kernels"});
    print_status("started");
    train(1);
    expect(prof_sync() == PROF_OK, "it is written");
    print_status("ranges");
    expect(prof_step() == PROF_OK && prof_step() == PROF_OK, "two steps");
    (void)cudaLaunchKernel(reinterpret_cast<const void*>(compute), dim3(1), dim3(32), nullptr, 0, nullptr);
    (void)cudaDeviceSynchronize();
    print_status("gpu");
    expect(prof_pause() == PROF_OK, "it pauses");
    print_status("paused");
    expect(prof_resume() == PROF_OK, "it resumes");
    print_status("resumed");
    const prof_status open = status();
    expect(open.memory == 64U << 20 && open.state_ns > 0 && open.state_ns < 100'000'000'000, "its memory and time");
    expect(prof_stop() == PROF_OK, "it stops");
    print_status("stopped");
    const prof_status last = status();
    expect(last.bytes == std::filesystem::file_size(capture_path()), "the bytes are those of the file");
    expect(last.records >= 2 + 2 + 1, "a range, two steps, a kernel");
    start({"schedule=wait=2,active=1"});
    print_status("scheduled");
    expect(prof_stop() == PROF_OK, "it stops");
    std::puts(status_json().c_str());
}

void sizes_of_structs() {
    struct later {
        prof_status status;
        std::uint64_t unknown;
        unsigned char beyond;
    } out;
    std::memset(&out, 0xAB, sizeof out);
    expect(prof_get_status(&out.status, offsetof(later, beyond)) == PROF_OK, "a larger struct is filled");
    expect(out.status.state == PROF_STATE_IDLE && out.unknown == 0 && out.beyond == 0xAB, "and nothing behind it");
    const auto refused = [&](int result, const char* line) {
        expect(result == PROF_INVALID_ARGUMENT, line);
        expect(std::string_view(prof_last_error()).find(line) != std::string_view::npos, prof_last_error());
    };
    refused(prof_get_status(&out.status, 63), "it takes 64 bytes or more");
    refused(prof_get_status(&out.status, 0), "it takes 64 bytes or more");
    refused(prof_get_status(&out.status, 4097), "4097 is no sizeof(prof_status)");
    refused(prof_get_status(nullptr, sizeof out.status), "prof_status is NULL");
    prof_option option;
    refused(prof_describe_option(0, &option, 47), "it takes 48 bytes or more");
    refused(prof_describe_option(0, nullptr, sizeof option), "prof_option is NULL");
    refused(prof_describe_option(prof_option_count(), &option, sizeof option), "there is no such option");
    refused(prof_get_option(nullptr, nullptr, 0, nullptr), "name is NULL");
    refused(prof_set_option(nullptr, "1"), "name is NULL");
    refused(prof_set_option("rows", nullptr), "value is NULL");
    refused(prof_set_options(nullptr), "settings is NULL");
    refused(prof_keep_text(nullptr, "text"), "key is NULL");
    refused(prof_keep_text("key", nullptr), "text is NULL");
    refused(prof_keep_text("key", std::string((1 << 20) + 1, 'x').c_str()), "1 MiB");
    refused(prof_set_callback([](const prof_event*, void*) {}, nullptr, 0), "kinds: none is named");
    refused(prof_set_callback([](const prof_event*, void*) {}, nullptr, 128), "kinds: it has bits of unknown events");
    expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, "no callback");
    expect(prof_set_log(nullptr, nullptr) == PROF_OK, "no sink");
    expect(prof_dump(nullptr) == PROF_WRONG_STATE, "nothing is recorded");
    char path[8] = "before";
    expect(prof_dump_to(nullptr, path, sizeof path) == PROF_WRONG_STATE && path[0] == 0, "nor is there a path");
    expect(prof_capture_path(nullptr, 7) == 0 && prof_start(nullptr) == PROF_OK, "these take NULL");
    expect(std::string_view(prof_result_text(PROF_OK)) == "ok" &&
               std::string_view(prof_result_text(PROF_INVALID_ARGUMENT)) == "invalid argument" &&
               std::string_view(prof_result_text(PROF_WRONG_STATE)) == "wrong state" &&
               std::string_view(prof_result_text(PROF_FAILED)) == "failed" &&
               std::string_view(prof_result_text(-1)) == "unknown result",
           "a word for each result");
    try {
        const prof::session second;
        expect(false, "a second recording");
    } catch (const prof::session_error& refusal) {
        expect(refusal.code() == PROF_WRONG_STATE, "its code");
    }
    try {
        prof::session_options bad;
        bad.set("rows", "many");
        const prof::session second(bad);
        expect(false, "a bad option");
    } catch (const prof::session_error& refusal) {
        expect(refusal.code() == PROF_INVALID_ARGUMENT, "its code");
    }
}

// --- options ---------------------------------------------------------------------------------------------------------

std::string option(const char* name) {
    std::size_t length = 0;
    expect(prof_get_option(name, nullptr, 0, &length) == PROF_OK, prof_last_error());
    std::string value(length, '\0');
    expect(prof_get_option(name, value.data(), length + 1, nullptr) == PROF_OK, prof_last_error());
    return value;
}

void options() {
    for (std::size_t i = 0; i < prof_option_count(); ++i) {
        prof_option row{};
        expect(prof_describe_option(i, &row, sizeof row) == PROF_OK, prof_last_error());
        std::printf("%s;%s;%u;%s;%s\n", row.name, row.variable, row.change, row.default_value, row.accepts);
        expect(row.help != nullptr, "it may be empty");
        const bool is_set_here = std::getenv(row.variable) != nullptr && *std::getenv(row.variable) != 0;
        expect(is_set_here || option(row.name) == row.default_value, row.name);
    }
    std::puts("");
    const auto set = [](const char* name, const char* value) {
        const int result = prof_set_option(name, value);
        std::printf("%d;%s\n", result, result == PROF_OK ? option(name).c_str() : prof_last_error());
    };
    set("rows", "7");
    set("rows", "many");
    set("row", "7");
    set("a=b", "7");
    set("name", "other");
    set("autostart", "1");
    set("steps", "2-3");  // goes with capture_range
    const auto set_all = [](std::vector<const char*> settings) {
        settings.push_back(nullptr);
        const int result = prof_set_options(settings.data());
        std::printf("%d;%s;%s\n", result, option("rows").c_str(), option("steps").c_str());
    };
    set_all({"rows=8", "capture_range=sometimes"});
    set_all({"rows=9", "steps=2-3", "capture_range=steps"});
    start({"rows=3"});
    std::printf("%s\n", option("rows").c_str());
    set("rows", "5");
    set("name", "third");
    set_all({"rows=6", "name=third"});
    expect(prof_stop() == PROF_OK, "it stops");
    std::printf("%s;%s\n", option("rows").c_str(), option("name").c_str());
}

// --- callbacks -------------------------------------------------------------------------------------------------------

std::string file_name(const char* path) { return std::filesystem::path(path).filename(); }

void print_event(const prof_event* event, void* user) {
    expect(event->size == sizeof *event && event->lost == 0, "it is whole");
    expect(*event->path == 0 || *event->path == '/', "its path is absolute");
    std::printf("%s%u;%llu;%d;%s;%s\n", static_cast<const char*>(user), event->kind,
                static_cast<unsigned long long>(event->number), event->result, file_name(event->path).c_str(),
                event->message);
}

void events() {
    char prefix[] = "all;";
    expect(prof_set_callback(print_event, prefix, PROF_EVENT_ALL) == PROF_OK, prof_last_error());
    start({"export=summary", "name=named"});
    train(2);
    expect(prof_step() == PROF_OK, "a step");
    expect(prof_pause() == PROF_OK && prof_resume() == PROF_OK, "another window");
    char path[4096];
    expect(prof_dump_to(nullptr, path, sizeof path) == PROF_OK, prof_last_error());
    expect(path[0] == '/' && file_name(path).find(".dump-1.prof") != std::string::npos, path);
    expect(prof_stop() == PROF_OK, prof_last_error());
    expect(std::filesystem::exists(path), "there is the dump");
    expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());  // all is delivered
    std::memset(prefix, 'x', sizeof prefix);                                       // and this not used any more
    std::puts(file_name(capture_path().c_str()).c_str());

    expect(prof_set_log([](int, const char*, void*) {}, nullptr) == PROF_OK, prof_last_error());
    start({"export=none", "name=removed"});
    expect(prof_step() == PROF_OK, "a step");
    char steps[] = "steps;";
    expect(prof_set_callback(print_event, steps, PROF_EVENT_STEP | PROF_EVENT_RECORDING_ENDED) == PROF_OK, "some");
    expect(prof_step() == PROF_OK && prof_pause() == PROF_OK && prof_step() == PROF_OK, "steps");
    std::filesystem::remove_all(std::filesystem::path(capture_path()).parent_path());
    expect(prof_stop() == PROF_FAILED, "its capture is lost");
    expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());
}

// Windows that a schedule opens, a capture each.
void windows_of_schedule() {
    char prefix[] = "";
    expect(prof_set_callback(print_event, prefix, PROF_EVENT_ALL - PROF_EVENT_STEP) == PROF_OK, prof_last_error());
    start({"export=none", "name=named", "schedule=wait=1,active=1,repeat=2", "export_each=window"});
    for (int i = 0; i < 6; ++i) {
        train(1);
        expect(prof_step() == PROF_OK, "a step");
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    expect(prof_stop() == PROF_OK, prof_last_error());
    expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());
}

// A callback that tries all that might wait for a thread which waits for it.
struct attempt {
    std::mutex of_program;  // held by the thread that controls the recording, and wanted by callbacks
    std::atomic<int> calls{0};
};

void refuse_control() {
    const char* const settings[] = {"rows=1", nullptr};
    const int results[] = {prof_start(nullptr),
                           prof_stop(),
                           prof_pause(),
                           prof_resume(),
                           prof_sync(),
                           prof_before_exit(),
                           prof_keep_text("key", "text"),
                           prof_step(),
                           prof_dump(nullptr),
                           prof_dump_to(nullptr, nullptr, 0),
                           prof_set_option("rows", "1"),
                           prof_set_options(settings),
                           prof_set_callback(nullptr, nullptr, 0),
                           prof_set_log(nullptr, nullptr)};
    for (const int result : results) expect(result == PROF_WRONG_STATE, "it is refused");
    expect(prof_summary_open() == nullptr, "there is no summary");
    expect(std::string_view(prof_last_error()) ==
               "a callback or a log sink may read libprof's state, but not call this: another thread may",
           prof_last_error());
    (void)status();
    (void)status_json();
    (void)option("rows");
    (void)capture_path();
    (void)prof_is_recording();
}

void try_to_deadlock() {
    attempt tried;
    const auto on_event = [](const prof_event*, void* user) {
        auto& own = *static_cast<attempt*>(user);
        const std::scoped_lock lock(own.of_program);
        refuse_control();
        PROF_RANGE("in a callback");
        ++own.calls;
    };
    expect(prof_set_callback(on_event, &tried, PROF_EVENT_ALL) == PROF_OK, prof_last_error());
    {
        const std::scoped_lock lock(tried.of_program);
        start({"export=summary", "schedule=wait=1,active=1"});
        for (int i = 0; i < 6; ++i) {
            train(1);
            expect(prof_step() == PROF_OK, "a step");
        }
        expect(prof_dump(nullptr) == PROF_OK, prof_last_error());
        expect(prof_stop() == PROF_OK, prof_last_error());
        expect(tried.calls == 0, "none came through");
    }
    expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());
    expect(tried.calls >= 6 + 3 + 3 + 4, "all came");
}

// Threads that replace the callback, step, and ask, all at once.
void storm() {
    start({"export=none"});
    std::atomic<bool> ends{false};
    std::atomic<int> calls{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            while (!ends) {
                const auto user = std::make_unique<std::atomic<int>*>(&calls);
                const auto on_event = [](const prof_event*, void* own) { ++**static_cast<std::atomic<int>**>(own); };
                expect(prof_set_callback(on_event, user.get(), PROF_EVENT_ALL) == PROF_OK, prof_last_error());
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());
            }
        });
    }
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
            while (!ends) {
                (void)prof_step();
                (void)status();
                (void)option("rows");
            }
        });
    }
    for (int i = 0; i < 20; ++i) {
        train(1);
        expect(prof_pause() == PROF_OK && prof_resume() == PROF_OK, prof_last_error());
    }
    ends = true;
    for (std::thread& thread : threads) thread.join();
    expect(calls > 0, "it was called");
    expect(prof_stop() == PROF_OK, prof_last_error());
}

void lost_events() {
    struct {
        std::mutex held;
        std::atomic<unsigned long long> calls{0};
        std::atomic<unsigned long long> lost{0};
        std::atomic<unsigned long long> latest{0};
    } own;
    const auto on_event = [](const prof_event* event, void* user) {
        auto& to = *static_cast<decltype(own)*>(user);
        ++to.calls;
        const std::scoped_lock lock(to.held);
        to.lost += event->lost;
        to.latest = event->number;
    };
    start({"export=none"});
    expect(prof_set_callback(on_event, &own, PROF_EVENT_STEP) == PROF_OK, prof_last_error());
    {
        const std::scoped_lock lock(own.held);
        expect(prof_step() == PROF_OK, "a step");
        while (own.calls == 0) std::this_thread::yield();
        for (int i = 2; i <= 3000; ++i) expect(prof_step() == PROF_OK, "a step");
    }
    while (own.calls < 1 + 1024) std::this_thread::yield();
    expect(prof_step() == PROF_OK, "a step");
    expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());
    std::printf("%llu;%llu;%llu\n", own.calls.load(), own.lost.load(), own.latest.load());
    expect(prof_stop() == PROF_OK, prof_last_error());
}

// --- the log ---------------------------------------------------------------------------------------------------------

// It makes no range, which would begin the capture of the recording that follows the one of the line.
void print_line(int severity, const char* line, void* user) {
    refuse_control();
    std::printf("%s%d;%s\n", static_cast<const char*>(user), severity, line);
    std::fflush(stdout);
}

// A directory that is there when the recording starts, and a file when it is to be written to.
void lose_directory(const char* name) {
    const std::string setting = std::string("output_dir=") + name;
    const char* const settings[] = {setting.c_str(), "export=none", nullptr};
    expect(prof_start(settings) == PROF_OK, prof_last_error());
    std::filesystem::remove(name);
    std::ofstream{std::string(name)} << "mine";
    train(1);
    expect(prof_stop() == PROF_FAILED, "there is no capture");
}

void log_lines() {
    char prefix[] = "log;";
    expect(prof_set_log(print_line, prefix) == PROF_OK, prof_last_error());
    lose_directory("first");
    lose_directory("second");
    expect(prof_set_log(nullptr, nullptr) == PROF_OK, prof_last_error());
    std::memset(prefix, 'x', sizeof prefix);
    lose_directory("third");  // the one line on standard error
    lose_directory("fourth");
}

// The sink does not return: what waits for it goes to standard error when the program ends.
void log_at_exit() {
    static std::mutex held;
    static std::atomic<bool> was_called{false};
    held.lock();
    const auto sink = [](int, const char*, void*) {
        was_called = true;
        held.lock();
    };
    expect(prof_set_log(sink, nullptr) == PROF_OK, prof_last_error());
    lose_directory("first");
    while (!was_called) std::this_thread::yield();
    lose_directory("second");
}

void exit_during_a_callback() {
    static std::atomic<bool> was_called{false};
    const auto on_event = [](const prof_event*, void*) {
        was_called = true;
        for (;;) pause();
    };
    start({"export=none"});
    expect(prof_set_callback(on_event, nullptr, PROF_EVENT_ALL) == PROF_OK, prof_last_error());
    train(1);
    expect(prof_step() == PROF_OK, "a step");
    while (!was_called) std::this_thread::yield();
    expect(prof_step() == PROF_OK, "a step");
}

// An interpreter does that to a thread that comes too late.
void callback_that_ends_its_thread() {
    static std::atomic<int> calls{0};
    const auto ends_thread = [](const prof_event*, void*) {
        ++calls;
        pthread_exit(nullptr);
    };
    const auto returns = [](const prof_event*, void*) { ++calls; };
    start({"export=none"});
    expect(prof_set_callback(ends_thread, nullptr, PROF_EVENT_STEP) == PROF_OK, prof_last_error());
    expect(prof_step() == PROF_OK, "a step");
    while (calls == 0) std::this_thread::yield();
    expect(prof_set_callback(returns, nullptr, PROF_EVENT_STEP) == PROF_OK, prof_last_error());
    expect(prof_step() == PROF_OK, "a step");
    expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());
    expect(calls == 2, "another thread calls");
    train(1);
    // libprof's threads are counted right: the process goes on until this thread ends, and no longer.
    std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        std::puts("done");
        std::fflush(stdout);
    }).detach();
    pthread_exit(nullptr);
}

// A child has neither callback nor sink, and may set its own.
void forked_child() {
    static std::atomic<int> calls{0};
    const auto on_event = [](const prof_event*, void*) { ++calls; };
    start({"export=none"});
    train(1);
    expect(prof_set_callback(on_event, nullptr, PROF_EVENT_STEP) == PROF_OK, prof_last_error());
    expect(prof_set_log([](int, const char*, void*) {}, nullptr) == PROF_OK, prof_last_error());
    expect(prof_step() == PROF_OK, "a step");
    while (calls != 1) std::this_thread::yield();
    const pid_t child = fork();
    if (child == 0) {
        train(1);
        expect(prof_step() == PROF_OK, prof_last_error());
        expect(calls == 1, "it is not called");
        expect(prof_set_callback(on_event, nullptr, PROF_EVENT_STEP) == PROF_OK, prof_last_error());
        expect(prof_step() == PROF_OK, prof_last_error());
        expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());
        expect(calls == 2, "it has one of its own");
        std::exit(7);
    }
    int how = 0;
    expect(waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 7, "the child is well");
    expect(prof_step() == PROF_OK, "a step");
    expect(prof_set_callback(nullptr, nullptr, 0) == PROF_OK, prof_last_error());
    expect(calls == 2, "the parent's goes on");
}

}  // namespace

int main(int, char** argv) {
    alarm(60);  // a deadlock ends here
    return prof::test::play(argv[1], {
                                         {"states", states},
                                         {"sizes_of_structs", sizes_of_structs},
                                         {"options", options},
                                         {"events", events},
                                         {"windows_of_schedule", windows_of_schedule},
                                         {"try_to_deadlock", try_to_deadlock},
                                         {"storm", storm},
                                         {"lost_events", lost_events},
                                         {"log_lines", log_lines},
                                         {"log_at_exit", log_at_exit},
                                         {"exit_during_a_callback", exit_during_a_callback},
                                         {"callback_that_ends_its_thread", callback_that_ends_its_thread},
                                         {"forked_child", forked_child},
                                     });
}
