// SPDX-License-Identifier: Apache-2.0
#include "hooks/nccl/chained_plugin.hpp"

#include <dlfcn.h>
#include <strings.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "hooks/nccl/own_handles.hpp"

namespace prof::nccl {
namespace {

constexpr std::uint32_t inner_kinds = proxy_op | proxy_step | kernel_channel | net_plugin;
constexpr std::uint32_t copy_kinds = copy_collective | copy_sync | copy_batch;

// The kinds that make NCCL send events of `kind`.
constexpr std::uint32_t askers_of(std::uint32_t kind) noexcept {
    switch (kind) {
        case group:
            return group | collective | p2p | inner_kinds;
        case collective:
            return collective | inner_kinds;
        case p2p:
            return p2p | inner_kinds;
        case group_api:
            return group_api | p2p_api | collective_api | kernel_launch | group | collective | p2p | inner_kinds |
                   copy_kinds;
        case collective_api:
            return collective_api | collective | inner_kinds | copy_kinds;
        case p2p_api:
            return p2p_api | p2p | inner_kinds;
        case copy_collective:
            return copy_kinds;
        default:
            return kind;
    }
}

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return text;
}

// The variable's value in a file of NCCL's; "" if it is not there.
std::string value_in_file(const std::string& path) {
    std::string found;
    std::FILE* const file = std::fopen(path.c_str(), "re");
    if (file == nullptr) return found;
    std::array<char, 1024> line{};
    while (found.empty() && std::fgets(line.data(), line.size(), file) != nullptr) {
        const std::string_view text = trimmed(line.data());
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos || trimmed(text.substr(0, equals)) != plugin_variable) continue;
        found = trimmed(text.substr(equals + 1));
    }
    std::fclose(file);
    return found;
}

std::string value_in_files() {
    std::string found;
    if (const char* const own = std::getenv("NCCL_CONF_FILE"); own != nullptr && *own != '\0') {
        found = value_in_file(own);
    } else if (const char* const home = std::getenv("HOME"); home != nullptr) {
        found = value_in_file(std::string(home) + "/.nccl.conf");
    }
    return found.empty() ? value_in_file("/etc/nccl.conf") : found;
}

void* open_library(const std::string& name) {
    // NCCL takes any beginning of this word for it.
    const bool is_program = !name.empty() && strncasecmp(name.c_str(), "STATIC_PLUGIN", name.size()) == 0;
    return dlopen(is_program ? nullptr : name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* find_library(const std::string& name) {
    if (name.empty()) return open_library("libnccl-profiler.so");
    if (void* const library = open_library(name); library != nullptr) return library;
    const std::string_view text = name;
    const bool is_file = text.find('/') != std::string_view::npos || (text.starts_with("lib") && text.ends_with(".so"));
    return is_file ? nullptr : open_library("libnccl-profiler-" + name + ".so");
}

void* network_plugin() {
    const char* const set = std::getenv("NCCL_NET_PLUGIN");
    const std::string name = set == nullptr || *set == '\0' ? "libnccl-net.so" : set;
    void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library != nullptr || set == nullptr) return library;
    return dlopen(("libnccl-net-" + name + ".so").c_str(), RTLD_NOW | RTLD_NOLOAD);
}

// NCCL knows no interface after `newest`.
void take_interface(chained_plugin& out, void* library, int newest) {
    const auto find = [&](const char* symbol) -> const void* {
        const void* const found = dlsym(library, symbol);
        // Every version begins with the name. libprof does not call itself, nor another copy of it.
        const char* const name = found == nullptr ? nullptr : static_cast<const profiler_v4*>(found)->name;
        return name != nullptr && std::strcmp(name, own_name) == 0 ? nullptr : found;
    };
    if (const void* const v6 = newest < 6 ? nullptr : find("ncclProfiler_v6"); v6 != nullptr) {
        out.version = 6;
        out.later = static_cast<const profiler_v6*>(v6);
    } else if (const void* const v5 = newest < 5 ? nullptr : find("ncclProfiler_v5"); v5 != nullptr) {
        out.version = 5;
        out.later = static_cast<const profiler_v5*>(v5);
    } else if (const void* const v4 = find("ncclProfiler_v4"); v4 != nullptr) {
        out.version = 4;
        out.v4 = static_cast<const profiler_v4*>(v4);
    } else {
        for (const char* const old : {"ncclProfiler_v3", "ncclProfiler_v2", "ncclProfiler_v1"}) {
            if (find(old) != nullptr) out.problem = "it has no interface later than version 3";
        }
    }
    if (out.version != 0) out.name = out.later != nullptr ? out.later->name : out.v4->name;
    if (out.name == nullptr) out.name = "";
}

chained_plugin load(int newest) {
    chained_plugin out;
    const char* const replaced = std::getenv(replaced_variable);
    std::string name = replaced != nullptr ? replaced : "";
    if (name.empty()) name = value_in_files();
    if (strcasecmp(name.c_str(), "none") == 0) {
        out.is_refused = true;
        return out;
    }
    void* const library = find_library(name);
    if (library != nullptr) {
        take_interface(out, library, newest);
    } else if (void* const network = network_plugin(); network != nullptr) {
        take_interface(out, network, newest);
    } else if (!name.empty()) {
        out.problem = "NCCL would not find it";
    }
    return out;
}

}  // namespace

const chained_plugin& the_chained_plugin(int newest) noexcept {
    static const chained_plugin* const plugin = [newest]() noexcept {
        auto* const made = new (std::nothrow) chained_plugin;
        try {
            if (made != nullptr) *made = load(newest);
        } catch (...) {
            // No memory: the plugin is not called.
        }
        static const chained_plugin none;
        return made != nullptr ? made : &none;
    }();
    return *plugin;
}

bool chained_plugin::gets(std::uint32_t wanted, std::uint32_t kind) const noexcept {
    if (version == 0 || (wanted & askers_of(kind)) == 0) return false;
    if (version == 4) return kind < group_api;
    return version == 6 || kind < copy_collective;
}

nccl_result chained_plugin::init(void** context, std::uint64_t id, int* mask, const char* communicator, int nodes,
                                 int ranks, int rank, log_function log) const noexcept {
    if (later != nullptr) return later->init(context, id, mask, communicator, nodes, ranks, rank, log);
    return v4->init(context, mask, communicator, id, nodes, ranks, rank, log);
}

// In version 4 the parent of an operation is its group, later the call.
nccl_result chained_plugin::start(void* context, void** handle, const event_descriptor& event, std::uint32_t kind,
                                  int came_by) const noexcept {
    event_descriptor theirs{};
    std::memcpy(&theirs, &event, came_by == 4 ? descriptor_bytes_v4 : sizeof theirs);
    theirs.type = kind;
    if (v4 == nullptr) {
        if (is_own_handle(theirs.parent)) theirs.parent = nullptr;
        if (kind == collective && is_own_handle(theirs.collective.group)) theirs.collective.group = nullptr;
        if (kind == p2p && is_own_handle(theirs.p2p.group)) theirs.p2p.group = nullptr;
        return later->start_event(context, handle, &theirs);
    }
    if (kind == collective && came_by != 4) theirs.parent = theirs.collective.group;
    if (kind == p2p && came_by != 4) theirs.parent = theirs.p2p.group;
    if (is_own_handle(theirs.parent)) theirs.parent = nullptr;
    return v4->start_event(context, handle, &theirs);
}

nccl_result chained_plugin::stop(void* handle) const noexcept {
    if (version == 0) return success;
    return later != nullptr ? later->stop_event(handle) : v4->stop_event(handle);
}

nccl_result chained_plugin::record_state(void* handle, int state, state_arguments* arguments) const noexcept {
    if (version == 0) return success;
    return later != nullptr ? later->record_state(handle, state, arguments)
                            : v4->record_state(handle, state, arguments);
}

nccl_result chained_plugin::finalize(void* context) const noexcept {
    if (version == 0) return success;
    return later != nullptr ? later->finalize(context) : v4->finalize(context);
}

}  // namespace prof::nccl
