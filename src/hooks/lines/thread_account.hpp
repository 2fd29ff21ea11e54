// SPDX-License-Identifier: Apache-2.0
// What a thread did in a stretch of host code, by the kernel's own account of it: it ran, waited for a CPU, or was
// blocked, and by what. For the drain thread, which looks at other threads now and then; some 15 us a look.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace prof {

// What the kernel says of a thread at a moment.
struct thread_look {
    std::uint64_t now_ns = 0;
    std::uint64_t ran_ns = 0;       // since the thread began
    std::uint64_t waited_ns = 0;    // for a CPU
    bool is_blocked = false;        // else it runs or waits for a CPU
    std::string_view blocked_in{};  // "reading a pipe"; "": not known
};
// False: there is no such thread of this process, or nothing is said of it. `buffer`: for the text.
bool look_at_thread(pid_t tid, thread_look& out, std::array<char, 64>& buffer) noexcept;

struct stretch_account {
    std::uint32_t looks = 0;   // 0: nothing is known
    std::uint16_t ran = 0;     // in 65535ths of the time between the first and the last look; the rest it was blocked
    std::uint16_t waited = 0;  // for a CPU
    std::array<char, 64> blocked_in{};  // a C string
};

// One thread's.
class thread_accountant {
public:
    // Adds a look during the stretch that began at `since`, which tells stretches apart.
    const stretch_account& add(std::uint64_t since, const thread_look& look) noexcept;
    std::uint64_t latest_ns() const noexcept { return latest_.now_ns; }

private:
    std::uint64_t since_ = 0;
    thread_look first_{};
    thread_look latest_{};
    stretch_account account_{};
};

}  // namespace prof
