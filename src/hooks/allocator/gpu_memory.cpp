// SPDX-License-Identifier: Apache-2.0
#include "hooks/allocator/gpu_memory.hpp"

#include <cuda.h>
#include <unistd.h>

#include <atomic>

#include "hooks/loaded_symbol.hpp"

namespace prof {
namespace {

struct driver_memory {
    decltype(&cuMemGetInfo) info = nullptr;
    decltype(&cuCtxGetDevice) device = nullptr;
    decltype(&cuThreadExchangeStreamCaptureMode) exchange_mode = nullptr;
    pid_t process = 0;  // a forked child must not call the driver
};
// Written once, before `is_found` is set.
constinit driver_memory driver{};
constinit std::atomic<bool> is_found{false};

template <typename TFunction>
void find(TFunction& out, const char* name) noexcept {
    out = reinterpret_cast<TFunction>(first_loaded_symbol(name));
}

}  // namespace

#define PROF_TEXT_OF(name) #name
#define PROF_NAME_OF(name) PROF_TEXT_OF(name)  // cuMemGetInfo is a macro, for cuMemGetInfo_v2

void find_gpu_memory() noexcept {
    if (is_found.load(std::memory_order_relaxed)) return;
    find(driver.info, PROF_NAME_OF(cuMemGetInfo));
    find(driver.device, "cuCtxGetDevice");
    find(driver.exchange_mode, "cuThreadExchangeStreamCaptureMode");
    driver.process = getpid();
    const bool is_whole = driver.info != nullptr && driver.device != nullptr && driver.exchange_mode != nullptr;
    if (is_whole) is_found.store(true, std::memory_order_release);
}

bool read_gpu_memory(gpu_memory& out) noexcept {
    if (!is_found.load(std::memory_order_acquire) || getpid() != driver.process) return false;
    // Relaxed mode: no call ends a graph capture of this thread's.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (driver.exchange_mode(&mode) != CUDA_SUCCESS) return false;
    CUdevice device = 0;
    std::size_t free = 0;
    std::size_t total = 0;
    const bool is_known = driver.device(&device) == CUDA_SUCCESS && driver.info(&free, &total) == CUDA_SUCCESS;
    (void)driver.exchange_mode(&mode);
    if (!is_known || free > total) return false;
    out = {.device = static_cast<std::uint32_t>(device), .used = total - free, .total = total};
    return true;
}

}  // namespace prof
