// SPDX-License-Identifier: Apache-2.0
#include "analysis/breakdown/thread_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace prof {

void thread_states::add(const thread_states& more) {
    ran += more.ran;
    waited += more.waited;
    blocked += more.blocked;
    for (const auto& [name, looks] : more.blocked_in) blocked_in[name] += looks;
}

void thread_states::add(const call_account& of, std::int64_t ns, std::int64_t length_ns) {
    const auto length = static_cast<double>(std::max<std::int64_t>(length_ns, 1));
    const double looks = of.looks * std::clamp(static_cast<double>(ns) / length, 0.0, 1.0);
    const double ran_looks = looks * of.ran / UINT16_MAX, waited_looks = looks * of.waited / UINT16_MAX;
    const double blocked_looks = std::max(looks - ran_looks - waited_looks, 0.0);
    ran += ran_looks;
    waited += waited_looks;
    blocked += blocked_looks;
    if (blocked_looks > 0) blocked_in[of.blocked_in] += blocked_looks;
}

thread_shares shares_of(const thread_states& of, const timeline& data) {
    constexpr double least_looks = 8;
    thread_shares out;
    if (of.looks() < least_looks) return out;
    out.ran = of.ran / of.looks();
    out.waited = of.waited / of.looks();
    out.blocked = of.blocked / of.looks();
    const auto most = std::max_element(of.blocked_in.begin(), of.blocked_in.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != of.blocked_in.end() && 2 * most->second >= of.blocked) out.blocked_in = data.name(most->first);
    return out;
}

std::string shares_text(const thread_shares& of) {
    constexpr double least = 0.005;
    std::string out;
    const auto add = [&](double share, std::string_view what) {
        if (share < least) return;
        out +=
            fmt::format("{}{} for {:.0f} %{}", out.empty() ? "" : ", ", what, 100 * share, out.empty() ? " of it" : "");
    };
    add(of.ran, "ran");
    add(of.waited, "waited for a CPU");
    add(of.blocked, "was blocked");
    if (of.blocked >= least && !of.blocked_in.empty()) out += " (" + of.blocked_in + ")";
    return out;
}

thread_accounts::thread_accounts(const timeline& data) : data_(data) {
    if (data.call_accounts.empty()) return;
    stretches_.resize(data.threads.size());
    row_values<thread_id, std::int64_t> called_until_ns(data.threads.size(), INT64_MIN);
    std::size_t next = 0;
    for (call_id i{0}; i < data.api_calls.size() && next < data.call_accounts.size(); ++i) {
        const timeline_api_call& call = data.api_calls[i];
        std::int64_t& until_ns = called_until_ns[call.thread];
        if (data.call_accounts[next].call == i) {
            if (until_ns < call.start_ns && until_ns != INT64_MIN) {
                stretches_[call.thread].push_back({until_ns, call.start_ns, next});
            }
            ++next;
        }
        until_ns = std::max({until_ns, call.start_ns, call.end_ns});
    }
}

void thread_accounts::add(thread_id thread, std::int64_t from_ns, std::int64_t to_ns, thread_states& to) const {
    if (thread >= stretches_.size()) return;
    const std::vector<stretch>& of = stretches_[thread];
    auto each = std::partition_point(of.begin(), of.end(), [&](const stretch& s) { return s.end_ns <= from_ns; });
    for (; each != of.end() && each->start_ns < to_ns; ++each) {
        const std::int64_t ns = std::min(each->end_ns, to_ns) - std::max(each->start_ns, from_ns);
        to.add(data_.call_accounts[each->account], ns, each->end_ns - each->start_ns);
    }
}

}  // namespace prof
