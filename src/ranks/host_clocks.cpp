// SPDX-License-Identifier: Apache-2.0
#include "ranks/host_clocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

#include "ranks/robust.hpp"

namespace prof {
namespace {

constexpr std::size_t most_blocks = 40;
constexpr std::size_t fewest_for_drift = 10;  // blocks
constexpr std::size_t in_block = 5;           // samples, at least
constexpr int resamples = 200;

struct block {
    double at = 0;  // ns after the fit's at_ns
    double offset = 0;
};

struct line {
    double offset = 0;  // at 0
    double drift = 0;
};

// Theil and Sen: the median of the slopes between all pairs, and the median of what remains.
line line_through(const std::vector<block>& blocks, bool has_drift) {
    line out;
    std::vector<double> values;
    if (has_drift) {
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            for (std::size_t j = i + 1; j < blocks.size(); ++j) {
                const double apart = blocks[j].at - blocks[i].at;
                if (std::abs(apart) > 0) values.push_back((blocks[j].offset - blocks[i].offset) / apart);
            }
        }
        out.drift = median_of(values);
    }
    values.clear();
    for (const block& each : blocks) values.push_back(each.offset - out.drift * each.at);
    out.offset = median_of(values);
    return out;
}

}  // namespace

clock_fit fit_clock(std::vector<clock_sample> samples) {
    clock_fit out;
    out.samples = samples.size();
    if (samples.empty()) return out;
    std::sort(samples.begin(), samples.end(),
              [](const clock_sample& a, const clock_sample& b) { return a.at_ns < b.at_ns; });
    out.at_ns = samples.front().at_ns + (samples.back().at_ns - samples.front().at_ns) / 2;
    const std::int64_t around_ns = samples[samples.size() / 2].offset_ns;  // so that differences are exact
    const auto after = [&](const clock_sample& of) { return static_cast<double>(of.at_ns - out.at_ns); };
    const auto apart = [&](std::int64_t ns) { return static_cast<double>(ns - around_ns); };

    const std::size_t count = std::clamp(samples.size() / in_block, std::size_t{1}, most_blocks);
    std::vector<block> blocks;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t from = i * samples.size() / count;
        const std::size_t to = (i + 1) * samples.size() / count;
        std::vector<double> at, offsets;
        for (std::size_t s = from; s < to; ++s) {
            at.push_back(after(samples[s]));
            offsets.push_back(apart(samples[s].offset_ns));
        }
        blocks.push_back({median_of(at), median_of(offsets)});
    }
    const bool has_drift = blocks.size() >= fewest_for_drift;
    line fit = line_through(blocks, has_drift);

    // Blocks are drawn again, and what the line does at the ends and in the middle spreads by the error.
    const double ends[] = {after(samples.front()), 0, after(samples.back())};
    double sums[3] = {}, squares[3] = {};
    std::mt19937_64 random(samples.size());
    std::vector<block> drawn(blocks.size());
    if (blocks.size() > 1) {
        for (int i = 0; i < resamples; ++i) {
            for (block& each : drawn) each = blocks[random() % blocks.size()];
            const line other = line_through(drawn, has_drift);
            for (int at = 0; at < 3; ++at) {
                const double value = other.offset + other.drift * ends[at] - fit.offset - fit.drift * ends[at];
                sums[at] += value;
                squares[at] += value * value;
            }
        }
        for (int at = 0; at < 3; ++at) {
            const double mean = sums[at] / resamples;
            const double spread = std::sqrt(std::max(0.0, squares[at] / resamples - mean * mean));
            out.statistical_ns = std::max(out.statistical_ns, confidence_95 * spread + std::abs(mean));
        }
    } else {
        double least = apart(samples.front().offset_ns), most = least;
        for (const clock_sample& each : samples) {
            least = std::min(least, apart(each.offset_ns));
            most = std::max(most, apart(each.offset_ns));
        }
        out.statistical_ns = (most - least) / 2;
    }

    double lower = -INFINITY, upper = INFINITY;
    for (const clock_sample& each : samples) {
        const double drifted = fit.drift * after(each);
        lower = std::max(lower, apart(each.least_ns) - drifted);
        upper = std::min(upper, apart(each.largest_ns) - drifted);
    }
    out.is_consistent = lower <= upper;
    if (!out.is_consistent) std::swap(lower, upper);
    fit.offset = std::clamp(fit.offset, lower, upper);
    out.systematic_ns = std::max(upper - fit.offset, fit.offset - lower);
    out.offset_ns = around_ns + std::llround(fit.offset);
    out.drift = fit.drift;
    return out;
}

std::int64_t host_clocks::aligned(std::uint32_t rank, std::int64_t at_ns) const noexcept {
    const std::uint32_t host = of_rank[rank];
    if (host == 0) return at_ns;
    const clock_fit& fit = hosts[host].fit;
    // The moment by the first clock, near enough for the drift.
    const auto after = static_cast<double>(at_ns - fit.offset_ns - fit.at_ns);
    return at_ns - fit.offset_ns - std::llround(fit.drift * after);
}

std::int64_t host_clocks::own(std::uint32_t rank, std::int64_t aligned_ns) const noexcept {
    const std::uint32_t host = of_rank[rank];
    if (host == 0) return aligned_ns;
    const clock_fit& fit = hosts[host].fit;
    return aligned_ns + fit.offset_ns + std::llround(fit.drift * static_cast<double>(aligned_ns - fit.at_ns));
}

std::size_t host_clocks::aligned_count() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(hosts.begin(), hosts.end(), [](const host_clock& each) { return each.is_aligned; }));
}

double host_clocks::error_ns() const noexcept {
    double out = 0;
    for (const host_clock& each : hosts) {
        if (each.is_aligned) out = std::max(out, each.fit.error_ns());
    }
    return out;
}

}  // namespace prof
