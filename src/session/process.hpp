// What is known about the process we are in: its name, rank, command, and the path its capture gets.
// Setup code: reads /proc. Any thread, but for what reads the environment.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "options/options.hpp"

namespace prof {

struct process_facts {
    std::string hostname;
    std::string command;  // the arguments, joined by blanks
    std::string executable;
    std::string working_directory;
    std::string name;  // of the program, or of the script that python runs
    std::string rank;
    std::string world_size;  // "" if unknown
    std::string local_rank;  // "" if unknown
};

// What the environment says beside the options. To be read on the program's own threads: where one of them changes the
// environment, a thread of libprof's might look at what has been freed.
struct environment_facts {
    std::string rank;  // "" if unknown, and so are the next two
    std::string world_size;
    std::string local_rank;
    std::vector<std::string> toolkits;  // where CUDA's may be
};
environment_facts read_environment_facts();

// The program has rights that who started it has not: it is set-user-id, or its file has capabilities. Then the
// environment is not to be trusted, and libprof does nothing at all.
bool has_more_rights_than_its_user() noexcept;

process_facts read_process_facts(const session_options& options, const environment_facts& environment);

// Whether anything has this name, be it a link to nowhere.
bool is_taken(const std::string& path) noexcept;

// <output_dir>/<name>.<rank>.<hostname>-<pid>.prof; if that is there already (an earlier recording of this process, or
// of another with its number) ….2.prof, and so on.
std::string unused_capture_path(const session_options& options, const process_facts& facts);

// The folders of a path and the path itself, mode 0700. Returns "" or one line.
std::string make_directories(const std::string& path);
// Likewise, and whether files may be made there.
std::string prepare_directory(const std::string& path);

std::array<std::uint8_t, 16> random_id() noexcept;

// At most one line on stderr in the life of the process: the first that can be written there without a wait. Never
// stdout, and no signal for who reads no more.
void warn_once(std::string_view line) noexcept;

}  // namespace prof
