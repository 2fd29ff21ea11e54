// SPDX-License-Identifier: Apache-2.0
#include "fakes/nccl/fake_nccl.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"

struct fake_nccl_task {
    std::string function;
    const char* word = "";
    std::size_t count = 0;
    const char* type = "";
    int root = 0;
    int mask = 0;
    void* group_handle = nullptr;
    void* api_handle = nullptr;
    void* handle = nullptr;
    bool is_p2p = false;
};

namespace {

using task = fake_nccl_task;

constexpr int is_group = 1, is_coll = 2, is_p2p = 4, is_channel = 64, is_group_api = 256, is_coll_api = 512,
              is_p2p_api = 1024, is_launch = 2048, is_ce = 4096;
constexpr int inner = 8 | 16 | is_channel | 128;

using logger = void (*)(int, unsigned long, const char*, int, const char*, ...);
using start_type = int (*)(void*, void**, void*);
using stop_type = int (*)(void*);
using finalize_type = int (*)(void*);

// A plugin's table: a name and five functions, in every version.
struct table {
    const char* name;
    void* init;
    start_type start;
    stop_type stop;
    void* state;
    finalize_type finalize;
};

struct event {
    alignas(8) std::array<unsigned char, 112> bytes{};
    std::size_t size = 112;

    template <typename TValue>
    event& put(std::size_t offset, TValue value) {
        std::memcpy(bytes.data() + offset, &value, sizeof value);
        return *this;
    }
};

std::mutex plugin_mutex;
void* plugin_library = nullptr;
const table* plugin = nullptr;
int plugin_version = 0;
int communicators = 0;
bool has_failed = false;
int mask = 0;
std::atomic<int> events{0};
std::atomic<bool> tells_elsewhere{false};
std::atomic<bool> coalesces{false};

// Programs may end with communicators: no leak of theirs.
std::set<fake_nccl_comm*>& living() {
    static auto* const all = new std::set<fake_nccl_comm*>;
    return *all;
}

void log_nothing(int, unsigned long, const char*, int, const char*, ...) {}

int newest_version() {
    const char* const set = std::getenv("FAKE_NCCL_VERSION");
    return set == nullptr ? 6 : std::atoi(set);
}

void* open_plugin(const char* name) {
    char shortened[255] = {};
    std::snprintf(shortened, sizeof shortened, "%s", name == nullptr || *name == '\0' ? "libnccl-profiler.so" : name);
    const bool is_static = strncasecmp(shortened, "STATIC_PLUGIN", std::strlen(shortened)) == 0;
    void* library = dlopen(is_static ? nullptr : shortened, RTLD_NOW | RTLD_LOCAL);
    const std::string text = shortened;
    const bool is_file = text.find('/') != std::string::npos || (text.starts_with("lib") && text.ends_with(".so"));
    if (library == nullptr && name != nullptr && *name != '\0' && !is_file) {
        library = dlopen(("libnccl-profiler-" + text + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

void load() {
    const std::lock_guard lock(plugin_mutex);
    ++communicators;
    if (plugin != nullptr || has_failed) return;
    const char* const name = std::getenv("NCCL_PROFILER_PLUGIN");
    has_failed = true;
    if (name != nullptr && strcasecmp(name, "none") == 0) return;
    plugin_library = open_plugin(name);
    if (plugin_library == nullptr) return;
    for (int version = newest_version(); version >= 4 && plugin == nullptr; --version) {
        const std::string symbol = "ncclProfiler_v" + std::to_string(version);
        plugin = static_cast<const table*>(dlsym(plugin_library, symbol.c_str()));
        plugin_version = version;
    }
    has_failed = plugin == nullptr;
}

void unload() {
    const std::lock_guard lock(plugin_mutex);
    if (--communicators > 0 || plugin == nullptr) return;
    dlclose(plugin_library);
    plugin = nullptr;
    plugin_library = nullptr;
    plugin_version = 0;
}

event of_kind(std::uint64_t kind, void* parent, int rank = 0) {
    event out;
    if (plugin_version == 4) {
        out.size = 104;
        out.put(0, static_cast<std::uint8_t>(kind));
        std::memset(out.bytes.data() + 1, 0xEE, 7);  // nobody writes there
    } else {
        out.put(0, kind);
    }
    return out.put(8, parent).put(16, rank);
}

struct thread_state {
    int depth = 0;
    int mask = 0;
    void* group = nullptr;
    void* call = nullptr;
    bool has_group = false;
    bool captures = false;
    std::vector<fake_nccl_comm*> joined;
    std::vector<void*> streams;
};
thread_local thread_state here;

}  // namespace

struct fake_nccl_comm {
    void* context = nullptr;
    int rank = 0;
    std::map<std::string, std::uint64_t> sequence;
    std::vector<fake_nccl_task> tasks;
    std::vector<fake_nccl_task> broadcasts;
    void* stream = nullptr;
};

namespace {

void start(fake_nccl_comm* comm, void** handle, event& what) {
    ++events;
    // A copy of its exact size, so that a sanitizer sees a plugin read beyond it.
    const std::vector<unsigned char> exact(what.bytes.begin(), what.bytes.begin() + static_cast<long>(what.size));
    plugin->start(comm->context, handle, const_cast<unsigned char*>(exact.data()));
}

// Words live as long as the library, as NCCL's do.
const char* word_of(const std::string& text) {
    static std::mutex mutex;
    static auto* const words = new std::map<std::string, std::string>;
    const std::lock_guard lock(mutex);
    return words->try_emplace(text, text).first->second.c_str();
}

void start_group_api(fake_nccl_comm* comm) {
    here.mask = __atomic_load_n(&mask, __ATOMIC_RELAXED);
    if (plugin == nullptr || plugin_version < 5 || here.has_group || (here.mask & ~32) == 0) return;
    event what = of_kind(is_group_api, nullptr);
    what.put(24, here.captures).put(28, here.depth);
    start(comm, &here.group, what);
    here.has_group = true;
}

void tell(fake_nccl_comm* comm, std::vector<task>& tasks, bool persistent) {
    void* group = nullptr;
    int any = 0;
    for (const task& each : tasks) any |= each.mask;
    if (plugin != nullptr && (any & (is_group | is_coll | is_p2p | inner)) != 0) {
        event what = of_kind(is_group, nullptr);
        start(comm, &group, what);
    }
    for (task& each : tasks) {
        if (!each.is_p2p && plugin != nullptr && (each.mask & (is_coll | inner)) != 0) {
            event what = of_kind(is_coll, plugin_version == 4 ? group : each.api_handle, comm->rank);
            // These two are told in bytes.
            const bool is_bytes = each.function == "AllGather" || each.function == "Broadcast";
            what.put(24, comm->sequence[each.function]).put(32, each.word);
            what.put(56, is_bytes ? each.count * 4 : each.count).put(64, each.root);
            what.put(72, is_bytes ? "ncclInt8" : each.type);
            what.put(80, std::uint8_t{24}).put(81, std::uint8_t{16}).put(88, "RING").put(96, "LL128");
            if (plugin_version > 4) what.put(104, group);
            start(comm, &each.handle, what);
        }
        if (!each.is_p2p && !persistent) ++comm->sequence[each.function];
    }
    for (task& each : tasks) {
        if (!each.is_p2p || plugin == nullptr || (each.mask & (is_p2p | inner)) == 0) continue;
        event what = of_kind(is_p2p, plugin_version == 4 ? group : each.api_handle, comm->rank);
        what.put(24, each.word).put(40, each.type).put(48, each.count).put(56, each.root).put(60, std::uint8_t{2});
        if (plugin_version > 4) what.put(64, group);
        start(comm, &each.handle, what);
    }
    if (plugin == nullptr) return;
    for (const task& each : tasks) {
        if (each.handle != nullptr) plugin->stop(each.handle);
    }
    if (group != nullptr) plugin->stop(group);
}

void launch(fake_nccl_comm* comm) {
    for (std::size_t i = 0; i < comm->broadcasts.size(); ++i) {
        fake_cuda_launch("ncclDevKernel_AllGatherV_RING_LL", 5'000, comm->stream);
    }
    comm->broadcasts.clear();
    if (comm->tasks.empty()) return;
    std::vector<task> tasks;
    tasks.swap(comm->tasks);
    void* handle = nullptr;
    const auto asks = std::find_if(tasks.begin(), tasks.end(), [](const task& each) { return each.mask != 0; });
    if (plugin != nullptr && plugin_version > 4 && asks != tasks.end() && (asks->mask & is_launch) != 0) {
        event what = of_kind(is_launch, asks->group_handle);
        what.put(24, comm->stream);
        start(comm, &handle, what);
    }
    const std::string kernel = "ncclDevKernel_" + tasks.front().function;
    fake_cuda_launch(word_of(kernel), 5'000, comm->stream);
    if (handle != nullptr) plugin->stop(handle);
    const bool persistent = here.captures;
    if (tells_elsewhere) {
        std::thread([&] { tell(comm, tasks, persistent); }).join();
    } else {
        tell(comm, tasks, persistent);
    }
}

}  // namespace

fake_nccl_comm* fake_nccl_init(std::uint64_t id, const char* name, int nodes, int ranks, int rank) {
    load();
    auto* const comm = new fake_nccl_comm;
    comm->rank = rank;
    {
        const std::lock_guard lock(plugin_mutex);
        living().insert(comm);
    }
    if (plugin == nullptr) return comm;
    int failed = 0;
    if (plugin_version == 4) {
        using init_type = int (*)(void**, int*, const char*, std::uint64_t, int, int, int, logger);
        failed =
            reinterpret_cast<init_type>(plugin->init)(&comm->context, &mask, name, id, nodes, ranks, rank, log_nothing);
    } else {
        using init_type = int (*)(void**, std::uint64_t, int*, const char*, int, int, int, logger);
        failed =
            reinterpret_cast<init_type>(plugin->init)(&comm->context, id, &mask, name, nodes, ranks, rank, log_nothing);
    }
    if (failed != 0) plugin = nullptr;
    return comm;
}

void fake_nccl_destroy(fake_nccl_comm* comm) {
    if (plugin != nullptr && comm->context != nullptr) plugin->finalize(comm->context);
    unload();
    {
        const std::lock_guard lock(plugin_mutex);
        living().erase(comm);
    }
    delete comm;
}

void fake_nccl_group_start() { ++here.depth; }

void fake_nccl_group_end() {
    if (--here.depth > 0) return;
    for (fake_nccl_comm* const comm : here.joined) launch(comm);
    here.joined.clear();
    if (plugin != nullptr && here.group != nullptr) plugin->stop(here.group);
    here.group = nullptr;
    here.has_group = false;
}

void fake_nccl_call(fake_nccl_comm* comm, const char* function, std::size_t count, const char* type, int root,
                    void* stream) {
    fake_nccl_group_start();
    comm->stream = stream;
    if (std::find(here.joined.begin(), here.joined.end(), comm) == here.joined.end()) here.joined.push_back(comm);
    start_group_api(comm);
    task added{.function = function, .word = word_of(function), .count = count, .type = word_of(type), .root = root};
    added.is_p2p = added.function == "Send" || added.function == "Recv";
    const int wanted = added.is_p2p ? is_p2p_api | is_p2p | inner : is_coll_api | is_coll | inner | is_ce | 3 << 13;
    void* p2p_call = nullptr;
    if (plugin != nullptr && plugin_version > 4 && (here.mask & wanted) != 0) {
        event what = of_kind(added.is_p2p ? is_p2p_api : is_coll_api, here.group);
        what.put(24, added.word).put(32, count).put(40, added.type);
        if (added.is_p2p) {
            what.put(48, stream).put(56, here.captures);
            start(comm, &p2p_call, what);
        } else {
            what.put(48, root).put(56, stream).put(64, here.captures);
            start(comm, &here.call, what);
        }
    }
    added.mask = here.mask;
    added.group_handle = here.group;
    added.api_handle = added.is_p2p ? p2p_call : here.call;
    const bool is_coalesced = coalesces && added.function == "Broadcast";
    (is_coalesced ? comm->broadcasts : comm->tasks).push_back(added);
    // As in NCCL, the handle of a collective stays behind.
    void* const call = added.is_p2p ? p2p_call : here.call;
    if (plugin != nullptr && call != nullptr) plugin->stop(call);
    fake_nccl_group_end();
}

void fake_nccl_capturing(int yes) { here.captures = yes != 0; }

void fake_nccl_copy_call(fake_nccl_comm* comm, const char* function, std::size_t count, const char* type, int copies,
                         void* stream) {
    fake_nccl_group_start();
    start_group_api(comm);
    if (plugin != nullptr && plugin_version > 4 && (here.mask & (is_coll_api | is_coll | is_ce)) != 0) {
        event what = of_kind(is_coll_api, here.group);
        what.put(24, word_of(function)).put(32, count).put(40, word_of(type)).put(48, 0).put(56, stream);
        start(comm, &here.call, what);
        if (here.call != nullptr) plugin->stop(here.call);
    }
    void* handle = nullptr;
    if (plugin != nullptr && plugin_version > 5 && (__atomic_load_n(&mask, __ATOMIC_RELAXED) & is_ce) != 0) {
        event what = of_kind(is_ce, here.call, comm->rank);
        what.put(24, comm->sequence["copies"]).put(32, word_of(function)).put(56, count).put(72, word_of(type));
        start(comm, &handle, what);
    }
    ++comm->sequence["copies"];
    static std::array<char, 4096> from;
    static std::array<char, 4096> to;
    for (int i = 0; i < copies; ++i) {
        (void)cudaMemcpyAsync(to.data(), from.data(), 256, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream));
    }
    if (handle != nullptr) plugin->stop(handle);
    fake_nccl_group_end();
}

void fake_nccl_tell_elsewhere(int yes) { tells_elsewhere = yes != 0; }
void fake_nccl_coalesce_broadcasts(int yes) { coalesces = yes != 0; }
int fake_nccl_plugin_version() { return plugin_version; }
const char* fake_nccl_plugin_name() { return plugin == nullptr ? "" : plugin->name; }
int fake_nccl_mask() { return __atomic_load_n(&mask, __ATOMIC_RELAXED); }
const void* fake_nccl_plugin() { return plugin; }
void* fake_nccl_context(const fake_nccl_comm* comm) { return comm->context; }
int fake_nccl_events() { return events.exchange(0); }
