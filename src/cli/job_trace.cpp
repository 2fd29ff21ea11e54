// SPDX-License-Identifier: Apache-2.0
#include "cli/job_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/display_text.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/number.hpp"
#include "ranks/rank_summary.hpp"

namespace prof {

std::optional<std::vector<number_range>> parse_ranks(const std::string& text) {
    std::vector<number_range> out;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string piece = text.substr(begin, end - begin);
        const std::size_t dash = piece.find('-');
        const auto first = parse_number<std::uint32_t>(piece.substr(0, dash));
        const auto last = dash == std::string::npos ? first : parse_number<std::uint32_t>(piece.substr(dash + 1));
        if (!first || !last || *last < *first) return {};
        out.push_back({*first, *last});
        begin = end + 1;
    }
    return out;
}

accepted_values rank_lists() {
    return {"numbers of ranks as 0,2,8-15", [](const std::string& text) { return parse_ranks(text).has_value(); }};
}

void job_trace::survey(const std::string& path, const timeline& whole, const attribution& att,
                       const std::string& step_function, const timeline& shown, const kept_entities* kept) {
    rank_summary made = summarize_rank(whole, att, step_function);
    made.path = path;
    if (made.ops == 0) {
        without_gpu_.push_back(path);
        return;
    }
    surveyed& is = surveyed_[path];
    for (const rank_collective& collective : made.collectives) {
        is.is_shown.push_back(kept == nullptr || kept->ops[op_id(collective.op)] != 0);
    }
    is.heading = trace_heading_of(shown);
    // Of the rank's own time nothing is needed here.
    made.time = {};
    made.launches = {};
    made.waits = {};
    made.waited = {};
    summaries_.push_back(std::move(made));
}

bool job_trace::is_wanted(const rank_summary& summary) const {
    if (wanted_.empty()) return true;
    return summary.rank && std::any_of(wanted_.begin(), wanted_.end(), [&](const number_range& range) {
               return range.first <= *summary.rank && *summary.rank <= range.last;
           });
}

void job_trace::plan() {
    std::vector<job_ranks> jobs = jobs_among(std::move(summaries_));
    if (jobs.empty()) throw error("no capture has GPU work, so that there is no rank to show");
    if (jobs.size() > 1) {
        throw error(fmt::format(
            "these are captures of {} jobs, and a trace shows one; name the captures of one job, such as {}",
            jobs.size(), jobs.front().ranks.front().path));
    }
    job_ = std::move(jobs.front());
    for (std::uint32_t r = 0; r < job_.ranks.size(); ++r) {
        const rank_summary& rank = job_.ranks[r];
        if (!is_wanted(rank)) continue;
        member next{.path = rank.path, .rank = r};
        for (const auto& [path, first] : rank.later_paths) {
            next.end_collective = first;
            members_.push_back(next);
            next = {.path = path, .rank = r, .first_collective = first};
        }
        next.end_collective = static_cast<std::uint32_t>(rank.collectives.size());
        members_.push_back(next);
    }
    if (members_.empty()) throw error("none of the captures is of a rank that --ranks names");
    std::set<std::int64_t> numbers;
    for (const rank_summary& rank : job_.ranks) {
        if (rank.rank) numbers.insert(*rank.rank);
    }
    for (const number_range& range : wanted_) {
        const auto last = numbers.upper_bound(range.last);
        const auto count = static_cast<std::size_t>(std::distance(numbers.lower_bound(range.first), last));
        absent_ += static_cast<std::size_t>(range.last - range.first + 1) - count;
    }
    find_arrows();
}

// To the last arrival, from each of the others, which waited for it.
void job_trace::find_arrows() {
    // By rank and collective: which capture's it is, if the trace has it.
    std::vector<std::vector<const member*>> places(job_.ranks.size());
    for (const member& capture : members_) {
        std::vector<const member*>& list = places[capture.rank];
        list.resize(job_.ranks[capture.rank].collectives.size(), nullptr);
        const std::vector<bool>& is_shown = surveyed_[capture.path].is_shown;
        for (std::uint32_t c = capture.first_collective; c < capture.end_collective; ++c) {
            if (is_shown[c - capture.first_collective]) list[c] = &capture;
        }
    }
    struct shown_member {
        const member* capture = nullptr;
        std::uint32_t op = 0;
        std::int64_t begin_ns = 0;
        std::int64_t end_ns = 0;
    };
    for (const matched_collective& matched : job_.matched) {
        std::vector<shown_member> shown;
        for (const collective_member& part : job_.members_of(matched)) {
            const bool is_aligned = job_.clocks.hosts[job_.clocks.of_rank[part.rank]].is_aligned;
            const member* const capture = places[part.rank].empty() ? nullptr : places[part.rank][part.collective];
            if (capture == nullptr || !is_aligned) continue;
            const rank_collective& call = job_.at(part);
            shown.push_back(
                {capture, call.op, job_.aligned(part.rank, call.begin_ns), job_.aligned(part.rank, call.end_ns)});
        }
        if (shown.size() < 2) continue;
        const shown_member last =
            *std::max_element(shown.begin(), shown.end(),
                              [](const shown_member& a, const shown_member& b) { return a.begin_ns < b.begin_ns; });
        for (const shown_member& early : shown) {
            if (early.capture == last.capture) continue;
            // Both ends lie within their operations, the start before the end: Perfetto sorts by time.
            const std::int64_t end_ns = last.begin_ns + 1;
            if (end_ns >= last.end_ns || early.begin_ns >= early.end_ns) {
                ++too_short_;
                continue;
            }
            const std::uint64_t id = ++arrow_count_;
            arrows_[early.capture->path].push_back({early.op, true, id, early.begin_ns});
            arrows_[last.capture->path].push_back({last.op, false, id, end_ns});
        }
    }
}

trace_clock job_trace::clock_of(std::uint32_t rank) const {
    const host_clock& host = job_.clocks.hosts[job_.clocks.of_rank[rank]];
    if (job_.clocks.of_rank[rank] == 0 || !host.is_aligned) return {};
    return {host.fit.at_ns, host.fit.offset_ns, host.fit.drift};
}

std::vector<trace_heading> job_trace::headings() const {
    std::vector<trace_heading> out;
    for (const member& capture : members_) {
        const host_clock& host = job_.clocks.hosts[job_.clocks.of_rank[capture.rank]];
        const trace_clock clock = clock_of(capture.rank);
        out.push_back(surveyed_.at(capture.path).heading);
        out.back().earliest_ns = clock.to_trace(out.back().earliest_ns);
        out.back().quality += fmt::format(
            ",\n    \"clock\": {{\"is_aligned\": {}, \"offset_ns\": {}, \"drift_ppm\": {:.6f}, "
            "\"statistical_error_ns\": {:.0f}, \"systematic_error_ns\": {:.0f}}}",
            host.is_aligned, clock.offset_ns, 1e6 * clock.drift, host.fit.statistical_ns, host.fit.systematic_ns);
    }
    return out;
}

std::vector<std::string> job_trace::remarks() const {
    std::vector<std::string> out;
    if (absent_ != 0) {
        out.push_back(fmt::format("of {} rank{} that --ranks names there is no capture with GPU work", absent_,
                                  absent_ == 1 ? "" : "s"));
    }
    if (const std::size_t copies = job_.copies.size(); copies != 0) {
        out.push_back(copies == 1 ? terminal_safe(job_.copies.front().path) +
                                        " is a second capture of one process, and is not in the trace"
                                  : fmt::format("{} second captures of processes are not in the trace", copies));
    }
    if (!without_gpu_.empty()) {
        out.push_back(
            fmt::format("{}{} no GPU work, and {} not in the trace of the job: prof export FILE",
                        terminal_safe(without_gpu_.front()),
                        without_gpu_.size() == 1 ? " has" : fmt::format(" and {} more have", without_gpu_.size() - 1),
                        without_gpu_.size() == 1 ? "is" : "are"));
    }
    std::string unaligned;
    std::size_t count = 0;
    std::set<std::uint32_t> ranks;
    for (const member& capture : members_) {
        const bool is_aligned = job_.clocks.hosts[job_.clocks.of_rank[capture.rank]].is_aligned;
        if (is_aligned || !ranks.insert(capture.rank).second) continue;
        if (count++ == 0) unaligned = job_.name_of(capture.rank);
    }
    if (count != 0) {
        out.push_back(
            fmt::format("{}{}: the clock is not aligned, since no collective is shared with the first host: "
                        "times are as recorded, and no arrow leads there",
                        terminal_safe(unaligned), count == 1 ? "" : fmt::format(" and {} more", count - 1)));
    }
    if (too_short_ != 0) {
        out.push_back(fmt::format("{} arrows left out: their operations take no time", with_thousands(too_short_)));
    }
    return out;
}

trace_member job_trace::take(const member& capture, const kept_entities* kept) {
    trace_member out;
    const rank_summary& rank = job_.ranks[capture.rank];
    out.label = job_.name_of(capture.rank);
    if (job_.clocks.hosts.size() > 1 && !rank.host.empty()) out.label += fmt::format(" (host {})", rank.host);
    out.clock = clock_of(capture.rank);
    const auto found = arrows_.find(capture.path);
    if (found == arrows_.end()) return out;
    out.arrows = std::move(found->second);
    arrows_.erase(found);
    std::stable_sort(out.arrows.begin(), out.arrows.end(), [](const auto& a, const auto& b) { return a.op < b.op; });
    if (kept == nullptr) return out;
    // Of a part the kept operations are numbered anew.
    std::uint32_t before = 0;
    op_id op{0};
    for (trace_member::arrow_end& arrow : out.arrows) {
        for (; op < arrow.op; ++op) before += kept->ops[op] != 0 ? 1 : 0;
        arrow.op = before;
    }
    return out;
}

}  // namespace prof
