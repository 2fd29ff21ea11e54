// SPDX-License-Identifier: Apache-2.0
// The entry points: the constructor (linked, LD_PRELOAD), and the functions that CUDA's driver and NVTX search for.
// However many of them are called, there is one session per process.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/cancellation_guard.hpp"
#include "base/export_symbol.hpp"
#include "base/gpu_tools.hpp"
#include "hooks/nvtx/nvtx_extension.hpp"
#include "hooks/nvtx/nvtx_hooks.hpp"
#include "session/process/autostart.hpp"
#include "session/process/earlier_nvtx.hpp"
#include "session/process/injections.hpp"
#include "session/process/process.hpp"
#include "session/process/warn_once.hpp"
#include "session/recording.hpp"
#include "session/session_callbacks.hpp"

namespace prof {
namespace {

// Names this image of the process: 16 random bytes that the kernel makes anew at every exec. A pid would not do, since
// a launcher that execs the real program passes on pid and environment.
std::string image_name() {
    const auto* random = reinterpret_cast<const unsigned char*>(getauxval(AT_RANDOM));
    std::string name;
    for (int i = 0; random != nullptr && i < 16; ++i) {
        char hex[3];
        std::snprintf(hex, sizeof hex, "%02x", random[i]);
        name += hex;
    }
    return name;
}

std::string own_path() {
    Dl_info info{};
    char resolved[PATH_MAX];
    if (dladdr(reinterpret_cast<void*>(&own_path), &info) == 0 || info.dli_fname == nullptr) return {};
    return realpath(info.dli_fname, resolved) != nullptr ? resolved : std::string{};
}

// Whether there is some. Where there is none, not even the exception that says so can be made, and the C++ runtime ends
// the process instead.
bool has_memory_to_start() noexcept {
    constexpr std::size_t enough = std::size_t{256} << 10;
    void* const probe = std::malloc(enough);
    // Written, since a compiler leaves out what is only taken and given back.
    if (probe != nullptr) *static_cast<volatile char*>(probe) = 0;
    std::free(probe);
    return probe != nullptr;
}

// libprof.so changes the environment here and nowhere else: when the process starts no other thread reads it. NVTX and
// the driver read these variables at their first use. A variable that is set belongs to another tool, and stays.
[[gnu::constructor]] void on_load(int count, char** arguments, char**) noexcept {
    if (has_more_rights_than_its_user() || !has_memory_to_start()) return;
    const cancellation_guard guard;  // the thread that loads the library may be one of many
    try {
        const std::string image = image_name();
        const char* const known = std::getenv("PROF_IMAGE");
        const char* const first = std::getenv("PROF_IMAGE_LIBRARY");
        if (known != nullptr && image == known) {
            yield_to_first_copy(first == nullptr ? "another file" : first);
            return;
        }
        pthread_atfork(nullptr, nullptr, recording_session::in_child);
        session_callbacks::watch_forks();
        note_late_load();
        const std::string path = own_path();
        setenv("PROF_IMAGE", image.c_str(), 1);
        setenv("PROF_IMAGE_LIBRARY", path.c_str(), 1);
        note_way_in();
        if (path.empty()) return;
        const std::string_view tool = gpu_tool_of({arguments, static_cast<std::size_t>(count)});
        tool.empty() ? take_injection_variables(path) : stand_aside_for(tool);
        if (tool.empty()) take_nccl_variable(path);
    } catch (...) {
        // No memory at start-up: the program goes on without libprof.
    }
}

// Runs `action`; a failure is reported on stderr.
template <typename TAction>
void attempt(TAction&& action) noexcept {
    try {
        action();
    } catch (const std::bad_alloc&) {
        warn_once("no memory for a recording; nothing is recorded while that is so");
    } catch (const std::exception& failure) {
        warn_once(failure.what());
    }
}

// Runs the action of an entry point. Where another copy of libprof has the session, calls that copy's entry point
// instead.
template <typename TAction, typename... TArguments>
int enter(const char* name, int (*)(TArguments...), TAction&& action, TArguments... arguments) noexcept {
    // The first condition: a child that pthread_atfork's handlers have not seen.
    if (gate_was_wiped() || has_more_rights_than_its_user()) return 0;
    const cancellation_guard guard;
    if (first_copy() != nullptr) {
        const auto first = reinterpret_cast<int (*)(TArguments...)>(function_of_first_copy(name));
        return first == nullptr ? 0 : first(arguments...);
    }
    bool is_done = false;
    attempt([&] { is_done = action(); });
    return is_done ? 1 : 0;
}

}  // namespace
}  // namespace prof

#define PROF_ENTER(function, ...) prof::enter(#function, function, __VA_ARGS__)

PROF_EXPORT int InitializeInjection() {
    // The driver gives up unless it gets 1, and a failure of libprof's is no reason for that.
    (void)PROF_ENTER(InitializeInjection, [] {
        prof::recording_session::on_cuda_init();
        return true;
    });
    return 1;
}

PROF_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
    return PROF_ENTER(
        InitializeInjectionNvtx2,
        [&] {
            prof::note_nvtx_attached();
            prof::recording_session& session = prof::recording_session::instance();
            session.hold_hooks();
            // A thread that makes a range meanwhile waits in NVTX until this function has returned. For a signal's
            // handler on this thread that never happens, nor for a child that is forked now. A thread that finds the
            // hooks does not wait there, so they are installed first.
            const bool has_hooks = prof::install_nvtx_hooks(get_export_table);
            prof::attempt([&] { session.prepare(); });  // the hooks stay: a later attempt may succeed
            return has_hooks;
        },
        get_export_table);
}

PROF_EXPORT int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
    return PROF_ENTER(
        InitializeInjectionNvtxExtension, [&] { return prof::answer_nvtx_extension(module); }, module);
}
