// SPDX-License-Identifier: Apache-2.0
#include "analysis/selection/time_spans.hpp"

#include <algorithm>
#include <utility>

namespace prof {

time_spans::time_spans(std::vector<time_span> spans) {
    std::erase_if(spans, [](const time_span& span) { return span.end_ns <= span.start_ns; });
    std::sort(spans.begin(), spans.end(),
              [](const time_span& a, const time_span& b) { return a.start_ns < b.start_ns; });
    for (const time_span& span : spans) {
        if (!spans_.empty() && span.start_ns <= spans_.back().end_ns) {
            spans_.back().end_ns = std::max(spans_.back().end_ns, span.end_ns);
        } else {
            spans_.push_back(span);
        }
    }
}

std::vector<time_span>::const_iterator time_spans::ending_after(std::int64_t ns) const noexcept {
    return std::upper_bound(spans_.begin(), spans_.end(), ns,
                            [](std::int64_t at, const time_span& span) { return at < span.end_ns; });
}

bool time_spans::contains(std::int64_t ns) const noexcept {
    const auto at = ending_after(ns);
    return at != spans_.end() && at->start_ns <= ns;
}

std::optional<time_span> time_spans::cut(std::int64_t start_ns, std::int64_t end_ns) const noexcept {
    if (end_ns <= start_ns) {
        return contains(start_ns) ? std::optional(time_span{start_ns, start_ns}) : std::nullopt;
    }
    const auto first = ending_after(start_ns);
    if (first == spans_.end() || first->start_ns >= end_ns) return {};
    auto last = ending_after(end_ns - 1);
    if (last == spans_.end() || last->start_ns >= end_ns) --last;
    return time_span{std::max(start_ns, first->start_ns), std::min(end_ns, last->end_ns)};
}

time_spans time_spans::within(const time_spans& other) const {
    std::vector<time_span> out;
    auto b = other.spans_.begin();
    for (auto a = spans_.begin(); a != spans_.end() && b != other.spans_.end();) {
        out.push_back({std::max(a->start_ns, b->start_ns), std::min(a->end_ns, b->end_ns)});
        a->end_ns < b->end_ns ? ++a : ++b;
    }
    return time_spans(std::move(out));
}

std::int64_t time_spans::total_ns() const noexcept {
    std::int64_t sum = 0;
    for (const time_span& span : spans_) sum += span.end_ns - span.start_ns;
    return sum;
}

}  // namespace prof
