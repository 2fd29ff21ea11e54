// SPDX-License-Identifier: Apache-2.0
// The simulated GPU's clock, which is also the host's and CUPTI's: see fake_gpu.h for its two modes. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace fake {

class gpu_clock {
public:
    void reset(bool is_virtual);

    bool is_virtual() const { return is_virtual_; }
    std::uint64_t now_ns() const;

    // Both do nothing on the real clock.
    void set_ns(std::uint64_t now_ns);
    void advance_ns(std::uint64_t ns);

    // Blocks until `end_ns`; the virtual clock jumps there instead, and never goes back.
    void wait_until(std::uint64_t end_ns);

private:
    std::atomic<bool> is_virtual_{false};
    std::atomic<std::uint64_t> virtual_now_ns_{0};
};

}  // namespace fake
