// SPDX-License-Identifier: Apache-2.0
#include "report/time_answer.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace prof {
namespace {

// Of several rows of one text, one share.
class share_sums {
public:
    void add(const std::string& what, std::int64_t ns) {
        const auto [known, is_new] = places_.try_emplace(what, shares_.size());
        if (is_new) shares_.push_back({what, 0});
        shares_[known->second].total_ns += ns;
    }
    // Largest first.
    std::vector<time_share> take() {
        std::stable_sort(shares_.begin(), shares_.end(),
                         [](const time_share& a, const time_share& b) { return a.total_ns > b.total_ns; });
        return std::move(shares_);
    }

private:
    std::vector<time_share> shares_;
    std::unordered_map<std::string, std::size_t> places_;  // in shares_
};

std::string busy_text(const breakdown_row& row) {
    if (row.use != time_use::compute) return std::string(to_string(row.use));
    return row.part.empty() ? "other" : row.part;
}

}  // namespace

std::string call_text(const breakdown_row& row, const call_namer& call_name) {
    if (row.call_domain == api_domain::none || !call_name) return {};
    return call_name({.cbid = row.call_cbid, .domain = row.call_domain});
}

std::string idle_text(idle_cause cause, const std::string& call, const std::string& place) {
    std::string out(word_for(cause));
    if (!call.empty()) out += " in " + call;
    if (cause == idle_cause::loader || cause == idle_cause::latency) return out;
    if (place.empty()) return call.empty() && cause == idle_cause::host_code ? out + " outside ranges" : out;
    return out + (call.empty() ? " in " : ", ") + place;
}

std::string idle_text(const breakdown_row& row, const call_namer& call_name) {
    return idle_text(row.cause, call_text(row, call_name), row.part);
}

time_answer answer_of(step_breakdown broken_down, const call_namer& call_name) {
    share_sums busy;
    share_sums idle;
    for (const breakdown_row& row : broken_down.rows) {
        if (row.use == time_use::idle) {
            idle.add(idle_text(row, call_name), row.total_ns);
        } else {
            busy.add(busy_text(row), row.total_ns);
        }
    }
    time_answer out{.of = {}, .busy = busy.take(), .idle = idle.take()};
    broken_down.rows.clear();
    out.of = std::move(broken_down);
    return out;
}

}  // namespace prof
