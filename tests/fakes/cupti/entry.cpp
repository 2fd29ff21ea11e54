// SPDX-License-Identifier: Apache-2.0
#include "fakes/cupti/entry.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "fakes/fake_cupti.h"
#include "fakes/gpu/simulated_gpu.hpp"

namespace fake {
namespace {

struct failure {
    CUptiResult result = CUPTI_SUCCESS;
    int times = 0;  // negative: for ever
};

struct entries {
    std::mutex mutex;
    std::map<std::string, failure, std::less<>> failures;
    std::map<std::string, std::size_t, std::less<>> calls;
    std::atomic<std::uint32_t> version{0};
    std::atomic<pid_t> owner{0};
};

std::atomic<int> calls_in_progress{0};
std::atomic<bool> finalizes{false};

thread_local CUptiResult last_error = CUPTI_SUCCESS;

int to_int(std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// "function=code;function=code*times"
void read_failures(std::string_view text, std::map<std::string, failure, std::less<>>& failures) {
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(';'));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        const std::size_t equals = item.find('=');
        if (equals == std::string_view::npos) {
            die("FAKE_CUPTI_FAIL: expected function=code, got " + std::string{item});
        }
        const std::size_t star = item.find('*');
        failures[std::string{item.substr(0, equals)}] = {
            static_cast<CUptiResult>(to_int(item.substr(equals + 1))),
            star == std::string_view::npos ? -1 : to_int(item.substr(star + 1))};
    }
}

void read_environment(entries& state) {
    state.failures.clear();
    state.calls.clear();
    state.owner = 0;
    const char* version = std::getenv("FAKE_CUPTI_VERSION");
    state.version = version == nullptr ? 130001U : static_cast<std::uint32_t>(to_int(version));
    if (const char* failures = std::getenv("FAKE_CUPTI_FAIL")) {
        read_failures(failures, state.failures);
    }
}

// The real library crashes when it is called after its exit handlers have run; they are registered as it is loaded.
std::atomic<bool> torn_down{false};

bool main_thread_sleeps() {
    std::ifstream file("/proc/self/task/" + std::to_string(getpid()) + "/stat");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_ends = line.rfind(") ");
    return name_ends != std::string::npos && line.compare(name_ends + 2, 1, "S") == 0;
}

// FAKE_CUPTI_LOADED_IN_EXIT names a file that is made here, for a main thread that exits when it sees it. The library
// is loaded when that thread has run the exit handler of this library, and then waits for something.
void wait_for_exit() {
    const char* const file = std::getenv("FAKE_CUPTI_LOADED_IN_EXIT");
    if (file == nullptr) return;
    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    while (!torn_down || !main_thread_sleeps()) sched_yield();
}

[[gnu::constructor]] void on_load() {
    std::atexit([] { torn_down = true; });
    wait_for_exit();
}

entries& state() {
    static entries& instance = *[] {
        auto* created = new entries;
        read_environment(*created);
        return created;
    }();
    return instance;
}

}  // namespace

std::uint32_t cupti_version() { return state().version; }

CUptiResult enter(const char* function) {
    if (torn_down) {
        die(std::string{function} + " called after CUPTI's exit handlers");
    }
    entries& all = state();
    const pid_t self = getpid();
    pid_t owner = 0;
    if (!all.owner.compare_exchange_strong(owner, self) && owner != self) {
        die(std::string{function} + " called in a forked child");
    }
    const std::scoped_lock lock{all.mutex};
    ++all.calls[function];
    const auto planned = all.failures.find(std::string_view{function});
    if (planned == all.failures.end() || planned->second.times == 0) {
        return CUPTI_SUCCESS;
    }
    if (planned->second.times > 0) {
        --planned->second.times;
    }
    return planned->second.result;
}

call_in_progress::call_in_progress(const char* function) {
    ++calls_in_progress;
    if (finalizes) {
        die(std::string{function} + " called while another thread is in cuptiFinalize");
    }
}

call_in_progress::~call_in_progress() { --calls_in_progress; }

last_call::last_call() {
    finalizes = true;
    if (calls_in_progress > 1) {
        die("cuptiFinalize called while another thread is in CUPTI");
    }
}

last_call::~last_call() { finalizes = false; }

CUptiResult require_device() {
    if (simulated_gpu::instance().device_count() > 0) {
        return CUPTI_SUCCESS;
    }
    return cupti_version() < cuda_13_0 ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_ERROR_UNKNOWN;
}

CUptiResult set_last_error(CUptiResult result) {
    if (result != CUPTI_SUCCESS) {
        last_error = result;
    }
    return result;
}

CUptiResult take_last_error() { return std::exchange(last_error, CUPTI_SUCCESS); }

void die(const std::string& what) {
    std::fprintf(stderr, "fake CUPTI: %s\n", what.c_str());
    std::abort();
}

void reset_entries() {
    entries& all = state();
    const std::scoped_lock lock{all.mutex};
    read_environment(all);
    last_error = CUPTI_SUCCESS;
}

}  // namespace fake

extern "C" {

void fake_cupti_set_version(uint32_t version) { fake::state().version = version; }

void fake_cupti_fail(const char* function, int result, int times) {
    const std::scoped_lock lock{fake::state().mutex};
    fake::state().failures[function] = {static_cast<CUptiResult>(result), times};
}

size_t fake_cupti_calls(const char* function) {
    const std::scoped_lock lock{fake::state().mutex};
    const auto calls = fake::state().calls.find(std::string_view{function});
    return calls == fake::state().calls.end() ? 0 : calls->second;
}

}  // extern "C"
