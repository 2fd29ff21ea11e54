// SPDX-License-Identifier: Apache-2.0
// What the stand-in for the allocator has of libc10.so (fake_c10.h).
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fakes/torch/fake_c10.h"

namespace {
std::atomic<std::size_t> reports{0};
std::atomic<std::size_t> failures{0};
}  // namespace

namespace c10 {
struct Device {
    std::int8_t type;
    std::int8_t index;
};
void reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device) { ++reports; }
void reportOutOfMemoryToProfiler(std::int64_t, std::size_t, std::size_t, Device) { ++failures; }
}  // namespace c10

extern "C" {
std::size_t fake_c10_reports() { return reports; }
std::size_t fake_c10_failures() { return failures; }
}
