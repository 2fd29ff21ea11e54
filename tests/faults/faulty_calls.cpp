// SPDX-License-Identifier: Apache-2.0
#include "faults/faulty_calls.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace prof::test {
namespace {

struct text_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
};
// Those of libprof.so. Published by `is_ready`.
text_range libprof_text;
std::vector<fault> faults;
fault_report* report = nullptr;
pid_t program = 0;  // else it is a child of its
std::string output_directory;
std::string rings_directory;
std::atomic<bool> is_ready{false};
std::atomic<long long> clock_jump{0};
std::atomic<int> forks_wanted{0};
std::atomic<int> forks_done{0};
// What a fault does is met by no fault.
__thread bool is_inside __attribute__((tls_model("initial-exec"))) = false;

int find_libprof(dl_phdr_info* info, std::size_t, void*) {
    const char* const name = std::strrchr(info->dlpi_name, '/');
    if (name == nullptr || std::strncmp(name, "/libprof.so", std::strlen("/libprof.so")) != 0) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        libprof_text = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
    }
    return 1;
}

__attribute__((constructor)) void get_ready() {
    const char* const list = std::getenv("FAULTS");
    const char* const report_path = std::getenv("FAULTS_REPORT");
    if (list == nullptr || report_path == nullptr) return;
    const auto parsed = faults_of(list);
    if (!parsed || parsed->size() > fault_report::most_faults) {
        std::fprintf(stderr, "faults that make no sense: %s\n", list);
        _exit(99);
    }
    faults = *parsed;
    const int file = open(report_path, O_RDWR | O_CLOEXEC);
    void* const at = mmap(nullptr, sizeof(fault_report), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) return;
    report = static_cast<fault_report*>(at);
    program = getpid();
    const char* const output = std::getenv("PROF_OUTPUT_DIR");
    const char* const rings = std::getenv("PROF_RINGS");
    output_directory = output == nullptr ? "" : output;
    rings_directory = rings == nullptr ? "" : rings;
    dl_iterate_phdr(find_libprof, nullptr);
    if (libprof_text.end != 0) is_ready.store(true);
}

bool is_from_libprof(const void* from) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    return is_ready.load() && !is_inside && address >= libprof_text.begin && address < libprof_text.end;
}

void sleep_ms(std::int64_t ms) noexcept {
    const timespec length{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000 * 1'000'000)};
    nanosleep(&length, nullptr);
}

bool is_thread(std::string_view beginning) noexcept {
    char name[16] = {};
    prctl(PR_GET_NAME, name);
    return std::string_view(name).starts_with(beginning);
}

// To this thread if it takes it, else to the first.
void send_signal() noexcept {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    const bool here = sigismember(&blocked, SIGUSR1) == 0;
    syscall(SYS_tgkill, getpid(), here ? syscall(SYS_gettid) : getpid(), SIGUSR1);
}

// Comes back when the program has forked, or does not get to it.
void let_fork() noexcept {
    const int mine = ++forks_wanted;
    for (int i = 0; i < 200 && forks_done.load() < mine; ++i) sleep_ms(1);
}

void set_limit(int what, std::int64_t value) noexcept {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(what), &limit);
    limit.rlim_cur = static_cast<rlim_t>(value);
    setrlimit(static_cast<__rlimit_resource>(what), &limit);
}

void remove_files(const std::string& directory, const char* ending) {
    DIR* const open_directory = opendir(directory.c_str());
    if (open_directory == nullptr) return;
    while (const dirent* const entry = readdir(open_directory)) {
        const std::string_view name = entry->d_name;
        if (name.ends_with(ending)) (void)unlink((directory + "/" + entry->d_name).c_str());
    }
    closedir(open_directory);
}

void fill(const std::string& directory) {
    const int file = open((directory + "/filler").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    struct statvfs room {};
    for (off_t at = 0; file >= 0 && statvfs(directory.c_str(), &room) == 0 && room.f_bavail != 0;) {
        const off_t bytes = static_cast<off_t>(room.f_bavail * room.f_frsize);
        if (posix_fallocate(file, at, bytes) != 0) break;
        at += bytes;
    }
    close(file);
}

void apply(const fault& what, verdict& out) {
    switch (what.effect) {
        case fault_effect::fail:
            out.error = static_cast<int>(what.argument);
            break;
        case fault_effect::cut_short:
            out.per_cent = static_cast<int>(what.argument);
            break;
        case fault_effect::delay:
            sleep_ms(what.argument);
            break;
        case fault_effect::block:
            while (is_thread("prof-")) pause();
            break;
        case fault_effect::kill:
            out.per_cent = static_cast<int>(what.argument);
            out.dies = true;
            break;
        case fault_effect::signal:
            send_signal();
            break;
        case fault_effect::fork:
            let_fork();
            break;
        case fault_effect::clock:
            clock_jump += what.argument;
            break;
        case fault_effect::limit_files:
            set_limit(RLIMIT_NOFILE, what.argument);
            break;
        case fault_effect::limit_size:
            set_limit(RLIMIT_FSIZE, what.argument);
            break;
        case fault_effect::remove_output:
            remove_files(output_directory, "");
            rmdir(output_directory.c_str());
            break;
        case fault_effect::remove_rings:
            remove_files(rings_directory, ".rings");
            break;
        case fault_effect::fill_rings:
            fill(rings_directory);
            break;
        case fault_effect::count:
            break;
    }
}

// The list is read only, and so may be walked in a signal's handler.
void meet_as(faulty_call call, bool may_block, verdict& out) {
    const std::uint32_t number = ++report->calls[static_cast<std::size_t>(call)];
    for (std::size_t i = 0; i < faults.size(); ++i) {
        const fault& each = faults[i];
        if (each.call != call || number < each.first || number - each.first >= each.times) continue;
        if (each.effect == fault_effect::block && !may_block) continue;
        const bool is_of_child = each.effect == fault_effect::kill && getpid() != program;
        ++(is_of_child ? report->children_killed : report->met[i]);
        apply(each, out);
    }
}

}  // namespace

verdict meet(faulty_call call, const void* from, bool may_block) noexcept {
    verdict out;
    if (!is_from_libprof(from)) return out;
    const int error_number = errno;
    is_inside = true;
    meet_as(call, may_block, out);
    if (call != faulty_call::clock_gettime && call != faulty_call::malloc) meet_as(faulty_call::any, may_block, out);
    is_inside = false;
    errno = error_number;
    return out;
}

long long clock_jump_s(const void* from) noexcept { return is_from_libprof(from) ? clock_jump.load() : 0; }

void die() noexcept {
    for (;;) (void)::kill(getpid(), SIGKILL);
}

}  // namespace prof::test

extern "C" {

// For the program: whether it is to fork now, and that it has.
__attribute__((visibility("default"))) int faults_want_fork() {
    return prof::test::forks_wanted.load() != prof::test::forks_done.load() ? 1 : 0;
}
__attribute__((visibility("default"))) void faults_have_forked() { ++prof::test::forks_done; }

}  // extern "C"
