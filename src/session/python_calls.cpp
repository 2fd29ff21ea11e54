#include "session/python_calls.hpp"

#include <prof/prof.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <unordered_map>

#include "hooks/nvtx/nvtx_hooks.hpp"

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
    // Of all calls of modules, one in another: which have a range to be ended. Deeper ones have none.
    static constexpr std::uint32_t deepest = 1024;
    std::uint32_t depth = 0;
    std::array<std::uint64_t, deepest / 64> has_range{};
};
constinit thread_local calls_under_way under_way;

// By module. Never freed: a thread may still call a module when the process ends.
std::unordered_map<const void*, const char*>& module_names() {
    static auto& names = *new std::unordered_map<const void*, const char*>;
    return names;
}

std::int64_t next_sequence() noexcept {
    return runtime.next_sequence == nullptr ? -1 : static_cast<std::int64_t>(runtime.next_sequence());
}

// Of the module whose call begins in the frame that is running; null: it has none.
const char* name_of_called(bool is_outermost) noexcept {
    void* const frame = runtime.frame();
    void* const module = frame == nullptr ? nullptr : runtime.variable(frame, runtime.self);
    if (module == nullptr) {
        runtime.clear_error();
        return nullptr;
    }
    const auto& names = module_names();
    auto found = names.find(module);
    if (found == names.end()) {
        void* const outermost = is_outermost ? runtime.yes : runtime.no;
        if (void* const result = runtime.call(runtime.on_module, module, outermost, nullptr)) runtime.release(result);
        found = names.find(module);
    }
    runtime.release(module);  // the frame has it, too
    return found == names.end() ? nullptr : found->second;
}

void begin_module(calls_under_way& at) noexcept {
    if (runtime.on_module == nullptr) return;
    const std::uint32_t depth = at.depth++;
    if (depth >= calls_under_way::deepest) return;
    const std::uint64_t bit = std::uint64_t{1} << depth % 64;
    at.has_range[depth / 64] &= ~bit;
    const char* const name = name_of_called(depth == 0);
    if (name != nullptr && push_module(name, next_sequence())) at.has_range[depth / 64] |= bit;
}

void end_module(calls_under_way& at) noexcept {
    if (at.depth == 0) return;
    const std::uint32_t depth = --at.depth;
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

void leave(calls_under_way& at) noexcept {
    if (at.others == 0) return;
    if (--at.others < calls_under_way::most) at.modules = at.modules_around[at.others];
}

void* on_start(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 2) return runtime.none;
    calls_under_way& at = under_way;
    void* const code = arguments[0];
    if (code != runtime.module_call) {
        if (is_watched(code)) enter(at);
        return runtime.call(runtime.on_start, code, nullptr);
    }
    void* result = runtime.none;
    if (at.modules++ == 0) result = runtime.call(runtime.on_start, code, nullptr);
    begin_module(at);
    return result;
}

void* on_end(void*, void* const* arguments, std::ptrdiff_t count) noexcept {
    if (count < 1) return runtime.none;
    calls_under_way& at = under_way;
    if (arguments[0] == runtime.module_call) {
        end_module(at);
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

void name_module(void* module, const char* name) noexcept {
    try {
        module_names()[module] = name;
    } catch (const std::exception&) {  // no memory
    }
}
void forget_module(void* module) noexcept { module_names().erase(module); }

constexpr prof_python_functions functions{on_start, on_end,       on_unwind,   push,
                                          pop,      forget_calls, name_module, forget_module};

}  // namespace
}  // namespace prof

// Private to libprof's own Python files, and theirs to change. The arrays that `given` names must live for ever.
PROF_EXPORT const prof_python_functions* prof_python_calls(const prof_python_runtime* given) {
    prof::runtime = *given;
    return &prof::functions;
}
