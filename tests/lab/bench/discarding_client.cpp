// SPDX-License-Identifier: Apache-2.0
// The least that a client of CUPTI can do and still have kernels and copies traced: it hands CUPTI its buffers again
// unread. What it costs a program is the floor of any profiler built on CUPTI's activity records. It may also learn of
// launches in one of several ways, and do nothing with what it learns: what a way costs is then the floor of a profiler
// that uses it. tests/lab/overhead.py and tests/lab/launch_cost measure libprof beside it, in one process.
//
// Loaded at run time. client_start() and client_stop() are called by one thread; only one client may have CUPTI at a
// time. Uses libprof's own table of libcupti's functions and its list of launching calls, so that both enable the same.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "hooks/cupti/cupti_library.hpp"
#include "record/launch_calls.hpp"

namespace prof::bench {
namespace {

constexpr std::size_t buffer_bytes = 1U << 20;

constexpr CUpti_ActivityKind activity_kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
};

cupti_library cupti;
CUpti_SubscriberHandle subscriber = nullptr;
std::string problem;

// Free buffers; 0 is an empty place. One that finds no place is freed, one that is not there is allocated.
std::array<std::atomic<std::uint8_t*>, 64> pool;
std::atomic<std::uint64_t> bytes_discarded{0};

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) noexcept {
    *buffer = nullptr;
    for (auto& place : pool) {
        *buffer = place.exchange(nullptr);
        if (*buffer != nullptr) break;
    }
    if (*buffer == nullptr) *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(4096, buffer_bytes));
    *size = buffer_bytes;
    *max_records = 0;
}

void CUPTIAPI on_buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                  std::size_t valid_bytes) noexcept {
    bytes_discarded += valid_bytes;
    for (auto& place : pool) {
        std::uint8_t* nothing = nullptr;
        if (place.compare_exchange_strong(nothing, buffer)) return;
    }
    std::free(buffer);
}

void CUPTIAPI do_nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) noexcept {}

// How the client learns of launches: a sum of these.
enum way : int {
    runtime_callbacks = 1,
    driver_callbacks = 2,
    runtime_records = 4,  // activity records of the selected calls, instead of callbacks
    driver_records = 8,
    kernels_by_driver = 16,  // no runtime callback at a call that launches a kernel, only the driver's
};
int ways_in_use = 0;

int way_of(api_domain domain, bool records) {
    if (domain == api_domain::runtime) return records ? runtime_records : runtime_callbacks;
    return records ? driver_records : driver_callbacks;
}

void enable_callbacks() {
    for (const launch_call& call : launch_calls) {
        if ((ways_in_use & way_of(call.domain, false)) == 0) continue;
        if ((ways_in_use & kernels_by_driver) != 0 && call.domain == api_domain::runtime &&
            call.kind == launch_kind::kernel)
            continue;
        (void)cupti.enable_callback(1, subscriber, static_cast<CUpti_CallbackDomain>(call.domain), call.cbid);
    }
}

// A call that is selected while its kind is off is not recorded (CUDA 13.0), so all others are excluded instead.
template <typename TFunction>
bool exclude_others(const char* function, api_domain domain, std::uint32_t last) {
    void* library = dlopen(cupti.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    const auto select = reinterpret_cast<TFunction*>(dlsym(library, function));
    for (std::uint32_t cbid = 1; select != nullptr && cbid < last; ++cbid) {
        if (kind_of_call(domain, cbid) == launch_kind::none) (void)select(cbid, 0);
    }
    return select != nullptr;
}

bool start_records() {
    bool good = true;
    if ((ways_in_use & runtime_records) != 0) {
        good = cupti.enable(CUPTI_ACTIVITY_KIND_RUNTIME) == CUPTI_SUCCESS &&
               exclude_others<decltype(cuptiActivityEnableRuntimeApi)>(
                   "cuptiActivityEnableRuntimeApi", api_domain::runtime, CUPTI_RUNTIME_TRACE_CBID_SIZE);
    }
    if ((ways_in_use & driver_records) != 0) {
        good = good && cupti.enable(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS &&
               exclude_others<decltype(cuptiActivityEnableDriverApi)>("cuptiActivityEnableDriverApi",
                                                                      api_domain::driver, CUPTI_DRIVER_TRACE_CBID_SIZE);
    }
    return good;
}

void stop_records() {
    if ((ways_in_use & runtime_records) != 0) (void)cupti.disable(CUPTI_ACTIVITY_KIND_RUNTIME);
    if ((ways_in_use & driver_records) != 0) (void)cupti.disable(CUPTI_ACTIVITY_KIND_DRIVER);
}

bool is_open() {
    const char* chosen = std::getenv("PROF_CUPTI_LIBRARY");
    if (cupti.path.empty()) problem = open_cupti(chosen == nullptr ? "" : chosen, {}, cupti).message();
    return problem.empty();
}

int failed(const char* what, CUptiResult result) {
    problem = std::string{what} + " returned " + std::to_string(result);
    return 1;
}

}  // namespace
}  // namespace prof::bench

using namespace prof;
using namespace prof::bench;

extern "C" {

const char* client_problem() { return problem.c_str(); }
std::uint64_t client_bytes_discarded() { return bytes_discarded; }

// A CUpti_ActivityAttribute of so many bytes, before a start.
int client_set_attribute(int attribute, std::size_t size, std::uint64_t value) {
    if (!is_open()) return 1;
    const CUptiResult result = cupti.set_attribute(static_cast<CUpti_ActivityAttribute>(attribute), &size, &value);
    return result == CUPTI_SUCCESS ? 0 : failed("cuptiActivitySetAttribute", result);
}

int client_start(int ways) {
    if (!is_open()) return 1;
    CUptiResult result = cupti.subscribe(&subscriber, do_nothing, nullptr);
    if (result != CUPTI_SUCCESS) return failed("cuptiSubscribe", result);
    result = cupti.register_callbacks(on_buffer_requested, on_buffer_completed);
    if (result != CUPTI_SUCCESS) return failed("cuptiActivityRegisterCallbacks", result);
    ways_in_use = ways;
    enable_callbacks();
    if (!start_records()) return failed("enabling API records", CUPTI_ERROR_UNKNOWN);
    for (const CUpti_ActivityKind kind : activity_kinds) {
        result = cupti.enable(kind);
        if (result != CUPTI_SUCCESS) return failed("cuptiActivityEnable", result);
    }
    return 0;
}

int client_stop() {
    for (const CUpti_ActivityKind kind : activity_kinds) (void)cupti.disable(kind);
    stop_records();
    (void)cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const CUptiResult result = cupti.finalize();  // the subscription goes with it
    return result == CUPTI_SUCCESS ? 0 : failed("cuptiFinalize", result);
}
}
