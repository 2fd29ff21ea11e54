// SPDX-License-Identifier: Apache-2.0
// A fault: which call of libprof's to the C library goes wrong, and how. In text, as it is handed to the program:
//
//   write@5+3=fail:28     the 5th write and the two after it fail, with errno 28
//   write@7=short:40      the 7th writes 40 % of its bytes
//   any@90=fork           at the 90th call of any kind the program forks
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prof::test {

// Calls from libprof.so alone are counted. `any` counts all but those of the clock and of the allocator.
enum class faulty_call : std::uint8_t {
    any,
    accept4,
    bind,
    chmod,
    clock_gettime,
    connect,
    dlopen,
    fallocate,
    flock,
    fopen,
    fstat,
    ftruncate,
    getrandom,
    linkat,
    listen,
    malloc,
    mkdir,
    mmap,
    open,
    opendir,
    poll,
    posix_fallocate,
    pread,
    pthread_create,
    readlink,
    rename,
    sched_getaffinity,
    socket,
    statfs,
    unlink,
    write,
    writev,
    count
};
inline constexpr std::size_t faulty_calls = static_cast<std::size_t>(faulty_call::count);
inline constexpr std::array<std::string_view, faulty_calls> faulty_call_names = {"any",
                                                                                 "accept4",
                                                                                 "bind",
                                                                                 "chmod",
                                                                                 "clock_gettime",
                                                                                 "connect",
                                                                                 "dlopen",
                                                                                 "fallocate",
                                                                                 "flock",
                                                                                 "fopen",
                                                                                 "fstat",
                                                                                 "ftruncate",
                                                                                 "getrandom",
                                                                                 "linkat",
                                                                                 "listen",
                                                                                 "malloc",
                                                                                 "mkdir",
                                                                                 "mmap",
                                                                                 "open",
                                                                                 "opendir",
                                                                                 "poll",
                                                                                 "posix_fallocate",
                                                                                 "pread",
                                                                                 "pthread_create",
                                                                                 "readlink",
                                                                                 "rename",
                                                                                 "sched_getaffinity",
                                                                                 "socket",
                                                                                 "statfs",
                                                                                 "unlink",
                                                                                 "write",
                                                                                 "writev"};

enum class fault_effect : std::uint8_t {
    fail,           // errno `argument`, and nothing is done
    cut_short,      // `argument` per cent of the bytes are written or read
    delay,          // by `argument` ms
    block,          // it never comes back; on threads of libprof's alone
    kill,           // SIGKILL, when `argument` per cent of the bytes are written
    signal,         // SIGUSR1 to the thread that calls, or where that blocks it to the main thread
    fork,           // the program forks meanwhile
    clock,          // CLOCK_REALTIME jumps by `argument` s
    limit_files,    // RLIMIT_NOFILE becomes `argument`
    limit_size,     // RLIMIT_FSIZE becomes `argument`
    remove_output,  // what is in the output directory goes, and that too
    remove_rings,   // files of rings go
    fill_rings,     // the file system of the rings is full from here on
    count
};
inline constexpr std::size_t fault_effects = static_cast<std::size_t>(fault_effect::count);
inline constexpr std::array<std::string_view, fault_effects> fault_effect_names = {
    "fail",  "short",       "delay",      "block",         "kill",         "signal",    "fork",
    "clock", "limit_files", "limit_size", "remove_output", "remove_rings", "fill_rings"};

struct fault {
    faulty_call call = faulty_call::any;
    fault_effect effect = fault_effect::fail;
    std::uint32_t first = 1;  // the number of the call, from 1
    std::uint32_t times = 1;
    std::int64_t argument = 0;

    bool operator==(const fault&) const = default;
};

std::string text_of(const fault& what);
std::string text_of(const std::vector<fault>& all);  // with ';' between
std::optional<std::vector<fault>> faults_of(std::string_view text);

// What really happened, in a file that the test maps: it outlives the process.
struct fault_report {
    static constexpr std::size_t most_faults = 64;
    std::atomic<std::uint32_t> calls[faulty_calls];
    std::atomic<std::uint32_t> met[most_faults];  // by the fault's place in the list
    std::atomic<std::uint32_t> children_killed;   // not the program itself; `met` does not count these
};

}  // namespace prof::test
