#include "session/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "base/clock.hpp"
#include "base/file_size_signal.hpp"

namespace prof {
namespace {

// The first of these that holds a whole number.
std::string number_from_environment(std::initializer_list<const char*> variables) {
    for (const char* variable : variables) {
        const char* value = std::getenv(variable);
        if (value != nullptr && *value != 0 && std::strspn(value, "0123456789") == std::strlen(value)) return value;
    }
    return {};
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> read_arguments() {
    std::ifstream in("/proc/self/cmdline", std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::vector<std::string> arguments;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        arguments.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return arguments;
}

// `python -u train.py --steps 3` is "train", `./trainer` is "trainer".
std::string program_name(const std::vector<std::string>& arguments) {
    if (arguments.empty()) return "process";
    std::string name = file_name(arguments.front());
    if (name.rfind("python", 0) == 0) {
        for (std::size_t i = 1; i < arguments.size(); ++i) {
            if (arguments[i] == "-c") break;
            if (arguments[i] == "-m" && i + 1 < arguments.size()) return arguments[i + 1];
            if (arguments[i].empty() || arguments[i][0] == '-') continue;
            name = file_name(arguments[i]);
            if (name.size() > 3 && name.ends_with(".py")) name.resize(name.size() - 3);
            break;
        }
    }
    return name.empty() ? "process" : name;
}

std::string link_target(const char* path) {
    char target[PATH_MAX];
    const ssize_t bytes = readlink(path, target, sizeof target);
    return bytes > 0 ? std::string(target, static_cast<std::size_t>(bytes)) : std::string{};
}

// What comes from outside must not lead out of the output directory.
std::string as_file_name(std::string text) {
    for (char& c : text) {
        if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '_';
    }
    if (text.size() > 128) text.resize(128);
    return text;
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
    const std::vector<std::string> arguments = read_arguments();
    for (const std::string& argument : arguments) {
        facts.command += (facts.command.empty() ? "" : " ") + argument;
    }
    facts.executable = link_target("/proc/self/exe");
    facts.working_directory = link_target("/proc/self/cwd");
    facts.name = options.name.empty() ? program_name(arguments) : options.name;
    facts.rank = options.rank;
    if (facts.rank.empty()) facts.rank = environment.rank;
    if (facts.rank.empty()) facts.rank = "0";
    facts.world_size = environment.world_size;
    facts.local_rank = environment.local_rank;
    return facts;
}

bool is_taken(const std::string& path) noexcept {
    return faccessat(AT_FDCWD, path.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string unused_capture_path(const session_options& options, const process_facts& facts) {
    const std::string stem = options.output_dir + "/" + as_file_name(facts.name) + "." + facts.rank + "." +
                             as_file_name(facts.hostname) + "-" + std::to_string(getpid());
    std::string path = stem + ".prof";
    for (int number = 2; is_taken(path); ++number) {
        path = stem + "." + std::to_string(number) + ".prof";
    }
    return path;
}

std::string make_directories(const std::string& path) {
    for (std::size_t at = 0; at != std::string::npos;) {
        at = path.find('/', at + 1);
        const std::string part = path.substr(0, at);
        if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
            const int reason = errno;
            struct stat status {};
            if (stat(part.c_str(), &status) == 0) continue;  // there, though we may not make it (a read-only mount)
            return "cannot make the directory " + part + ": " + std::strerror(reason);
        }
    }
    return {};
}

std::string prepare_directory(const std::string& path) {
    std::string problem = make_directories(path);
    if (!problem.empty()) return problem;
    struct stat status {};
    int reason = stat(path.c_str(), &status) == 0 ? 0 : errno;
    if (reason == 0 && !S_ISDIR(status.st_mode)) reason = ENOTDIR;
    if (reason == 0 && faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0) reason = errno;
    if (reason != 0) problem = "cannot make captures in " + path + ": " + std::strerror(reason);
    return problem;
}

std::array<std::uint8_t, 16> random_id() noexcept {
    std::array<std::uint8_t, 16> id{};
    if (getrandom(id.data(), id.size(), GRND_NONBLOCK) != static_cast<ssize_t>(id.size())) {
        // Early in boot: time and process tell two captures apart well enough.
        const std::uint64_t now = clock_ns(CLOCK_REALTIME);
        const auto pid = static_cast<std::uint64_t>(getpid());
        std::memcpy(id.data(), &now, sizeof now);
        std::memcpy(id.data() + sizeof now, &pid, sizeof pid);
    }
    return id;
}

namespace {

// False where it would wait: for who reads a full pipe, or for a terminal that is stopped.
bool write_at_once(int descriptor, std::span<const iovec> parts) noexcept {
    // SIGTTOU would stop a program in the background of a terminal.
    const signal_guard guard({SIGPIPE, SIGXFSZ, SIGTTOU});
    struct stat status {};
    if (fstat(descriptor, &status) != 0) return false;
    const int count = static_cast<int>(parts.size());
    if (S_ISSOCK(status.st_mode)) {
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(parts.data());
        message.msg_iovlen = parts.size();
        return sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
    }
    if (S_ISFIFO(status.st_mode)) {
        if (pwritev2(descriptor, parts.data(), count, -1, RWF_NOWAIT) >= 0) return true;
        if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
    }
    // Not poll(), which refuses where the limit on open files is 0.
    if (descriptor >= FD_SETSIZE) return false;
    fd_set asked;
    FD_ZERO(&asked);
    FD_SET(descriptor, &asked);
    timeval at_once{};
    return select(descriptor + 1, nullptr, &asked, nullptr, &at_once) == 1 &&
           writev(descriptor, parts.data(), count) >= 0;
}

}  // namespace

void warn_once(std::string_view line) noexcept {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    const auto part = [](std::string_view text) { return iovec{const_cast<char*>(text.data()), text.size()}; };
    // One write, and no longer than a pipe takes at once: it cannot be torn by the program's own output.
    constexpr std::string_view before = "libprof: ";
    constexpr std::string_view after = "\n";
    line = line.substr(0, PIPE_BUF - before.size() - after.size());
    const std::array parts = {part(before), part(line), part(after)};
    if (!write_at_once(STDERR_FILENO, parts)) said = false;
}

}  // namespace prof
