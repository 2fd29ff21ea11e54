// SPDX-License-Identifier: Apache-2.0
// When the members of a matched collective arrive, and how long they wait for the last one. Pure functions; linear in
// the members.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ranks/job.hpp"

namespace prof {

// Of times on the clocks of several hosts; 0 on one host.
double clock_error_of(const job_ranks& job, const matched_collective& matched);

struct collective_arrivals {
    std::int64_t first_ns = 0;  // on the first host's clock
    std::int64_t last_ns = 0;
    // Index into job_ranks::ranks, if it is known beyond the clocks' error which is the last one.
    std::optional<std::uint32_t> last_rank{};
};
// REQUIRES: it has two members at least.
collective_arrivals arrivals_of(const job_ranks& job, const matched_collective& matched, double clock_error_ns);

// How long the members of a collective wait for the last one that is known, in all steps that the ranks have in common.
// Also where one differs or is missing: the others wait for one another all the same.
struct collective_waits {
    double clock_error_ns = 0;
    collective_arrivals arrivals{};
    std::vector<std::int64_t> wait_ns{};  // by member; 0: it is of no such step
};
// REQUIRES: it has two members at least.
collective_waits waits_in(const job_ranks& job, const matched_collective& matched);

// How long the rank waits, while its GPU computes nothing, for a last arrival that comes so much after its own.
std::int64_t wait_of(const rank_collective& collective, std::int64_t until_last_ns) noexcept;

}  // namespace prof
