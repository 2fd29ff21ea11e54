// SPDX-License-Identifier: Apache-2.0
#include "fakes/gpu/driver.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <bitset>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace fake {
namespace {

std::atomic<pid_t> initialized_by{0};
std::recursive_mutex initializing;  // recursive: the injected library may use the driver
thread_local int device_of_thread = 0;
// The devices whose primary context the thread has made current once.
thread_local std::bitset<max_devices> contexts_of_thread;

void load_injection() {
    const char* path = std::getenv("CUDA_INJECTION64_PATH");
    if (path == nullptr) {
        return;
    }
    void* library = dlopen(path, RTLD_LAZY);
    if (library == nullptr) {
        std::fprintf(stderr, "fake driver: CUDA_INJECTION64_PATH: %s\n", dlerror());
        return;
    }
    using initialize_injection = int (*)();
    const auto initialize = reinterpret_cast<initialize_injection>(dlsym(library, "InitializeInjection"));
    if (initialize != nullptr) {
        initialize();
    }
}

}  // namespace

CUresult ensure_initialized() {
    if (is_forked_child()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (initialized_by == 0) {
        const std::scoped_lock lock{initializing};
        if (initialized_by == 0) {
            initialized_by = getpid();
            load_injection();
        }
    }
    return simulated_gpu::instance().device_count() == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

bool is_forked_child() {
    const pid_t owner = initialized_by;
    return owner != 0 && owner != getpid();
}

int current_device() { return device_of_thread; }

CUresult set_current_device(int device) {
    if (device < 0 || device >= simulated_gpu::instance().device_count()) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    device_of_thread = device;
    adopt_context();
    return CUDA_SUCCESS;
}

CUcontext current_context() {
    contexts_of_thread.set(static_cast<std::size_t>(device_of_thread));
    return simulated_gpu::instance().primary_context(device_of_thread);
}

CUcontext thread_context() {
    return contexts_of_thread.test(static_cast<std::size_t>(device_of_thread))
               ? simulated_gpu::instance().existing_context(device_of_thread)
               : nullptr;
}

void adopt_context() {
    if (simulated_gpu::instance().existing_context(device_of_thread) != nullptr) {
        current_context();
    }
}

CUresult wait_for(std::uint64_t end_ns) {
    if (end_ns == FAKE_GPU_NEVER) {
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
    simulated_gpu& gpu = simulated_gpu::instance();
    gpu.clock.wait_until(end_ns);
    gpu.settle();
    return CUDA_SUCCESS;
}

void reset_driver() {
    initialized_by = 0;
    device_of_thread = 0;
    contexts_of_thread.reset();
}

}  // namespace fake
