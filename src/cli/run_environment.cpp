// SPDX-License-Identifier: Apache-2.0
#include "cli/run_environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#include "base/gpu_tools.hpp"
#include "base/outcome.hpp"
#include "cli/cli.hpp"
#include "cli/library.hpp"

namespace prof {
namespace {

// A program built with GCC's address sanitizer ends at once where another library stands before the sanitizer's: that
// must be the first to define malloc and its kin. libprof.so defines none of them.
void make_way_for_sanitizers(run_environment& variables) {
    const std::string options = variables.get("ASAN_OPTIONS");
    constexpr std::string_view check = "verify_asan_link_order";
    if (options.find(check) != std::string::npos) return;
    variables.set("ASAN_OPTIONS", fmt::format("{}{}{}=0", options, options.empty() ? "" : ":", check));
}

}  // namespace

run_environment::run_environment() {
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view line = *variable;
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos) values_[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
    before_ = values_;
}

std::string run_environment::get(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
}

environment run_environment::lines() const {
    environment out;
    out.reserve(values_.size());
    for (const auto& [name, value] : values_) {
        std::string line = name;
        out.push_back(line.append("=").append(value));
    }
    return out;
}

std::vector<changed_variable> run_environment::changes() const {
    std::vector<changed_variable> out;
    for (const auto& [name, value] : values_) {
        const auto before = before_.find(name);
        if (before == before_.end()) {
            out.push_back({name, value, std::nullopt});
        } else if (before->second != value) {
            out.push_back({name, value, before->second});
        }
    }
    return out;
}

void inject(run_environment& variables, const std::string& library) {
    make_way_for_sanitizers(variables);
    const std::string preloaded = variables.get("LD_PRELOAD");
    variables.set("LD_PRELOAD", preloaded.empty() ? library : library + ":" + preloaded);
    std::string_view tool = gpu_tool_around();
    if (tool.empty()) tool = gpu_tool_above();
    if (!tool.empty()) {
        variables.set(beside_variable, std::string(tool));
        complain(gpu_tool_notice(tool));
    }
    for (const char* const name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
        if (!tool.empty() && name == std::string_view("CUDA_INJECTION64_PATH")) continue;
        const std::string other = variables.get(name);
        if (other.empty()) {
            variables.set(name, library);
        } else if (other != library) {
            complain(
                fmt::format("{} is set to {}, which prof run does not change: what it receives may not reach libprof",
                            name, other));
        }
    }
}

void guide_python(run_environment& variables) {
    const std::string folder = python_folder_beside_executable();
    const outcome usable = try_python_folder(folder);
    if (!usable.ok()) {
        return complain(usable.message() +
                        "; PyTorch's own ranges are not observed, and no way is made for Triton's profiler: "
                        "install all of libprof, or give --pytorch off");
    }
    const std::string before = variables.get("PYTHONPATH");
    variables.set("PYTHONPATH", before.empty() ? folder : folder + ":" + before);
}

}  // namespace prof
