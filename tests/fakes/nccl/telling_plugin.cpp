// SPDX-License-Identifier: Apache-2.0
// A user's profiler plugin of NCCL, which writes what it is called with to the file TELLING_PLUGIN_LOG, one line each.
// What it says is to be the same whether or not libprof stands before it. TELLING_PLUGIN_MASK is what it asks for.
//
// Compiled with TELLING_VERSION, the version of its interface.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

namespace {

std::mutex mutex;
std::FILE* log_file() {
    static std::FILE* const file = std::fopen(std::getenv("TELLING_PLUGIN_LOG"), "a");
    return file;
}

std::map<void*, int>& known() {
    static auto* const handles = new std::map<void*, int>;
    return *handles;
}
int next = 0;

template <typename TValue>
TValue at(const void* event, std::size_t offset) {
    TValue out{};
    std::memcpy(&out, static_cast<const char*>(event) + offset, sizeof out);
    return out;
}

int number_of(void* handle) {
    const auto found = known().find(handle);
    return handle == nullptr ? 0 : found == known().end() ? -1 : found->second;
}

int start(void* context, void** handle, void* event) {
    const std::lock_guard lock(mutex);
    const auto kind = TELLING_VERSION == 4 ? at<std::uint8_t>(event, 0) : at<std::uint64_t>(event, 0);
    auto* const made = new char[8];
    known()[made] = ++next;
    *handle = made;
    std::fprintf(log_file(), "start %d kind %d in %d comm %s", next, static_cast<int>(kind),
                 number_of(at<void*>(event, 8)), static_cast<const char*>(context));
    if (kind == 2) {
        std::fprintf(log_file(), " seq %d %s %d %s", at<int>(event, 24), at<const char*>(event, 32), at<int>(event, 56),
                     at<const char*>(event, 88));
        if (TELLING_VERSION > 4) std::fprintf(log_file(), " group %d", number_of(at<void*>(event, 104)));
    }
    if (kind == 512) std::fprintf(log_file(), " %s %d", at<const char*>(event, 24), at<int>(event, 32));
    std::fputs("\n", log_file());
    std::fflush(log_file());
    return 0;
}

int stop(void* handle) {
    const std::lock_guard lock(mutex);
    std::fprintf(log_file(), "stop %d\n", number_of(handle));
    std::fflush(log_file());
    return 0;
}

int state(void*, int, void*) { return 0; }

int finalize(void* context) {
    const std::lock_guard lock(mutex);
    std::fprintf(log_file(), "end %s\n", static_cast<const char*>(context));
    std::fflush(log_file());
    return 0;
}

int begin(void** context, int* mask, std::uint64_t id, const char* name, int ranks, int rank) {
    const std::lock_guard lock(mutex);
    *context = const_cast<char*>(name);
    *mask = std::atoi(std::getenv("TELLING_PLUGIN_MASK"));
    std::fprintf(log_file(), "begin %s %llx %d %d\n", name, static_cast<unsigned long long>(id), ranks, rank);
    std::fflush(log_file());
    return 0;
}

#if TELLING_VERSION <= 4
int init(void** context, int* mask, const char* name, std::uint64_t id, int, int ranks, int rank, void*) {
    return begin(context, mask, id, name, ranks, rank);
}
#else
int init(void** context, std::uint64_t id, int* mask, const char* name, int, int ranks, int rank, void*) {
    return begin(context, mask, id, name, ranks, rank);
}
#endif

struct table {
    const char* name;
    decltype(&init) init_function;
    decltype(&start) start_function;
    decltype(&stop) stop_function;
    decltype(&state) state_function;
    decltype(&finalize) finalize_function;
};

}  // namespace

#define SYMBOL_OF(version) ncclProfiler_v##version
#define SYMBOL(version) SYMBOL_OF(version)
extern "C" {
__attribute__((visibility("default"))) extern const table SYMBOL(TELLING_VERSION);
const table SYMBOL(TELLING_VERSION) = {"telling", init, start, stop, state, finalize};
}
