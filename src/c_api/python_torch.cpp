// SPDX-License-Identifier: Apache-2.0
#include "c_api/python_torch.hpp"

#include <prof/prof.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/export_symbol.hpp"
#include "hooks/torch/record_functions.hpp"
#include "session/readiness.hpp"
#include "session/recording.hpp"

namespace prof {
namespace {

// Set once, before the first call; the interpreter's lock orders it, and all that follows.
prof_torch_runtime torch_runtime{};

// --- the program's profilers
// ------------------------------------------------------------------------------------------

// The pause of libprof's recording for a profiler of the program.
struct profiler_pause {
    bool is_on = false;
    bool was_not_resumed = false;  // the capture's disk did not answer

    // Other threads run meanwhile.
    template <typename TCall>
    static int without_interpreter(TCall call) noexcept {
        void* const state = torch_runtime.save_thread();
        const int result = call();
        torch_runtime.restore_thread(state);
        return result;
    }

    // True: this call has paused the recording. Where options decide when to record it is not paused.
    bool begin() noexcept {
        if (is_on) return false;
        is_on = without_interpreter(prof_pause) == PROF_OK || was_not_resumed;
        if (is_on) (void)without_interpreter(prof_sync);
        return is_on;
    }

    void end() noexcept {
        if (!std::exchange(is_on, false)) return;
        was_not_resumed = without_interpreter(prof_resume) != PROF_OK;
    }
};
profiler_pause pause_for_profiler{};

// Of the thread that runs. Neither counts where a recording has ended meanwhile: prof_resume does nothing then.
struct thread_profilers {
    // It has a profiler that was begun without CUDA. The end of that one is no reason to resume: libprof has paused for
    // one of another thread.
    bool has_host_profiler;
    bool has_paused;  // libprof, for a profiler that was not ended yet
};
__thread thread_profilers profilers_here __attribute__((tls_model("initial-exec"))) = {};

void note_pause() noexcept { profilers_here.has_paused = true; }

bool is_cuda(void* activity) noexcept {
    if (activity == torch_runtime.cuda) return true;
    void* const type = torch_runtime.type(activity);
    if (type != nullptr) torch_runtime.release(type);
    if (type == nullptr || type != torch_runtime.activity_type) return false;
    const int is_equal = torch_runtime.equals(activity, torch_runtime.cuda, 2);  // Py_EQ
    if (is_equal < 0) torch_runtime.clear_error();
    return is_equal == 1;
}

bool is_container(void* object) noexcept {
    void* const type = torch_runtime.type(object);
    if (type == nullptr) return false;
    torch_runtime.release(type);
    return std::find(torch_runtime.containers, torch_runtime.containers + torch_runtime.container_count, type) !=
           torch_runtime.containers + torch_runtime.container_count;
}

bool contains_cuda(void* activities) noexcept {
    if (!is_container(activities)) return false;
    void* const iterator = torch_runtime.iterator(activities);
    bool found = false;
    while (iterator != nullptr && !found) {
        void* const activity = torch_runtime.next(iterator);
        if (activity == nullptr) break;
        found = is_cuda(activity);
        torch_runtime.release(activity);
    }
    if (iterator != nullptr) torch_runtime.release(iterator);
    torch_runtime.clear_error();
    return found;
}

// Whether a profiler that begins with these arguments, (config, activities, ...), records CUDA.
bool asks_for_cuda(void* arguments, void* options) noexcept {
    if (torch_runtime.cuda == nullptr) return false;
    if (options != nullptr) {
        if (void* const given = torch_runtime.option(options, "activities")) return contains_cuda(given);
    }
    void* const given = torch_runtime.item(arguments, 1);
    if (given == nullptr) {
        torch_runtime.clear_error();
        return false;
    }
    const bool found = contains_cuda(given);
    torch_runtime.release(given);
    return found;
}

// The warm-up of a profiler uses CUPTI already.
void* prepare_profiler(void*, void* arguments, void* options) noexcept {
    const bool has_paused = asks_for_cuda(arguments, options) && pause_for_profiler.begin();
    void* const result = torch_runtime.call(torch_runtime.originals[0], arguments, options);
    if (has_paused) result == nullptr ? pause_for_profiler.end() : note_pause();
    return result;
}

void* enable_profiler(void*, void* arguments, void* options) noexcept {
    const bool records_cuda = asks_for_cuda(arguments, options);
    const bool has_paused = records_cuda && pause_for_profiler.begin();
    void* const result = torch_runtime.call(torch_runtime.originals[1], arguments, options);
    if (has_paused) result == nullptr ? pause_for_profiler.end() : note_pause();
    if (result != nullptr) profilers_here.has_host_profiler = !records_cuda;
    return result;
}

void* disable_profiler(void*, void* arguments, void* options) noexcept {
    void* const result = torch_runtime.call(torch_runtime.originals[2], arguments, options);
    // A profiler of all threads may be ended by another thread than the one that began it.
    const bool is_anothers = std::exchange(profilers_here.has_host_profiler, false);
    if (std::exchange(profilers_here.has_paused, false) || (result != nullptr && !is_anothers))
        pause_for_profiler.end();
    return result;
}

// --- record functions
// -------------------------------------------------------------------------------------------------

int observe(std::uint64_t of_ranges, std::uint64_t of_functions) noexcept {
    const torch_library library{torch_runtime.add_global_callback, torch_runtime.remove_callback, torch_runtime.name,
                                torch_runtime.profiler_type};
    recording_session::note_torch();
    return observe_record_functions(library, {of_ranges, of_functions}, is_ready) ? PROF_OK : PROF_INVALID_ARGUMENT;
}

constexpr prof_torch_functions torch_functions{observe,
                                               leave_record_functions,
                                               begin_torch_trial,
                                               end_torch_trial,
                                               {prepare_profiler, enable_profiler, disable_profiler}};

}  // namespace
}  // namespace prof

// Private to libprof's own Python files, and may change with them. What `given` points to must live for ever.
PROF_EXPORT const prof_torch_functions* prof_python_torch(const prof_torch_runtime* given) {
    prof::torch_runtime = *given;
    return &prof::torch_functions;
}
