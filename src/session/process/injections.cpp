// SPDX-License-Identifier: Apache-2.0
#include "session/process/injections.hpp"

#include <dlfcn.h>
#include <strings.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/cancellation_guard.hpp"
#include "base/gpu_tools.hpp"
#include "base/signal_handler.hpp"
#include "hooks/nccl/chained_plugin.hpp"
#include "hooks/nccl/profiler_plugin.hpp"
#include "session/process/end_thread.hpp"
#include "session/process/journal_notes.hpp"
#include "session/process/warn_once.hpp"

namespace prof {
namespace {

constexpr const char* nvtx_variable = "NVTX_INJECTION64_PATH";
constexpr const char* cuda_variable = "CUDA_INJECTION64_PATH";

// Another tool's path; "" if the variable names libprof. Written by the constructor alone.
std::string& nvtx_tool() {
    static auto* const path = new std::string;
    return *path;
}
std::string& cuda_tool() {
    static auto* const path = new std::string;
    return *path;
}

std::string& nccl_remark() {
    static auto* const line = new std::string;
    return *line;
}

std::atomic<bool> has_nvtx{false};

const std::string* first_path = nullptr;  // written by the constructor alone

// This copy, or another one, which passes calls on to the copy that has the session.
bool is_libprof(const std::string& path) { return names_libprof(path) && access(path.c_str(), R_OK) == 0; }

std::string set_unless_taken(const char* variable, const std::string& own_path) {
    const char* const set = std::getenv(variable);
    if (set == nullptr) {
        setenv(variable, own_path.c_str(), 1);
        return {};
    }
    return is_libprof(set) ? std::string{} : std::string{set};
}

void unset_if_own(const char* variable) {
    const char* const set = std::getenv(variable);
    if (set != nullptr && names_libprof(set)) unsetenv(variable);
}

// The program, or a tool that was loaded after libprof, may have set it since.
std::string taken_until_now(const char* variable, const std::string& at_first) {
    const char* const set = std::getenv(variable);
    return set == nullptr || is_libprof(set) ? at_first : std::string{set};
}

// With both variables taken libprof is never called: it can only report that, where the process did use CUDA. (The
// driver is loaded at its first use. It is not called: it may be gone.) A signal's handler that exits must not call
// dlopen: it may have interrupted that, or the allocator.
void report_nothing_recorded() {
    const cancellation_guard guard;
    if (has_nvtx || is_in_signal_handler() || dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr) return;
    warn_once(std::string{"nothing is recorded: "} + nvtx_variable + " and " + cuda_variable + " name another tool, " +
                  nvtx_tool(),
              PROF_LOG_ERROR);
}

}  // namespace

bool names_libprof(std::string_view path) noexcept {
    return path.substr(path.rfind('/') + 1).starts_with("libprof.so");
}

bool is_injected_by_environment() {
    for (const char* variable : {nvtx_variable, cuda_variable}) {
        const char* const set = std::getenv(variable);
        if (set != nullptr && is_libprof(set)) return true;
    }
    return false;
}

void stand_aside_for(std::string_view tool) {
    for (const char* const variable : {nvtx_variable, cuda_variable}) unset_if_own(variable);
    const std::string name(tool);
    setenv(beside_variable, name.c_str(), 1);
    const char* const journal = std::getenv("PROF_RUN_JOURNAL");
    if (journal != nullptr) note_gpu_tool(journal, tool);
}

void take_injection_variables(const std::string& own_path) {
    nvtx_tool() = set_unless_taken(nvtx_variable, own_path);
    if (!gpu_tool_around().empty()) return unset_if_own(cuda_variable);
    cuda_tool() = set_unless_taken(cuda_variable, own_path);
    if (!nvtx_tool().empty() && !cuda_tool().empty()) std::atexit(report_nothing_recorded);
}

void take_nccl_variable(const std::string& own_path) {
    const char* const wanted = std::getenv("PROF_NCCL");
    const char* const set = std::getenv(nccl::plugin_variable);
    const bool names_this = set != nullptr && names_libprof(set);
    if (wanted != nullptr && std::string_view(wanted) == "off") {
        if (!names_this) return;
        const char* const before = std::getenv(nccl::replaced_variable);
        before == nullptr ? unsetenv(nccl::plugin_variable) : setenv(nccl::plugin_variable, before, 1);
        unsetenv(nccl::replaced_variable);
        return;
    }
    if (set != nullptr && strcasecmp(set, "none") == 0) {
        nccl_remark() = std::string("NCCL's collectives are not recorded: ") + nccl::plugin_variable + " is none";
        return;
    }
    if (own_path.size() > nccl::longest_path) {
        nccl_remark() = "NCCL's collectives are not recorded: the path of libprof.so is too long for it";
        return;
    }
    if (set != nullptr && !names_this) {
        setenv(nccl::replaced_variable, set, 1);
        nccl_remark() = std::string("NCCL's profiler plugin ") + set + " is called by libprof";
    }
    if (!names_this || own_path != set) setenv(nccl::plugin_variable, own_path.c_str(), 1);
}

std::string nccl_notice() {
    if (const std::string_view problem = nccl::problem_of_chained_plugin(); !problem.empty()) {
        return "NCCL's own profiler plugin is not called, since " + std::string(problem) +
               "; with PROF_NCCL=off NCCL loads it";
    }
    if (!nccl::is_refused_by_configuration()) return nccl_remark();
    return "NCCL's collectives are not recorded: its configuration file says that it has no profiler plugin";
}

void yield_to_first_copy(const char* path) { first_path = new std::string(path); }

const char* first_copy() noexcept { return first_path == nullptr ? nullptr : first_path->c_str(); }

void* function_of_first_copy(const char* name) noexcept {
    void* const first = dlopen(first_copy(), RTLD_NOW | RTLD_NOLOAD);
    return first == nullptr ? nullptr : dlsym(first, name);
}

void note_nvtx_attached() noexcept { has_nvtx = true; }

std::string taken_variables_notice(bool wants_gpu) {
    std::string line;
    const std::string nvtx = has_nvtx ? std::string{} : taken_until_now(nvtx_variable, nvtx_tool());
    if (!nvtx.empty()) line = std::string{"no ranges are recorded: "} + nvtx_variable + " names another tool, " + nvtx;
    const std::string_view around = wants_gpu ? gpu_tool_around() : std::string_view();
    const std::string cuda = wants_gpu ? taken_until_now(cuda_variable, cuda_tool()) : std::string{};
    if (!line.empty() && (!around.empty() || !cuda.empty())) line += "; ";
    if (!around.empty()) return line + gpu_tool_notice(around);
    if (cuda.empty()) return line;
    return line + "no GPU work is recorded: " + cuda_variable + " names another tool, " + cuda;
}

}  // namespace prof
