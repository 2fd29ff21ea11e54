// SPDX-License-Identifier: Apache-2.0
#include "session/process/process.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "base/short_file.hpp"
#include "session/process/program_name.hpp"

namespace prof {
namespace {

// The value of the first variable that holds a whole number; "" if none does.
std::string number_from_environment(std::initializer_list<const char*> variables) {
    for (const char* variable : variables) {
        const char* value = std::getenv(variable);
        if (value != nullptr && *value != 0 && std::strspn(value, "0123456789") == std::strlen(value)) return value;
    }
    return {};
}

argument_list arguments_of(const std::string& process) {
    const std::string text = text_of_file("/proc/" + process + "/cmdline");
    argument_list arguments;
    for (std::size_t position = 0; position < text.size();) {
        const std::size_t end = std::min(text.find('\0', position), text.size());
        arguments.push_back(text.substr(position, end - position));
        position = end + 1;
    }
    return arguments;
}

// "" if it is unknown.
std::string parent_of(const std::string& process) {
    const std::string text = text_of_file("/proc/" + process + "/stat");
    const std::size_t name_end = text.rfind(')');  // the name may contain anything
    constexpr std::size_t state_bytes = 4;         // ") S "
    if (name_end == std::string::npos || text.size() < name_end + state_bytes) return {};
    const std::size_t begin = name_end + state_bytes;
    return text.substr(begin, text.find(' ', begin) - begin);
}

argument_list arguments_of_ancestor(int generation) {
    std::string process = "self";
    for (; generation > 0 && !process.empty(); --generation) process = parent_of(process);
    return process.empty() ? argument_list{} : arguments_of(process);
}

std::string link_target(const char* path) {
    char target[PATH_MAX];
    const ssize_t bytes = readlink(path, target, sizeof target);
    return bytes > 0 ? std::string(target, static_cast<std::size_t>(bytes)) : std::string{};
}

}  // namespace

environment_facts read_environment_facts() {
    environment_facts facts;
    facts.rank = number_from_environment({"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"});
    facts.world_size = number_from_environment({"WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
    facts.local_rank =
        number_from_environment({"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"});
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (const char* home = std::getenv(variable)) facts.toolkits.emplace_back(home);
    }
    return facts;
}

bool has_more_rights_than_its_user() noexcept {
    static const bool has = getauxval(AT_SECURE) != 0;
    return has;
}

process_facts read_process_facts(const session_options& options, const environment_facts& environment) {
    process_facts facts;
    char hostname[256] = {};
    if (gethostname(hostname, sizeof hostname - 1) == 0) facts.hostname = hostname;
    if (facts.hostname.empty()) facts.hostname = "localhost";
    const argument_list arguments = arguments_of("self");
    for (const std::string& argument : arguments) {
        facts.command += (facts.command.empty() ? "" : " ") + argument;
    }
    facts.executable = link_target("/proc/self/exe");
    facts.working_directory = link_target("/proc/self/cwd");
    facts.name = options.name.empty() ? program_name(arguments, arguments_of_ancestor) : options.name;
    facts.rank = options.rank;
    if (facts.rank.empty()) facts.rank = environment.rank;
    if (facts.rank.empty()) facts.rank = "0";
    facts.world_size = environment.world_size;
    facts.local_rank = environment.local_rank;
    return facts;
}

}  // namespace prof
