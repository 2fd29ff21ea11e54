// SPDX-License-Identifier: Apache-2.0
// Shared objects that come and go, one scene a run, for plugins_test.cpp. What a scene prints and its status are to be
// the same with libprof in it and without.
//
//   plugins_victim SCENE
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "fakes/cuda/fake_cuda.h"
#include "fakes/gpu/objects.hpp"
#include "hooks/module_image.hpp"
#include "session/scenes.hpp"

namespace {

using prof::test::expect;

void wait_for_gpu() { expect(cudaDeviceSynchronize() == cudaSuccess, "the GPU ends its work"); }

void train(int steps) {
    for (int i = 0; i < steps; ++i) {
        PROF_RANGE("step");
        expect(fake_cuda_launch("step_k", 2'000, nullptr) == 0, "a launch");
    }
    wait_for_gpu();
}

std::string from_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

// Loads a plugin, has it work, and lets it go: then it is no longer there.
void use_plugin(const std::string& path) {
    void* const plugin = dlopen(path.c_str(), RTLD_NOW);
    expect(plugin != nullptr, "the plugin is loaded");
    const auto work = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_work"));
    expect(work != nullptr && work() == 0, "the plugin works");
    expect(dlclose(plugin) == 0, "the plugin is closed");
    expect(dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr, "the plugin is gone");
}

// The kernels' records are read when the plugins are gone.
void plugins() {
    for (int i = 0; i < 10; ++i) {
        use_plugin(from_environment("PLUGIN_A"));
        use_plugin(from_environment("PLUGIN_B"));
    }
    wait_for_gpu();
}

// Copies of a plugin, each with an NVTX of its own to start: their first ranges are made at once, each on a thread.
void first_ranges_at_once() {
    constexpr int count = 16;
    std::barrier together(count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        const std::string copy = std::filesystem::absolute("plugin." + std::to_string(i));
        std::filesystem::copy_file(from_environment("PLUGIN_A"), copy);
        void* const plugin = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
        expect(plugin != nullptr, "the plugin is loaded");
        const auto work = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_work"));
        threads.emplace_back([work, &together] {
            together.arrive_and_wait();
            expect(work() == 0, "the plugin works");
            // The thread sanitizer takes a library that is loaded where an ended thread's storage was for that storage.
            together.arrive_and_wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
    wait_for_gpu();
}

// The driver puts the symbol of a module's kernel where that of one unloaded was. The stand-in for it has one module,
// so the kernel is renamed where its name stands.
void symbols_at_one_place() {
    wait_for_gpu();  // from here on launches are recorded
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    expect(cuModuleLoadData(&module, "") == CUDA_SUCCESS, "a module");
    expect(cuModuleGetFunction(&kernel, module, "kernel_of_the_first") == CUDA_SUCCESS, "a kernel");
    for (const char* name : {"kernel_of_the_first", "kernel_of_the_other"}) {
        std::strcpy(kernel->name.data(), name);
        for (int i = 0; i < 3; ++i) {
            const CUresult launched = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
            expect(launched == CUDA_SUCCESS, "a launch");
        }
        wait_for_gpu();
        expect(cuModuleUnload(module) == CUDA_SUCCESS, "no module");
    }
}

void kernels_that_launch() {
    wait_for_gpu();
    CUmodule module = nullptr;
    expect(cuModuleLoadData(&module, prof::test::module_with(prof::test::symbols_with_launches).data()) == CUDA_SUCCESS,
           "a module");
}

// Names that stand at one address one after the other. Where the longest has been there is less room for the others:
// they end with their page.
void names_at_one_place() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const place = mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(place != MAP_FAILED, "a place");
    constexpr std::size_t room = 10;
    char* const text = static_cast<char*>(place) + page - room;
    const auto push = [&](const std::string& name, std::size_t pages) {
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        expect(mmap(place, pages * page, PROT_READ | PROT_WRITE, flags, -1, 0) == place, "pages");
        std::memset(text, 'x', room);
        std::strcpy(text, name.c_str());
        for (int i = 0; i < 2; ++i) {
            const prof::scoped_range range(text);
        }
        expect(mprotect(place, 2 * page, PROT_NONE) == 0, "the pages are gone");
    };
    push(std::string(100, 'x'), 2);
    for (const char* name : {"xxxxxxxxx", "long name", "long nama", "long", "longer", "l", "long name", ""}) {
        push(name, 1);
    }
}

void* open_libprof() {
    const std::string path = from_environment("DLOPENED");
    if (path.empty()) return nullptr;
    void* const library = dlopen(path.c_str(), RTLD_NOW);
    expect(library != nullptr, "libprof is loaded");
    return library;
}

void close_libprof(void* library) {
    if (library != nullptr) expect(dlclose(library) == 0, "libprof is closed");
}

void range_of_a_site() { PROF_RANGE("a site from before"); }

// NVTX has looked for a tool, and found none, when libprof comes.
void ranges_before_libprof() {
    nvtxRangePushA("before");
    nvtxRangePop();
    range_of_a_site();
    nvtxRangePushA("open when it comes");
    void* const library = open_libprof();
    if (library != nullptr) {
        const auto start = reinterpret_cast<decltype(&prof_start)>(dlsym(library, "prof_start"));
        expect(start != nullptr && start(nullptr) == PROF_OK, "a recording");
    }
    nvtxRangePop();
    nvtxRangePushA("after");
    expect(fake_cuda_launch("kernel_after", 2'000, nullptr) == 0, "a launch");
    nvtxRangePop();
    range_of_a_site();
    {
        PROF_RANGE("a new site");
        const prof::scoped_range range("a text");
    }
    wait_for_gpu();
}

// It is started, and closed while it records.
void closes_libprof() {
    void* const library = open_libprof();
    if (library != nullptr) {
        const auto start = reinterpret_cast<decltype(&prof_start)>(dlsym(library, "prof_start"));
        expect(start != nullptr && start(nullptr) == PROF_OK, "a recording");
    }
    train(2);
    close_libprof(library);
    train(3);
}

// It is closed before the first range, and was asked to record.
void closes_libprof_unused() {
    void* const library = open_libprof();
    if (library != nullptr) {
        const auto ask = reinterpret_cast<decltype(&prof_autostart)>(dlsym(library, "prof_autostart"));
        expect(ask != nullptr && ask() == PROF_OK, "a recording that begins by itself");
    }
    close_libprof(library);
    train(5);
}

// What brought libprof is closed.
void plugin_with_libprof() {
    use_plugin(from_environment("PLUGIN_A"));
    train(5);
}

}  // namespace

int main(int, char** argv) {
    return prof::test::play(argv[1], {
                                         {"plugins", plugins},
                                         {"first_ranges_at_once", first_ranges_at_once},
                                         {"kernels_that_launch", kernels_that_launch},
                                         {"symbols_at_one_place", symbols_at_one_place},
                                         {"names_at_one_place", names_at_one_place},
                                         {"ranges_before_libprof", ranges_before_libprof},
                                         {"closes_libprof", closes_libprof},
                                         {"closes_libprof_unused", closes_libprof_unused},
                                         {"plugin_with_libprof", plugin_with_libprof},
                                     });
}
