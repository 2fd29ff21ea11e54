// SPDX-License-Identifier: Apache-2.0
#include "session/python_calls.hpp"

#include <prof/prof.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <unordered_map>
#include <utility>

#include "hooks/nvtx/nvtx_hooks.hpp"
#include "session/export_symbol.hpp"

namespace prof {
namespace {

// Set once, before the first event; the interpreter's lock orders it.
prof_python_runtime runtime{};

// The watched calls that a thread has under way: how deep modules call modules, within the innermost of the other
// watched calls. Calls deeper than `most` share a count.
struct calls_under_way {
    static constexpr std::uint32_t most = 12;
    std::uint32_t modules = 0;
    std::uint32_t others = 0;
    std::array<std::uint16_t, most> modules_around{};
    std::ptrdiff_t seen_by_python = 0;  // all but modules' calls within modules' calls
    bool has_failed_at_end = false;     // on_end raised an exception, which leaves the call now
    // Which calls of modules, one within another, have a range to be ended. Calls deeper than `deepest` have none.
    static constexpr std::uint32_t deepest = 1024;
    std::uint32_t depth = 0;
    std::array<std::uint64_t, deepest / 64> has_range{};
    void* outermost = nullptr;    // its module; an address only, for it may be gone
    const char* begun = nullptr;  // the name of the range that has just begun, until any begins or ends
    std::uint32_t epoch = 0;
};
// Calls of an earlier epoch are forgotten.
constinit std::atomic<std::uint32_t> epoch_of_calls{0};
constinit thread_local calls_under_way calls_of_thread;

calls_under_way& calls_here() noexcept {
    const std::uint32_t now = epoch_of_calls.load(std::memory_order_relaxed);
    if (calls_of_thread.epoch != now) {
        calls_of_thread = {};
        calls_of_thread.epoch = now;
    }
    return calls_of_thread;
}

struct known_module {
    const char* name = nullptr;
    void* reference = nullptr;
    std::uint32_t what = 0;
};
// Never freed: a thread may still call a module when the process ends.
struct known_modules {
    std::unordered_map<const void*, known_module> by_module;
    std::unordered_map<const void*, const void*> by_reference;
};
known_modules& known() {
    static auto& modules = *new known_modules;
    return modules;
}

// Null, with an exception set in Python, if the program raised it: in a signal handler, which Python runs in any
// function. An exception because there is no room for one more function is cleared.
template <typename... TArguments>
void* call_python(void* callable, TArguments... arguments) noexcept {
    void* const result = runtime.call(callable, arguments..., nullptr);
    if (result != nullptr) {
        runtime.release(result);
        return runtime.none;
    }
    if (runtime.error_is(runtime.no_room) == 0) return nullptr;
    runtime.clear_error();
    return runtime.none;
}

// As call_python, with the number of calls around the one that begins or ends.
template <typename... TArguments>
void* call_python_at(const calls_under_way& at, void* callable, TArguments... arguments) noexcept {
    void* const around = runtime.number(at.seen_by_python);
    if (around == nullptr) {
        runtime.clear_error();
        return runtime.none;
    }
    void* const result = call_python(callable, arguments..., around);
    runtime.release(around);
    return result;
}

std::int64_t next_sequence() noexcept {
    return runtime.next_sequence == nullptr ? -1 : static_cast<std::int64_t>(runtime.next_sequence());
}

bool is_to_be_named(const known_module* module, bool is_outermost) noexcept {
    if (module == nullptr) return true;
    return is_outermost ? module->name == nullptr : (module->what & module_is_root) != 0;
}

const known_module* find(const void* module) noexcept {
    const auto found = known().by_module.find(module);
    return found == known().by_module.end() ? nullptr : &found->second;
}

// False where call_python() is null.
bool name_called(const calls_under_way& at, void* module, bool is_outermost) noexcept {
    void* const around = is_outermost ? runtime.none : runtime.address(at.outermost);
    if (around == nullptr) {
        runtime.clear_error();
        return true;
    }
    void* const result = call_python(runtime.on_module, module, around);
    if (!is_outermost) runtime.release(around);
    return result != nullptr;
}

// The module whose call begins in the frame that is running: a reference, or null.
void* module_called() noexcept {
    void* const frame = runtime.frame();
    void* const module = frame == nullptr ? nullptr : runtime.variable(frame, runtime.self);
    if (module == nullptr) runtime.clear_error();
    return module;
}

void enter_module(calls_under_way& at) noexcept {
    const std::uint32_t depth = at.depth++;
    if (depth < calls_under_way::deepest) at.has_range[depth / 64] &= ~(std::uint64_t{1} << depth % 64);
}

// False where call_python() is null.
bool begin_module(calls_under_way& at) noexcept {
    const std::uint32_t depth = at.depth - 1;
    if (depth >= calls_under_way::deepest) return true;
    void* const module = module_called();
    if (module == nullptr) return true;
    const bool is_outermost = depth == 0;
    bool is_good = true;
    if (is_to_be_named(find(module), is_outermost)) is_good = name_called(at, module, is_outermost);
    if (is_outermost) at.outermost = module;
    const known_module* const found = is_good ? find(module) : nullptr;
    runtime.release(module);  // the frame has a reference, too
    const char* const begun = std::exchange(at.begun, nullptr);
    if (found == nullptr || found->name == nullptr || *found->name == '\0') return is_good;
    if ((found->what & module_is_wrapped) != 0 && begun == found->name)
        return true;  // the wrapper's range stands for it
    if (push_module(found->name, next_sequence())) {
        at.has_range[depth / 64] |= std::uint64_t{1} << depth % 64;
        at.begun = found->name;
    }
    return true;
}

void end_module(calls_under_way& at) noexcept {
    if (at.depth == 0) return;
    const std::uint32_t depth = --at.depth;
    at.begun = nullptr;
    if (depth < calls_under_way::deepest && (at.has_range[depth / 64] >> depth % 64 & 1) != 0) {
        pop_module(next_sequence());
    }
}

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

bool leave(calls_under_way& at) noexcept {
    if (at.others == 0) return false;
    if (--at.others < calls_under_way::most) at.modules = at.modules_around[at.others];
    return true;
}

// After an exception Python unwinds the call that has just begun, and on_unwind ends it.
void* on_start(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 2) return runtime.none;
    calls_under_way& at = calls_here();
    void* const code = arguments[0];
    void* result = runtime.none;
    if (code != runtime.module_call) {
        result = call_python_at(at, runtime.on_start, code);
        if (is_watched(code)) {
            enter(at);
            ++at.seen_by_python;
        }
        return result;
    }
    if (runtime.on_module != nullptr) enter_module(at);
    if (at.modules++ == 0) {
        result = call_python_at(at, runtime.on_start, code);
        ++at.seen_by_python;
    }
    if (result == nullptr || runtime.on_module == nullptr) return result;
    return begin_module(at) ? result : nullptr;
}

void* finish(calls_under_way& at, const void* code) noexcept {
    bool was_seen = false;
    if (code == runtime.module_call) {
        end_module(at);
        if (at.modules == 0 || --at.modules != 0) return runtime.none;
        was_seen = true;
    } else {
        was_seen = leave(at);
    }
    if (was_seen && at.seen_by_python > 0) --at.seen_by_python;
    return call_python_at(at, runtime.on_end);
}

void* on_end(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 1) return runtime.none;
    calls_under_way& at = calls_here();
    void* const result = finish(at, arguments[0]);
    at.has_failed_at_end = result == nullptr;
    return result;
}

// For any function that an exception leaves.
void* on_unwind(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 1 || (arguments[0] != runtime.module_call && !is_watched(arguments[0]))) return runtime.none;
    calls_under_way& at = calls_here();
    if (std::exchange(at.has_failed_at_end, false)) return call_python_at(at, runtime.on_end);
    return finish(at, arguments[0]);
}

// A phase may wait for a window to open; other threads run meanwhile.
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
    int result = 0;
    without_interpreter([&] { result = prof_phase_push(runtime.texts[index], runtime.categories[index]); });
    return result == PROF_OK ? runtime.yes : runtime.no;
}

void* pop(void*, void* const*, std::ptrdiff_t) noexcept {
    without_interpreter([] { (void)prof_phase_pop(); });
    return runtime.none;
}

void forget_calls() noexcept { epoch_of_calls.fetch_add(1, std::memory_order_relaxed); }

void name_module(void* module, const char* name, void* reference, std::uint32_t what) noexcept {
    try {
        known().by_reference[reference] = module;
        known().by_module[module] = {name, reference, what};
    } catch (const std::exception&) {  // no memory
    }
}
void* forget_module(void*, void* const* reference, std::ptrdiff_t count) noexcept {
    if (count < 1) return runtime.none;
    const auto found = known().by_reference.find(reference[0]);
    if (found == known().by_reference.end()) return runtime.none;
    known().by_module.erase(found->second);
    known().by_reference.erase(found);
    return runtime.none;
}

constexpr prof_python_functions functions{on_start, on_end,       on_unwind,   push,
                                          pop,      forget_calls, name_module, forget_module};

}  // namespace
}  // namespace prof

// Private to libprof's own Python files, and may change with them. The arrays in `given` must live for ever.
PROF_EXPORT const prof_python_functions* prof_python_calls(const prof_python_runtime* given) {
    prof::runtime = *given;
    return &prof::functions;
}
