// SPDX-License-Identifier: Apache-2.0
#include "hooks/cupti/cupti_library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/own_descriptor.hpp"
#include "hooks/loaded_symbol.hpp"

#define PROF_TEXT_OF(x) #x
#define PROF_NAME_OF(function) PROF_TEXT_OF(function)  // macros of cuda.h add versions: cuCtxPushCurrent_v2

namespace prof {
namespace {

// Looks a function up by name in a library that dlopen opened. Returns false if the library has none.
template <typename TFunction>
bool find(void* library, const char* name, TFunction& out) noexcept {
    out = reinterpret_cast<TFunction>(dlsym(library, name));
    return out != nullptr;
}

// CUPTI 12.0 reports 18, as 11.8 did.
constexpr std::uint32_t oldest_version = 18;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Paths of all loaded objects whose file name begins with `stem`.
std::vector<std::string> loaded_objects(std::string_view stem) {
    struct search {
        std::string_view stem;
        std::vector<std::string> found;
    } state{stem, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& s = *static_cast<search*>(data);
            const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
            if (path.substr(path.rfind('/') + 1).substr(0, s.stem.size()) == s.stem) s.found.emplace_back(path);
            return 0;
        },
        &state);
    return state.found;
}

std::vector<std::string> usual_places(const std::vector<std::string>& toolkits) {
    std::vector<std::string> places;
    // The folder of the CUDA runtime that the process uses: a toolkit's, or that of NVIDIA's wheels (…/nvidia/cu13/lib,
    // or for CUDA 12 …/nvidia/cuda_runtime/lib beside …/nvidia/cuda_cupti/lib).
    for (const char* stem : {"libcudart.so", "libcublas.so", "libnvrtc.so"}) {
        for (const std::string& object : loaded_objects(stem)) {
            const std::string folder = folder_of(object);
            for (const char* file : {"/libcupti.so.13", "/libcupti.so.12"}) {
                places.push_back(folder + file);
                places.push_back(folder + "/../../cuda_cupti/lib" + file);
                places.push_back(folder + "/../extras/CUPTI/lib64" + file);
            }
        }
    }
    places.insert(places.end(), {"libcupti.so.13", "libcupti.so.12"});
    for (const std::string& toolkit : toolkits) {
        for (const char* folder : {"/extras/CUPTI/lib64", "/lib64"})
            places.push_back(toolkit + folder + "/libcupti.so");
    }
    for (const char* folder : {"/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64", "/usr/local/cuda/lib"}) {
        places.push_back(std::string{folder} + "/libcupti.so");
    }
    return places;
}

template <typename TPart>
bool read_at(int file, off_t offset, TPart* parts, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(TPart);
    return pread(file, parts, bytes, offset) == static_cast<ssize_t>(bytes);
}

// Whether the executable has the section in which nvcc puts the kernels that the runtime registers.
bool has_kernels_of_nvcc(const char* path) {
    constexpr std::size_t longest_texts = 1U << 16;
    own_descriptor file;
    file.take(::open(path, O_RDONLY | O_CLOEXEC));
    ElfW(Ehdr) head{};
    if (file.get() < 0 || !read_at(file.get(), 0, &head, 1) || head.e_shentsize != sizeof(ElfW(Shdr))) return false;
    std::vector<ElfW(Shdr)> sections(head.e_shnum);
    if (head.e_shstrndx >= sections.size()) return false;
    if (!read_at(file.get(), static_cast<off_t>(head.e_shoff), sections.data(), sections.size())) return false;
    const ElfW(Shdr)& names = sections[head.e_shstrndx];
    if (names.sh_size > longest_texts) return false;
    std::string texts(names.sh_size, 0);
    if (!read_at(file.get(), static_cast<off_t>(names.sh_offset), texts.data(), texts.size())) return false;
    const std::string_view wanted = ".nvFatBinSegment";
    return std::any_of(sections.begin(), sections.end(), [&](const ElfW(Shdr) & section) {
        return section.sh_name < texts.size() && texts.c_str() + section.sh_name == wanted;
    });
}

std::string found_cuda_runtime() {
    if (const std::vector<std::string> shared = loaded_objects("libcudart.so"); !shared.empty()) return shared.front();
    const bool is_visible = dlsym(RTLD_DEFAULT, "cudaLaunchKernel") != nullptr;
    return is_visible || has_kernels_of_nvcc("/proc/self/exe") ? "program" : "none";
}

// Fills `out` from the loaded library. Returns "" or one line that names the problem.
outcome take(void* handle, const std::string& name, cupti_library& out, const std::function<bool()>& may_call) {
    if (may_call && !may_call()) return outcome::failed("the process ends");
    Dl_info info{};
    decltype(&cuptiGetVersion) version = nullptr;
    if (!find(handle, "cuptiGetVersion", version)) {
        return outcome::failed(name + " is no libcupti (it has no cuptiGetVersion)");
    }
    out.path = dladdr(reinterpret_cast<void*>(version), &info) != 0 ? info.dli_fname : name;
    const bool complete =
        find(handle, "cuptiSubscribe", out.subscribe) && find(handle, "cuptiUnsubscribe", out.unsubscribe) &&
        find(handle, "cuptiEnableCallback", out.enable_callback) &&
        find(handle, "cuptiActivityRegisterCallbacks", out.register_callbacks) &&
        find(handle, "cuptiActivityEnable", out.enable) && find(handle, "cuptiActivityDisable", out.disable) &&
        find(handle, "cuptiActivityFlushAll", out.flush_all) &&
        find(handle, "cuptiActivityGetNextRecord", out.next_record) &&
        find(handle, "cuptiActivityGetNumDroppedRecords", out.dropped_records) &&
        find(handle, "cuptiActivitySetAttribute", out.set_attribute) &&
        find(handle, "cuptiGetTimestamp", out.timestamp) && find(handle, "cuptiGetResultString", out.result_string) &&
        find(handle, "cuptiGetStreamIdEx", out.stream_id) && find(handle, "cuptiGetContextId", out.context_id) &&
        find(handle, "cuptiGetDeviceId", out.device_id) && find(handle, "cuptiGetGraphNodeId", out.graph_node_id) &&
        find(handle, "cuptiFinalize", out.finalize);
    (void)find(handle, "cuptiActivityEnableAndDump", out.enable_and_dump);
    (void)find(handle, "cuptiGetGraphId", out.graph_id);
    (void)find(handle, "cuptiGetGraphExecId", out.graph_exec_id);
    if (!complete) return outcome::failed(out.path + " lacks functions that CUPTI has since 12.0");
    const CUptiResult result = version(&out.version);
    if (result != CUPTI_SUCCESS) {
        return outcome::failed(out.path + ": cuptiGetVersion gives error " + std::to_string(result));
    }
    if (out.version < oldest_version) {
        return outcome::failed(out.path + " is CUPTI API version " + std::to_string(out.version) +
                               "; 12.0 or later is needed");
    }
    out.cuda_runtime = found_cuda_runtime();
    return {};
}

}  // namespace

outcome open_cupti(const std::string& chosen, const std::vector<std::string>& toolkits, cupti_library& out,
                   const std::function<bool()>& may_call) {
    if (!chosen.empty()) {
        void* handle = dlopen(chosen.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            return outcome::failed("PROF_CUPTI_LIBRARY cannot be loaded: " + std::string{dlerror()});
        }
        return take(handle, chosen, out, may_call);
    }
    // Without a driver cuptiGetVersion crashes in some versions of libcupti (13.2), so it is not called then.
    if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == nullptr && dlopen("libcuda.so.1", RTLD_NOW) == nullptr) {
        return outcome::failed("no NVIDIA driver (libcuda.so.1)");
    }
    for (const std::string& object : loaded_objects("libcupti.so")) {
        if (void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_NOLOAD)) return take(handle, object, out, may_call);
    }
    for (const std::string& place : usual_places(toolkits)) {
        if (void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return take(handle, place, out, may_call);
    }
    return outcome::failed("libcupti.so was found nowhere; PROF_CUPTI_LIBRARY can name it");
}

// A program may be linked to a driver of another name, as the tests are.
driver_functions find_driver_functions() noexcept {
    driver_functions f;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == nullptr) driver = RTLD_DEFAULT;
    (void)find(driver, PROF_NAME_OF(cuStreamGetCtx), f.stream_context);
    f.complete = find(driver, PROF_NAME_OF(cuDeviceGetCount), f.device_count) &&
                 find(driver, PROF_NAME_OF(cuDeviceGet), f.device) &&
                 find(driver, PROF_NAME_OF(cuDevicePrimaryCtxGetState), f.primary_state) &&
                 find(driver, PROF_NAME_OF(cuDevicePrimaryCtxRetain), f.primary_retain) &&
                 find(driver, PROF_NAME_OF(cuDevicePrimaryCtxRelease), f.primary_release) &&
                 find(driver, PROF_NAME_OF(cuCtxPushCurrent), f.push) &&
                 find(driver, PROF_NAME_OF(cuCtxPopCurrent), f.pop) &&
                 find(driver, PROF_NAME_OF(cuCtxGetCurrent), f.current) &&
                 find(driver, PROF_NAME_OF(cuCtxSynchronize), f.synchronize) &&
                 find(driver, PROF_NAME_OF(cuThreadExchangeStreamCaptureMode), f.exchange_mode);
    return f;
}

bool cuda_is_initialised() noexcept {
    using device_count = int (*)(int*);
    static std::atomic<device_count> known{nullptr};
    device_count count = known.load();
    if (count == nullptr) {
        count = reinterpret_cast<device_count>(loaded_symbol("libcuda.so.1", "cuDeviceGetCount"));
        if (count == nullptr) return false;
        known.store(count);
    }
    int devices = 0;
    return count(&devices) == 0;  // 3 (NOT_INITIALIZED) before cuInit
}

}  // namespace prof
