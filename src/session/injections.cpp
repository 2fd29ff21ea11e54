#include "session/injections.hpp"

#include <dlfcn.h>

#include <atomic>
#include <climits>
#include <cstdlib>

#include "session/process.hpp"

namespace prof {
namespace {

constexpr const char* nvtx_variable = "NVTX_INJECTION64_PATH";
constexpr const char* cuda_variable = "CUDA_INJECTION64_PATH";

// Another tool's path; "" if we have the variable. Written by the constructor alone.
std::string& nvtx_tool() {
    static auto* const path = new std::string;
    return *path;
}
std::string& cuda_tool() {
    static auto* const path = new std::string;
    return *path;
}

std::atomic<bool> has_nvtx{false};

std::string set_unless_taken(const char* variable, const std::string& own_path) {
    const char* const set = std::getenv(variable);
    if (set == nullptr) {
        setenv(variable, own_path.c_str(), 1);
        return {};
    }
    char resolved[PATH_MAX];
    return realpath(set, resolved) != nullptr && own_path == resolved ? std::string{} : std::string{set};
}

// With both taken nobody calls us: all that can be done is to say so, where the process did use CUDA. (The driver is
// loaded at its first use. It is not asked: it may be gone.)
void say_that_nothing_was_recorded() {
    if (has_nvtx || dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr) return;
    complain_once(std::string{"nothing is recorded: "} + nvtx_variable + " and " + cuda_variable +
                  " name another tool, " + nvtx_tool());
}

}  // namespace

void take_injection_variables(const std::string& own_path) {
    nvtx_tool() = set_unless_taken(nvtx_variable, own_path);
    cuda_tool() = set_unless_taken(cuda_variable, own_path);
    if (!nvtx_tool().empty() && !cuda_tool().empty()) std::atexit(say_that_nothing_was_recorded);
}

void nvtx_has_come() noexcept { has_nvtx = true; }

std::string taken_by_others(bool wants_gpu) {
    std::string line;
    if (!has_nvtx && !nvtx_tool().empty()) {
        line = std::string{"no ranges are recorded: "} + nvtx_variable + " names another tool, " + nvtx_tool();
    }
    if (wants_gpu && !cuda_tool().empty()) {
        if (!line.empty()) line += "; ";
        line += std::string{"no GPU work is recorded: "} + cuda_variable + " names another tool, " + cuda_tool();
    }
    return line;
}

}  // namespace prof
