// SPDX-License-Identifier: Apache-2.0
// When the members of a matched collective arrive, and how long they wait for the last one. Pure functions; linear in
// the members.
#pragma once

#include <cstdint>
#include <optional>

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

// How long the rank waits, while its GPU computes nothing, for a last arrival that comes so much after its own.
std::int64_t wait_of(const rank_collective& collective, std::int64_t until_last_ns) noexcept;

}  // namespace prof
