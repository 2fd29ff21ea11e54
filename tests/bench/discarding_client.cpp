// The least that a client of CUPTI can do and still have kernels and copies traced: it hands CUPTI its buffers again
// unread, and with callbacks on it is called at each launch and does nothing. What it costs a program is the floor of
// any profiler built on CUPTI's activity records; tests/gpu/overhead.py measures libprof beside it, in one process.
//
// Loaded by ctypes. client_start() and client_stop() are called by one thread; only one client may have CUPTI at a
// time. Uses libprof's own table of libcupti's functions and its list of launching calls, so that both enable the same.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "hooks/cupti/launch_calls.hpp"
#include "hooks/cupti/library.hpp"

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

int client_start(int with_callbacks) {
    const char* chosen = std::getenv("PROF_CUPTI_LIBRARY");
    if (cupti.path.empty()) problem = open_cupti(chosen == nullptr ? "" : chosen, cupti);
    if (!problem.empty()) return 1;
    CUptiResult result = cupti.subscribe(&subscriber, do_nothing, nullptr);
    if (result != CUPTI_SUCCESS) return failed("cuptiSubscribe", result);
    result = cupti.register_callbacks(on_buffer_requested, on_buffer_completed);
    if (result != CUPTI_SUCCESS) return failed("cuptiActivityRegisterCallbacks", result);
    if (with_callbacks != 0) {
        for (const launch_call& call : launch_calls) {
            (void)cupti.enable_callback(1, subscriber, static_cast<CUpti_CallbackDomain>(call.domain), call.cbid);
        }
    }
    for (const CUpti_ActivityKind kind : activity_kinds) {
        result = cupti.enable(kind);
        if (result != CUPTI_SUCCESS) return failed("cuptiActivityEnable", result);
    }
    return 0;
}

int client_stop() {
    for (const CUpti_ActivityKind kind : activity_kinds) (void)cupti.disable(kind);
    (void)cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const CUptiResult result = cupti.finalize();  // the subscription goes with it
    return result == CUPTI_SUCCESS ? 0 : failed("cuptiFinalize", result);
}
}
