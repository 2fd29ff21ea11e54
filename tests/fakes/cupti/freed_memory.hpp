// SPDX-License-Identifier: Apache-2.0
// Memory of the real CUPTI that cuptiFinalize frees, and its later uses, which corrupt the program's heap. Here such
// uses are counted (fake_cupti_freed_uses). As found with CUPTI 13.0. Any thread, no lock.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fake {

// Each cuptiFinalize ends a lifetime. A use that began in one and continues after its end is a fault.
class lifetimes {
public:
    std::uint64_t current() const { return current_; }
    void end() { ++current_; }
    // Something that belongs to `lifetime` touches CUPTI's memory.
    bool use(std::uint64_t lifetime) {
        const bool is_there = lifetime == current_;
        freed_uses_ += is_there ? 0 : 1;
        return is_there;
    }
    std::size_t freed_uses() const { return freed_uses_; }
    void forget_uses() { freed_uses_ = 0; }

private:
    std::atomic<std::uint64_t> current_{1};
    std::atomic<std::size_t> freed_uses_{0};
};

// CUPTI's hooks in the runtime, one for each function, with a count of uses: one while a callback is on, and one for
// each call under way that found the hook on. A hook that is on and has no uses is not found by cuptiFinalize.
class runtime_hooks {
public:
    explicit runtime_hooks(lifetimes& memory) : lifetimes_(memory) {}

    void switch_callback(CUpti_CallbackId cbid, bool on);
    // A call's entry. Its exit is to give the answer to leave(): the lifetime it is counted in, 0 if it is not.
    std::uint64_t enter(CUpti_CallbackId cbid);
    void leave(CUpti_CallbackId cbid, std::uint64_t lifetime);

    // REQUIRES: memory.end() comes next.
    void take_off();
    void reset();

private:
    struct hook {
        std::atomic<std::uint64_t> on_since{0};  // the lifetime; 0: off
        std::atomic<std::uint32_t> uses{0};
    };

    lifetimes& lifetimes_;
    std::array<hook, 1024> hooks_{};
};

}  // namespace fake
