// SPDX-License-Identifier: Apache-2.0
// What every exported CUPTI function goes through: call counts, failures on demand, the thread's last error, and the
// refusal to run in a forked child, where the real library's worker thread is gone.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

namespace fake {

// The version emulated; see fake_cupti_set_version().
std::uint32_t cupti_version();

inline constexpr std::uint32_t cuda_12_3 = 21;
inline constexpr std::uint32_t cuda_12_8 = 26;
inline constexpr std::uint32_t cuda_12_9 = 27;
inline constexpr std::uint32_t cuda_13_0 = 130000;

// CUPTI_SUCCESS, or what the function must return instead of running.
CUptiResult enter(const char* function);

// What subscribing and enabling answer where there is no GPU; else CUPTI_SUCCESS.
CUptiResult require_device();

CUptiResult set_last_error(CUptiResult result);
CUptiResult take_last_error();

// Ends the process with a message: the client did what crashes or deadlocks the real library.
[[noreturn]] void die(const std::string& what);

// A call in progress. While one thread finalizes CUPTI no other is in it, or the real one crashes.
class call_in_progress {
public:
    explicit call_in_progress(const char* function);
    ~call_in_progress();
    call_in_progress(const call_in_progress&) = delete;
    call_in_progress& operator=(const call_in_progress&) = delete;
};
class last_call {  // of cuptiFinalize
public:
    last_call();
    ~last_call();
    last_call(const last_call&) = delete;
    last_call& operator=(const last_call&) = delete;
};

template <class TBody>
CUptiResult entry(const char* function, TBody body) noexcept {
    const call_in_progress call{function};
    const CUptiResult refused = enter(function);
    return set_last_error(refused == CUPTI_SUCCESS ? body() : refused);
}

void reset_entries();

}  // namespace fake
