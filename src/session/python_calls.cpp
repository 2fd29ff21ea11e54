#include "session/python_calls.hpp"

#include <prof/prof.h>

#include <algorithm>
#include <array>
#include <cstdint>

#define PROF_EXPORT extern "C" [[gnu::visibility("default")]]

namespace prof {
namespace {

// Set once, before the first event; the interpreter's lock orders it.
prof_python_runtime runtime{};

// What a thread has under way: how deep modules call modules, in the innermost of the other watched calls. Deeper calls
// than there is place for share a count.
struct calls_under_way {
    static constexpr std::uint32_t most = 12;
    std::uint32_t modules = 0;
    std::uint32_t others = 0;
    std::array<std::uint16_t, most> modules_around{};
};
constinit thread_local calls_under_way under_way;

bool is_watched(const void* code) noexcept {
    return std::find(runtime.codes, runtime.codes + runtime.code_count, code) != runtime.codes + runtime.code_count;
}

void enter(calls_under_way& at) noexcept {
    if (at.others < calls_under_way::most) {
        at.modules_around[at.others] = static_cast<std::uint16_t>(std::min<std::uint32_t>(at.modules, UINT16_MAX));
        at.modules = 0;
    }
    ++at.others;
}

void leave(calls_under_way& at) noexcept {
    if (at.others == 0) return;
    if (--at.others < calls_under_way::most) at.modules = at.modules_around[at.others];
}

void* on_start(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 2) return runtime.none;
    calls_under_way& at = under_way;
    void* const code = arguments[0];
    if (code == runtime.module_call) {
        if (at.modules++ != 0) return runtime.none;
    } else if (is_watched(code)) {
        enter(at);
    }
    return runtime.call(runtime.on_start, code, nullptr);
}

void* on_end(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 1) return runtime.none;
    calls_under_way& at = under_way;
    if (arguments[0] == runtime.module_call) {
        if (at.modules == 0 || --at.modules != 0) return runtime.none;
    } else {
        leave(at);
    }
    return runtime.call(runtime.on_end, nullptr);
}

// Of any function that an exception leaves.
void* on_unwind(void* self, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 1 || (arguments[0] != runtime.module_call && !is_watched(arguments[0]))) return runtime.none;
    return on_end(self, arguments, count);
}

// A phase may wait for a window to open, and other threads are to run meanwhile.
template <typename TCall>
void without_interpreter(TCall call) noexcept {
    void* const state = runtime.save_thread == nullptr ? nullptr : runtime.save_thread();
    call();
    if (state != nullptr) runtime.restore_thread(state);
}

void* push(void* name, void* const* arguments, std::ptrdiff_t) noexcept {
    (void)arguments;
    const auto* const found = std::find(runtime.names, runtime.names + runtime.name_count, name);
    const std::ptrdiff_t index = found - runtime.names;
    if (index == static_cast<std::ptrdiff_t>(runtime.name_count)) return runtime.no;
    // The first names are those of steps, by their witness.
    const std::uint32_t witness = index <= PROF_STEP_PROFILER ? static_cast<std::uint32_t>(index) : 0;
    int result = 0;
    without_interpreter([&] { result = prof_phase_push(runtime.texts[index], witness); });
    return result == PROF_OK ? runtime.yes : runtime.no;
}

void* pop(void*, void* const*, std::ptrdiff_t) noexcept {
    without_interpreter([] { (void)prof_phase_pop(); });
    return runtime.none;
}

void forget_calls() noexcept { under_way = {}; }

constexpr prof_python_functions functions{on_start, on_end, on_unwind, push, pop, forget_calls};

}  // namespace
}  // namespace prof

// Private to libprof's own Python files, and theirs to change. The arrays that `given` names must live for ever.
PROF_EXPORT const prof_python_functions* prof_python_calls(const prof_python_runtime* given) {
    prof::runtime = *given;
    return &prof::functions;
}
