// SPDX-License-Identifier: Apache-2.0
// A set of times: spans that do not overlap, in order. Times are nanoseconds as in a timeline; a span includes its
// start and not its end. Pure; look-ups cost the logarithm of the number of spans.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace prof {

struct time_span {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    bool operator==(const time_span&) const = default;
};

class time_spans {
public:
    // Nothing. Spans may be given in any order, and may overlap; empty ones are dropped.
    time_spans() = default;
    explicit time_spans(std::vector<time_span> spans);

    const std::vector<time_span>& list() const noexcept { return spans_; }
    bool is_empty() const noexcept { return spans_.empty(); }
    bool contains(std::int64_t ns) const noexcept;
    // From the first to the last moment of [start_ns, end_ns) that is in the set; a moment if the two are equal.
    std::optional<time_span> cut(std::int64_t start_ns, std::int64_t end_ns) const noexcept;
    time_spans within(const time_spans& other) const;
    std::int64_t total_ns() const noexcept;

private:
    // The first span that ends after `ns`.
    std::vector<time_span>::const_iterator ending_after(std::int64_t ns) const noexcept;

    std::vector<time_span> spans_;
};

}  // namespace prof
