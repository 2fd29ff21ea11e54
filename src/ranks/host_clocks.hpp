// SPDX-License-Identifier: Apache-2.0
// The clocks of a job's hosts, against that of the first one, from what the hosts share: a collective ends on all ranks
// at about one time, and on none before the last one has begun it. Pure; linear in the collectives, but for a sort.
//
// docs/reference/ranks.md has the fit and its error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace prof {

// One collective as two hosts saw it, each by its own clock.
struct clock_sample {
    std::int64_t at_ns = 0;       // by the first host's clock
    std::int64_t offset_ns = 0;   // the second's end minus the first's
    std::int64_t least_ns = 0;    // the offset is no less than this, since neither ended before the other began,
    std::int64_t largest_ns = 0;  // and no more than this
};

// The second clock is ahead of the first one by offset_ns + drift * (t - at_ns).
struct clock_fit {
    std::int64_t at_ns = 0;
    std::int64_t offset_ns = 0;
    double drift = 0;           // 1e-6: a microsecond in each second
    double statistical_ns = 0;  // 95 % of the bootstrap's offsets lie within this, anywhere in the samples' time
    double systematic_ns = 0;   // as far as the offset may be from the true one without a collective's ending too early
    std::uint64_t samples = 0;
    bool is_consistent = true;  // there is an offset for which none does

    double error_ns() const noexcept { return statistical_ns + systematic_ns; }
};
clock_fit fit_clock(std::vector<clock_sample> samples);

struct host_clock {
    std::string clock{};  // rank_summary::clock
    std::string host{};
    bool is_aligned = true;  // else it shares no collective with the first host, nor with one that does
    clock_fit fit{};         // against the first host
};

class host_clocks {
public:
    std::vector<host_clock> hosts;       // the first one has the reference
    std::vector<std::uint32_t> of_rank;  // index into hosts

    std::int64_t aligned(std::uint32_t rank, std::int64_t at_ns) const noexcept;
    // The other way: on the rank's own clock.
    std::int64_t own(std::uint32_t rank, std::int64_t aligned_ns) const noexcept;
    std::size_t aligned_count() const noexcept;
    // The largest error of an aligned host; 0 with one host.
    double error_ns() const noexcept;
};

}  // namespace prof
