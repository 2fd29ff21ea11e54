// SPDX-License-Identifier: Apache-2.0
// What threads did in stretches of host code, by samples of the kernel's account of them (timeline::call_accounts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "timeline/timeline.hpp"

namespace prof {

// How often threads were seen in each state.
struct thread_states {
    double ran = 0;
    double waited = 0;  // for a CPU
    double blocked = 0;
    std::map<name_id, double> blocked_in{};  // by timeline::name()

    double looks() const noexcept { return ran + waited + blocked; }
    void add(const thread_states& more);
    // Of the stretch before a call: of its looks the part that `ns` is of its length.
    void add(const call_account& of, std::int64_t ns, std::int64_t length_ns);
};

// Shares of their time, which add up to 1; all 0: not known.
struct thread_shares {
    double ran = 0;
    double waited = 0;  // for a CPU
    double blocked = 0;
    std::string blocked_in{};  // what they were blocked by most of that time, "reading a pipe"; "": not known

    bool is_known() const noexcept { return ran + waited + blocked > 0; }
};

// Nothing of a few looks, which are chance.
thread_shares shares_of(const thread_states& of, const timeline& data);

// "ran for 92 % of it, was blocked for 8 % (reading a pipe)"; "": not known.
std::string shares_text(const thread_shares& of);

// The accounts of all threads, by time. One thread at a time.
class thread_accounts {
public:
    // Linear in the calls, if there are accounts. `data` must outlive it.
    explicit thread_accounts(const timeline& data);

    // Adds what the thread did in [from_ns, to_ns). Logarithmic in its accounts, plus those in that time.
    void add(thread_id thread, std::int64_t from_ns, std::int64_t to_ns, thread_states& to) const;

private:
    struct stretch {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        std::size_t account = 0;  // index into call_accounts
    };

    const timeline& data_;
    row_values<thread_id, std::vector<stretch>> stretches_;  // by thread; in order of time, without overlap
};

}  // namespace prof
