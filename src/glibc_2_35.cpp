// SPDX-License-Identifier: Apache-2.0
// libstdc++.a as built for a newer glibc refers to arc4random (glibc 2.36), by way of std::random_device, which libprof
// never uses. Defined here and kept local, it does not make libprof.so or the prof command need that glibc.
#include <sys/random.h>

#include <cstdint>

extern "C" std::uint32_t arc4random() noexcept {
    std::uint32_t value = 0;
    while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    }
    return value;
}
